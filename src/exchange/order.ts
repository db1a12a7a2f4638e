import type { MarketCode } from "../catalogue/market.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import { type Annotations, annotationColumns, filter, METADATA, text } from "../ledger/annotations.ts";
import {
  amountColumn,
  bigintColumn,
  booleanColumn,
  changing,
  key,
  textColumn,
  timeColumn,
  uuidColumn,
  versionColumn,
} from "../ledger/columns.ts";
import { type Key, keyOf, type ProjectionDescription, type StateRow, stateTable } from "../ledger/tables.ts";
import type { Amount } from "../money/amount.ts";
import type { Brand } from "../std/brand.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import type { CancelReason } from "./book/command-effect.ts";

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
  | "too_many_open_orders"
  | "post_only_would_cross"
  | "no_liquidity"
  | "below_one_lot"
  | "price_collar"
  | "market_halted";

export const ORDER_ANNOTATIONS = {
  identityId: text(
    "identity_id",
    "The end user who trades. Goes with identity_account_id: an order with only one of them is REJECTED.",
  ),
  identityAccountId: {
    ...text(
      "identity_account_id",
      "The end user's account. Goes with identity_id: an order with only one of them is REJECTED.",
    ),
    filter: filter("account_id", "Only orders of this identity_account_id."),
  },
  selfMatchPreventionId: text(
    "self_match_prevention_id",
    "Orders with the same id do not trade with each other. A customer's orders never do, with or without it: the resting one is cancelled.",
  ),
  metadata: METADATA,
};

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
  readonly annotations: Annotations<typeof ORDER_ANNOTATIONS>;
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
  readonly cancelReason: CancelReason | undefined;
  readonly updatedAt: Instant;
  readonly closedAt: Instant | undefined;
}

export function orderKey(profileId: ProfileId, id: OrderId): Key {
  return keyOf(orderTable, `${profileId}/${id}`);
}

/** What an engine has yet to take. */
const pendingOrders: ProjectionDescription<Order> = {
  name: "pending_order",
  keys: ["market", "id"],
  fields: ["profileId", "customerId", "createdAt"],
  includes: ({ status }) => status === "PENDING_SUBMISSION",
};

/** What an engine's book holds. */
const bookedOrders: ProjectionDescription<Order> = {
  name: "booked_order",
  keys: ["market", "id"],
  fields: [
    "profileId",
    "customerId",
    "side",
    "price",
    "baseAmount",
    "recipientProfileId",
    "expirationDate",
    "status",
    "priority",
    "filled",
  ],
  includes: ({ status }) => status === "OPEN" || status === "SUBMITTED",
};

export const orderTable = stateTable<Order>({
  name: "orders",
  columns: {
    profileId: key(uuidColumn("profile_id")),
    id: key(uuidColumn("id")),
    customerId: uuidColumn("customer_id"),
    market: textColumn("market"),
    side: textColumn("side", "order_side"),
    type: textColumn("type", "order_type"),
    timeInForce: textColumn("time_in_force", "time_in_force"),
    baseAmount: amountColumn("base_amount"),
    quoteAmount: amountColumn("quote_amount"),
    price: amountColumn("price"),
    stopPrice: amountColumn("stop_price"),
    expirationDate: timeColumn("expiration_date"),
    takerRate: amountColumn("taker_rate"),
    makerRebate: amountColumn("maker_rebate"),
    recipientProfileId: uuidColumn("recipient_profile_id"),
    refId: textColumn("ref_id"),
    annotations: annotationColumns(ORDER_ANNOTATIONS),
    createdAt: timeColumn("created_at"),
    status: changing(textColumn("status", "order_status")),
    sequence: changing(bigintColumn("sequence")),
    priority: changing(bigintColumn("priority")),
    filled: changing(amountColumn("filled")),
    filledGross: changing(amountColumn("filled_gross")),
    held: changing(amountColumn("held")),
    isTriggered: changing(booleanColumn("is_triggered")),
    rejectReason: changing(textColumn("reject_reason", "reject_reason")),
    cancelReason: changing(textColumn("cancel_reason", "cancel_reason")),
    updatedAt: changing(timeColumn("updated_at")),
    closedAt: changing(timeColumn("closed_at")),
    version: versionColumn,
  },
  digested: true,
  projections: [pendingOrders, bookedOrders],
  keyOf: (row) => `${row.profileId}/${row.id}`,
  keyValues: (text) => text.split("/"),
});
