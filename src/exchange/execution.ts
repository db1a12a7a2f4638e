import type { MarketCode } from "../catalogue/market.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import {
  amountColumn,
  bigintColumn,
  type RecordTable,
  type SqlRecord,
  textColumn,
  timeColumn,
  uuidColumn,
} from "../ledger/rows.ts";
import { type Amount, amountOf } from "../money/amount.ts";
import type { Brand } from "../std/brand.ts";
import type { Instant } from "../std/clock.ts";
import type { OrderId, OrderSide } from "./order.ts";

/**
 * Built from the time in milliseconds, the market and a counter, so ids are in time order. A match has two: the maker's
 * is even, the taker's is the next odd one.
 */
export type ExecutionId = Brand<bigint, "ExecutionId">;

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
  /** The order's identity_account_id. */
  readonly accountId: string | undefined;
  readonly executedAt: Instant;
}

export const executionTable: RecordTable<Execution> = {
  name: "execution",
  columns: [
    uuidColumn("profile_id", (row) => row.profileId),
    bigintColumn("id", (row) => row.id),
    uuidColumn("customer_id", (row) => row.customerId),
    uuidColumn("order_id", (row) => row.orderId),
    textColumn("market", "text", (row) => row.market),
    textColumn("side", "order_side", (row) => row.side),
    amountColumn("amount", (row) => row.amount),
    amountColumn("price", (row) => row.price),
    amountColumn("commission", (row) => row.commission),
    amountColumn("rebate", (row) => row.rebate),
    textColumn("account_id", "text", (row) => row.accountId),
    timeColumn("executed_at", (row) => row.executedAt),
  ],
  // Only the engine makes executions.
  hasCaller: false,
  orderBy: (row) => `${row.profileId}/${row.id.toString().padStart(20, "0")}`,
  read: readExecution,
};

export const EXECUTION_COLUMNS = executionTable.columns.map((column) => column.name).join(", ");

export function readExecution(record: SqlRecord): Execution {
  return {
    id: BigInt(record.id as string) as ExecutionId,
    profileId: record.profile_id as ProfileId,
    customerId: record.customer_id as CustomerId,
    orderId: record.order_id as OrderId,
    market: record.market as MarketCode,
    side: record.side as OrderSide,
    amount: amountOf(record.amount as string),
    price: amountOf(record.price as string),
    commission: amountOf(record.commission as string),
    rebate: amountOf(record.rebate as string),
    accountId: (record.account_id as string | null) ?? undefined,
    executedAt: record.executed_at as Instant,
  };
}
