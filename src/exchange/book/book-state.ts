import { createHash } from "node:crypto";
import type { Price, RestingOrder, StopOrder } from "./order.ts";

/** All that a book knows. Two books in the same state answer every command alike. */
export interface BookState {
  readonly last: Price | undefined;
  /** In the order in which they are served. */
  readonly bids: readonly RestingOrder[];
  readonly asks: readonly RestingOrder[];
  /** The sells, then the buys, each in the order in which they would trigger. */
  readonly stops: readonly StopOrder[];
}

/** The SHA-256 of a state, for finding out that two books have gone different ways. */
export function hashState(state: BookState): string {
  const content = [
    state.last ?? null,
    state.bids.map(restingFields),
    state.asks.map(restingFields),
    state.stops.map(stopFields),
  ];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

function restingFields(order: RestingOrder): unknown[] {
  return [order.id, order.customer, order.side, order.price, order.lots, order.priority];
}

function stopFields(stop: StopOrder): unknown[] {
  return [
    stop.id,
    stop.customer,
    stop.sequence,
    stop.type,
    stop.side,
    stop.timeInForce,
    stop.stopPrice,
    "price" in stop ? stop.price : null,
    "budget" in stop ? `quote ${stop.budget}` : stop.lots,
  ];
}
