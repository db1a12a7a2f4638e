import type { MarketCode } from "../catalogue/market.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import {
  type AnnotationDescriptions,
  type Annotations,
  annotationColumns,
  filter,
  text,
} from "../ledger/annotations.ts";
import { amountColumn, bigintColumn, textColumn, timeColumn, uuidColumn } from "../ledger/columns.ts";
import { recordTable } from "../ledger/tables.ts";
import { type Amount, formatAmount, multiplyExact } from "../money/amount.ts";
import type { Brand } from "../std/brand.ts";
import type { Instant } from "../std/clock.ts";
import type { ORDER_ANNOTATIONS, Order, OrderId, OrderSide } from "./order.ts";

/**
 * Built from the time in milliseconds, the market and a counter, so ids are in time order. A match has two: the maker's
 * is even, the taker's is the next odd one.
 */
export type ExecutionId = Brand<bigint, "ExecutionId">;

/** Each is a copy of its order's annotation `from`. */
export const EXECUTION_ANNOTATIONS = {
  accountId: {
    ...text("account_id", "The order's identity_account_id, if it has one."),
    from: "identityAccountId",
    filter: filter("account_id", "Only executions of orders of this account."),
  },
} as const satisfies AnnotationDescriptions & Record<string, { readonly from: keyof typeof ORDER_ANNOTATIONS }>;

/** The record of one party's side of a match. */
export interface Execution {
  readonly id: ExecutionId;
  readonly profileId: ProfileId;
  readonly customerId: CustomerId;
  readonly orderId: OrderId;
  readonly market: MarketCode;
  readonly side: OrderSide;
  readonly amount: Amount;
  readonly price: Amount;
  /** In the quote asset. The taker pays a commission, the maker receives a rebate; the other is zero. */
  readonly commission: Amount;
  readonly rebate: Amount;
  readonly annotations: Annotations<typeof EXECUTION_ANNOTATIONS>;
  readonly executedAt: Instant;
}

/** What its party sees, amounts as canonical text: a page of them is most of what a poll of executions costs. */
export interface ShownExecution
  extends Pick<Execution, "orderId" | "market" | "side" | "annotations" | "executedAt">,
    Readonly<Record<"id" | "amount" | "price" | "commission" | "rebate", string>> {
  /** amount x price. */
  readonly gross: string;
}

export function shownExecution(execution: Execution): ShownExecution {
  const { id, orderId, market, side, amount, price, commission, rebate, annotations, executedAt } = execution;
  return {
    id: id.toString(),
    orderId,
    market,
    side,
    annotations,
    executedAt,
    amount: formatAmount(amount),
    price: formatAmount(price),
    commission: formatAmount(commission),
    rebate: formatAmount(rebate),
    gross: formatAmount(multiplyExact(amount, price)),
  };
}

export const executionTable = recordTable<Execution>({
  name: "execution",
  columns: {
    profileId: uuidColumn("profile_id"),
    id: bigintColumn("id"),
    customerId: uuidColumn("customer_id"),
    orderId: uuidColumn("order_id"),
    market: textColumn("market"),
    side: textColumn("side", "order_side"),
    amount: amountColumn("amount"),
    price: amountColumn("price"),
    commission: amountColumn("commission"),
    rebate: amountColumn("rebate"),
    annotations: annotationColumns(EXECUTION_ANNOTATIONS),
    executedAt: timeColumn("executed_at"),
  },
  // Only the engine makes executions.
  hasCaller: false,
  orderBy: (row) => `${row.profileId}/${row.id.toString().padStart(20, "0")}`,
  keyOf: (row) => `${row.profileId}/${row.id}`,
  keepsClaims: false,
});

/** @returns the annotations of the order's executions */
export function copiedAnnotations({ annotations }: Pick<Order, "annotations">): Execution["annotations"] {
  const copies: Record<string, string | undefined> = {};
  for (const [field, { from }] of COPIES) copies[field] = annotations[from];
  return copies;
}

const COPIES = Object.entries(EXECUTION_ANNOTATIONS);
