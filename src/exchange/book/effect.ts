/**
 * What a command did to the book. The engine turns these, in order, into money movements and order rows, so they are
 * complete: from them alone one can follow what is left of every order, where it is, and how it ended.
 */
import type { BookOrderId, Lots, Price, QuoteUnits, Side } from "./order.ts";

/**
 * Why an order was refused by the book (docs/contract/orders.md#stored-rejections). The remaining reasons,
 * `identity_pair`, `gtt_too_soon` and `market_halted`, are found before an order reaches the book.
 */
export type RejectReason = "post_only_would_cross" | "no_liquidity" | "below_one_lot" | "price_collar";

/**
 * Why an order was cancelled. `immediate_or_cancel`: what an IOC or market order could not trade at once.
 * `fill_or_kill`: others do not offer enough. `self_trade`: a newer order of the same customer reached it.
 * `too_many_matches`: it has met as many orders as one may, and cannot rest because there are more.
 */
export type CancelReason =
  | "requested"
  | "expired"
  | "self_trade"
  | "immediate_or_cancel"
  | "fill_or_kill"
  | "too_many_matches";

/** A match, at the price of the maker: the order that was resting. */
export interface Filled {
  readonly kind: "filled";
  readonly taker: BookOrderId;
  readonly takerSide: Side;
  /** What the taker has yet to trade; undefined for one that buys for a budget. */
  readonly takerLotsLeft: Lots | undefined;
  /** What the taker has yet to spend; undefined for one that trades a number of lots. */
  readonly takerBudgetLeft: QuoteUnits | undefined;
  readonly maker: BookOrderId;
  readonly makerLotsLeft: Lots;
  readonly price: Price;
  readonly lots: Lots;
  /** price x lots. */
  readonly cost: QuoteUnits;
}

/** The order is on the book from now on. All of this is needed to `restore` it. */
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

/** The stop order has been triggered; what it does as a limit or market order follows. */
export interface Triggered {
  readonly kind: "triggered";
  readonly order: BookOrderId;
}

/** The last effect of every order, exactly once. What was left of it is released. */
export type Closed = { readonly kind: "closed"; readonly order: BookOrderId } & (
  | { readonly status: "FILLED"; readonly reason: undefined }
  | { readonly status: "CANCELLED"; readonly reason: CancelReason }
  | { readonly status: "REJECTED"; readonly reason: RejectReason }
);

export type Effect = Filled | Rested | Untriggered | Triggered | Closed;

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
