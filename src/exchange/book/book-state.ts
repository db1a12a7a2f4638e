import type { BookOrder, Executing, Price, RestingOrder, StopOrder } from "./order.ts";

/** The complete state of an order book. Two books in the same state behave identically. */
export interface BookState {
  readonly last: Price | undefined;
  /** In matching order. */
  readonly bids: readonly RestingOrder[];
  readonly asks: readonly RestingOrder[];
  /** The sells, then the buys, each in trigger order. */
  readonly stops: readonly StopOrder[];
  readonly executing: Executing | undefined;
}

/** 16 hex digits that reveal when two books have diverged. Not cryptographic. */
export function hashState(state: BookState): string {
  const content = [
    state.last ?? null,
    state.bids.map(restingFields),
    state.asks.map(restingFields),
    state.stops.map(orderFields),
    executingFields(state.executing),
  ];
  return fingerprint(JSON.stringify(content));
}

function restingFields(order: RestingOrder): unknown[] {
  return [order.id, order.customer, order.side, order.price, order.lots, order.priority];
}

function orderFields(order: BookOrder): unknown[] {
  return [
    order.id,
    order.customer,
    order.sequence,
    order.type,
    order.side,
    order.timeInForce,
    "stopPrice" in order ? order.stopPrice : null,
    "price" in order ? order.price : null,
    "budget" in order ? `quote ${order.budget}` : order.lots,
  ];
}

function executingFields(executing: Executing | undefined): unknown[] | null {
  return executing === undefined ? null : [...orderFields(executing.order), executing.met, executing.hasTraded];
}

/** Two 32-bit FNV-1a hashes with different offsets and primes. */
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
