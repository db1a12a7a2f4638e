import type { MarketCode } from "../catalogue/market.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import {
  amountColumn,
  bigintColumn,
  booleanColumn,
  jsonColumn,
  type Key,
  keyOf,
  optionalsOf,
  type SqlRecord,
  type StateRow,
  type StateTable,
  textColumn,
  timeColumn,
  uuidColumn,
} from "../ledger/rows.ts";
import { type Amount, amountOf } from "../money/amount.ts";
import type { Brand } from "../std/brand.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";

export type OrderId = Brand<Uuid, "OrderId">;

export const ORDER_STATUSES = [
  "PENDING_SUBMISSION",
  "SUBMITTED",
  "OPEN",
  "FILLED",
  "CANCELLED",
  "REJECTED",
  "EXPIRED",
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];
export type OrderSide = "BUY" | "SELL";
export const ORDER_TYPES = ["LIMIT", "MARKET", "POST_ONLY_LIMIT", "STOP_MARKET", "STOP_LIMIT"] as const;
export type OrderType = (typeof ORDER_TYPES)[number];
export type OrderTimeInForce = "GTC" | "FOK" | "IOC" | "GTT";

/** Why a stored order is REJECTED (docs/contract/orders.md#stored-rejections). */
export type OrderRejectReason =
  | "identity_pair"
  | "gtt_too_soon"
  | "post_only_would_cross"
  | "no_liquidity"
  | "below_one_lot"
  | "price_collar"
  | "market_halted";

/**
 * An order, from the moment its funds are held. It is PENDING_SUBMISSION until the market's engine takes it; after that
 * only the engine changes it; once closed it never changes again.
 */
export interface Order extends StateRow {
  readonly id: OrderId;
  readonly profileId: ProfileId;
  readonly customerId: CustomerId;
  readonly market: MarketCode;
  readonly side: OrderSide;
  readonly type: OrderType;
  readonly timeInForce: OrderTimeInForce;
  /** Exactly one of the two is set: the sum to spend for market buys, the quantity for everything else. */
  readonly baseAmount: Amount | undefined;
  readonly quoteAmount: Amount | undefined;
  readonly price: Amount | undefined;
  readonly stopPrice: Amount | undefined;
  readonly expirationDate: Instant | undefined;
  /** Fractions of gross, fixed at placement. */
  readonly takerRate: Amount;
  readonly makerRebate: Amount;
  readonly recipientProfileId: ProfileId | undefined;
  readonly refId: string | undefined;
  readonly identityId: string | undefined;
  readonly identityAccountId: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly createdAt: Instant;
  readonly status: OrderStatus;
  /** The engine's number of the order. */
  readonly sequence: bigint | undefined;
  /** Its position among the orders at its price, once it rests. */
  readonly priority: bigint | undefined;
  /** Filled amounts, in the base asset and in the quote asset. */
  readonly filled: Amount;
  readonly filledGross: Amount;
  /** Its hold in its account's trading part: quote for a buy, base for a sell. */
  readonly held: Amount;
  readonly isTriggered: boolean;
  readonly rejectReason: OrderRejectReason | undefined;
  readonly modifiedAt: Instant;
  readonly closedAt: Instant | undefined;
}

export function orderKey(profileId: ProfileId, id: OrderId): Key {
  return keyOf(orderTable, `${profileId}/${id}`);
}

export const orderTable: StateTable<Order> = {
  name: "orders",
  keys: [uuidColumn("profile_id", (row) => row.profileId), uuidColumn("id", (row) => row.id)],
  fixed: [
    uuidColumn("customer_id", (row) => row.customerId),
    textColumn("market", "text", (row) => row.market),
    textColumn("side", "order_side", (row) => row.side),
    textColumn("type", "order_type", (row) => row.type),
    textColumn("time_in_force", "time_in_force", (row) => row.timeInForce),
    amountColumn("base_amount", (row) => row.baseAmount),
    amountColumn("quote_amount", (row) => row.quoteAmount),
    amountColumn("price", (row) => row.price),
    amountColumn("stop_price", (row) => row.stopPrice),
    timeColumn("expiration_date", (row) => row.expirationDate),
    amountColumn("taker_rate", (row) => row.takerRate),
    amountColumn("maker_rebate", (row) => row.makerRebate),
    uuidColumn("recipient_profile_id", (row) => row.recipientProfileId),
    textColumn("ref_id", "text", (row) => row.refId),
    textColumn("identity_id", "text", (row) => row.identityId),
    textColumn("identity_account_id", "text", (row) => row.identityAccountId),
    jsonColumn("metadata", (row) => row.metadata),
    timeColumn("created_at", (row) => row.createdAt),
  ],
  changing: [
    textColumn("status", "order_status", (row) => row.status),
    bigintColumn("sequence", (row) => row.sequence),
    bigintColumn("priority", (row) => row.priority),
    amountColumn("filled", (row) => row.filled),
    amountColumn("filled_gross", (row) => row.filledGross),
    amountColumn("held", (row) => row.held),
    booleanColumn("is_triggered", (row) => row.isTriggered),
    textColumn("reject_reason", "reject_reason", (row) => row.rejectReason),
    timeColumn("modified_at", (row) => row.modifiedAt),
    timeColumn("closed_at", (row) => row.closedAt),
  ],
  digested: true,
  keyOf: (row) => `${row.profileId}/${row.id}`,
  keyValues: (key) => key.split("/"),
  read: readOrder,
};

export const ORDER_COLUMNS = [...orderTable.keys, ...orderTable.fixed, ...orderTable.changing]
  .map((column) => column.name)
  .concat("seq")
  .join(", ");

export function readOrder(record: SqlRecord): Order {
  const maybe = optionalsOf(record);
  return {
    id: record.id as OrderId,
    profileId: record.profile_id as ProfileId,
    customerId: record.customer_id as CustomerId,
    market: record.market as MarketCode,
    side: record.side as OrderSide,
    type: record.type as OrderType,
    timeInForce: record.time_in_force as OrderTimeInForce,
    baseAmount: maybe("base_amount", amountOf),
    quoteAmount: maybe("quote_amount", amountOf),
    price: maybe("price", amountOf),
    stopPrice: maybe("stop_price", amountOf),
    expirationDate: maybe("expiration_date"),
    takerRate: amountOf(record.taker_rate as string),
    makerRebate: amountOf(record.maker_rebate as string),
    recipientProfileId: maybe("recipient_profile_id"),
    refId: maybe("ref_id"),
    identityId: maybe("identity_id"),
    identityAccountId: maybe("identity_account_id"),
    metadata: maybe("metadata"),
    createdAt: record.created_at as Instant,
    status: record.status as OrderStatus,
    sequence: maybe("sequence", BigInt),
    priority: maybe("priority", BigInt),
    filled: amountOf(record.filled as string),
    filledGross: amountOf(record.filled_gross as string),
    held: amountOf(record.held as string),
    isTriggered: record.is_triggered as boolean,
    rejectReason: maybe("reject_reason"),
    modifiedAt: record.modified_at as Instant,
    closedAt: maybe("closed_at"),
    seq: BigInt(record.seq as string),
  };
}
