/**
 * What a command did to the order book. The engine turns effects, in order, into money movements and order rows, so they
 * are complete: every order's remainder, state and end can be derived from them alone.
 */
import type { BookOrderId, Lots, Price, QuoteUnits, Side } from "./order.ts";

/**
 * Why the book rejected an order (docs/contract/orders.md#stored-rejections). The other reasons, `identity_pair`,
 * `gtt_too_soon` and `market_halted`, are found before an order reaches the book.
 */
export type RejectReason =
  | "too_many_open_orders"
  | "post_only_would_cross"
  | "no_liquidity"
  | "below_one_lot"
  | "price_collar";

/**
 * Why an order was cancelled. `immediate_or_cancel`: the part of an IOC or market order that could not trade at once.
 * `fill_or_kill`: others do not offer enough, or not within as many orders as it may meet at once. `self_trade`: a newer
 * order of the same customer reached it.
 * `too_many_matches`: it has met the maximum number of orders, and cannot rest because it would cross.
 */
export type CancelReason =
  | "requested"
  | "expired"
  | "self_trade"
  | "immediate_or_cancel"
  | "fill_or_kill"
  | "too_many_matches";

/** A match, at the price of the maker, which was resting. */
export interface Filled {
  readonly kind: "filled";
  readonly taker: BookOrderId;
  readonly takerSide: Side;
  /** The taker's remaining lots; undefined for a market buy. */
  readonly takerLotsLeft: Lots | undefined;
  /** The taker's remaining budget; undefined unless it is a market buy. */
  readonly takerBudgetLeft: QuoteUnits | undefined;
  readonly maker: BookOrderId;
  readonly makerLotsLeft: Lots;
  readonly price: Price;
  readonly lots: Lots;
  /** price x lots. */
  readonly cost: QuoteUnits;
}

/** The order now rests on the book. All fields are needed to restore it. */
export interface Rested {
  readonly kind: "rested";
  readonly order: BookOrderId;
  readonly side: Side;
  readonly price: Price;
  readonly lots: Lots;
  readonly priority: number;
}

/** The stop order waits for its trigger. */
export interface Untriggered {
  readonly kind: "waiting";
  readonly order: BookOrderId;
}

/** The stop order was triggered; its effects as a limit or market order follow. */
export interface Triggered {
  readonly kind: "triggered";
  readonly order: BookOrderId;
}

/** The order has met as many orders as it may at once, and goes on with the next part. */
export interface Paused {
  readonly kind: "paused";
  readonly order: BookOrderId;
}

/** The last effect of every order, exactly once. The rest of its hold is released. */
export type Closed = { readonly kind: "closed"; readonly order: BookOrderId } & (
  | { readonly status: "FILLED"; readonly reason: undefined }
  | { readonly status: "CANCELLED"; readonly reason: CancelReason }
  | { readonly status: "REJECTED"; readonly reason: RejectReason }
);

export type Effect = Filled | Rested | Untriggered | Triggered | Paused | Closed;

export const filledUp = (order: BookOrderId): Closed => ({
  kind: "closed",
  order,
  status: "FILLED",
  reason: undefined,
});

export const cancelled = (order: BookOrderId, reason: CancelReason): Closed => ({
  kind: "closed",
  order,
  status: "CANCELLED",
  reason,
});

export const rejected = (order: BookOrderId, reason: RejectReason): Closed => ({
  kind: "closed",
  order,
  status: "REJECTED",
  reason,
});
