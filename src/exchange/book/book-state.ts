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

/** Sixteen hexadecimal digits that find out when two books have gone different ways. Against forgery they do nothing. */
export function hashState(state: BookState): string {
  const content = [
    state.last ?? null,
    state.bids.map(restingFields),
    state.asks.map(restingFields),
    state.stops.map(stopFields),
  ];
  return fingerprint(JSON.stringify(content));
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

/** Two FNV-1a hashes of 32 bits side by side, from different beginnings and with different primes. */
function fingerprint(text: string): string {
  let left = 0x811c9dc5;
  let right = 0x9e3779b9;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    left = Math.imul(left ^ unit, 0x01000193);
    right = Math.imul(right ^ unit, 0x85ebca6b);
  }
  return hex(left) + hex(right);
}

const hex = (bits: number): string => (bits >>> 0).toString(16).padStart(8, "0");
