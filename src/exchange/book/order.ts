/**
 * Orders as the order book sees them. Prices are whole numbers in units of 10^-priceDecimals of the quote asset, base
 * quantities are whole lots of 10^-baseDecimals of the base asset, and their products are exact `bigint`s.
 */
import { assert } from "../../std/assert.ts";
import type { Brand } from "../../std/brand.ts";

export type BookOrderId = Brand<string, "OrderId">;

/** In units of 10^-priceDecimals of the quote asset: a safe integer above zero. */
export type Price = Brand<number, "Price">;

/** A quantity of the base asset, in lots of 10^-baseDecimals: a whole number below 2^53. */
export type Lots = Brand<number, "Lots">;

/** A sum of the quote asset, price x lots, in units of 10^-(priceDecimals + baseDecimals). */
export type QuoteUnits = Brand<bigint, "QuoteUnits">;

/** The engine's sequence of orders: a safe integer, unique in its market, lower for older orders. */
export type Sequence = Brand<number, "Sequence">;

export type Side = "BUY" | "SELL";
export type TimeInForce = "GTC" | "GTT" | "IOC" | "FOK";

/** A stop waits for its trigger, so it can be neither IOC nor FOK (docs/contract/orders.md#time-in-force). */
type StopTimeInForce = "GTC" | "GTT";

interface Identified {
  readonly id: BookOrderId;
  /** Orders of one customer never trade with each other. */
  readonly customer: string;
  readonly sequence: Sequence;
}

export interface LimitOrder extends Identified {
  readonly type: "LIMIT" | "POST_ONLY_LIMIT";
  readonly side: Side;
  readonly timeInForce: TimeInForce;
  readonly price: Price;
  readonly lots: Lots;
}

/** Buys for a sum of the quote asset, without commission, which the book does not know. */
export interface MarketBuy extends Identified {
  readonly type: "MARKET";
  readonly side: "BUY";
  readonly timeInForce: "IOC";
  readonly budget: QuoteUnits;
}

export interface MarketSell extends Identified {
  readonly type: "MARKET";
  readonly side: "SELL";
  readonly timeInForce: "IOC";
  readonly lots: Lots;
}

/** Becomes a limit order when the last execution price reaches `stopPrice`. */
export interface StopLimitOrder extends Identified {
  readonly type: "STOP_LIMIT";
  readonly side: Side;
  readonly timeInForce: StopTimeInForce;
  readonly stopPrice: Price;
  readonly price: Price;
  readonly lots: Lots;
}

/** Becomes a market order when the last execution price reaches `stopPrice`. */
export interface StopMarketBuy extends Identified {
  readonly type: "STOP_MARKET";
  readonly side: "BUY";
  readonly timeInForce: StopTimeInForce;
  readonly stopPrice: Price;
  readonly budget: QuoteUnits;
}

export interface StopMarketSell extends Identified {
  readonly type: "STOP_MARKET";
  readonly side: "SELL";
  readonly timeInForce: StopTimeInForce;
  readonly stopPrice: Price;
  readonly lots: Lots;
}

export type StopOrder = StopLimitOrder | StopMarketBuy | StopMarketSell;
export type BookOrder = LimitOrder | MarketBuy | MarketSell | StopOrder;

/** An order as it rests on the book. */
export interface RestingOrder {
  readonly id: BookOrderId;
  readonly customer: string;
  readonly side: Side;
  readonly price: Price;
  readonly lots: Lots;
  /**
   * Its position in its price level: the lowest matches first. It has no meaning across levels, and differs from the
   * sequence: a triggered stop has an old sequence, but queues behind orders that rested before it was triggered.
   */
  readonly priority: number;
}

/** An order that has met as many orders as it may at once. It goes on before anything else is placed or triggered. */
export interface Executing {
  /** With the lots or the budget that are left. */
  readonly order: BookOrder;
  /** How many orders it has met so far, or at least so many. */
  readonly met: number;
  readonly hasTraded: boolean;
}

export function isStop(order: BookOrder): order is StopOrder {
  return order.type === "STOP_LIMIT" || order.type === "STOP_MARKET";
}

/** Whether an order may stay in the book, resting or waiting. The others are closed when they are placed. */
export function mayStayOpen({ timeInForce }: BookOrder): boolean {
  return timeInForce === "GTC" || timeInForce === "GTT";
}

/** Whether what an execution leaves of an order may rest. A market order has a price only now. */
export function mayRest(order: BookOrder): boolean {
  return order.type !== "MARKET" && order.type !== "STOP_MARKET" && mayStayOpen(order);
}

/** Malformed orders were rejected before, so a violation is a bug. */
export function assertWellFormed(order: BookOrder): void {
  assert(Number.isSafeInteger(order.sequence), "a sequence is a safe integer");
  if ("budget" in order) assert(order.budget > 0n, "a budget is above zero");
  else assertPositive(order.lots, "lots are a safe integer above zero");
  if ("price" in order) assertPositive(order.price, "a price is a safe integer above zero");
  if ("stopPrice" in order) assertPositive(order.stopPrice, "a stop price is a safe integer above zero");
}

export function assertPositive(value: number, belief: string): void {
  assert(Number.isSafeInteger(value) && value > 0, belief);
}
