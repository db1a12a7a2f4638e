/** The order in which the slow twin's orders come, sorted anew each time. */
import type { Price, RestingOrder, Side, StopOrder } from "../../src/exchange/book/order.ts";

/** A side's orders in price-time priority. */
export function inPriority(resting: readonly RestingOrder[], side: Side): RestingOrder[] {
  const orders = resting.filter((order) => order.side === side);
  const byPrice = (a: RestingOrder, b: RestingOrder) => (side === "BUY" ? b.price - a.price : a.price - b.price);
  return orders.sort((a, b) => byPrice(a, b) || a.priority - b.priority);
}

/** docs/contract/orders.md#stops, rule 2: the order of each side. */
export function inTriggerOrder(waiting: readonly StopOrder[], side: Side): StopOrder[] {
  const stops = waiting.filter((stop) => stop.side === side);
  const byPrice = (a: StopOrder, b: StopOrder) =>
    side === "SELL" ? b.stopPrice - a.stopPrice : a.stopPrice - b.stopPrice;
  return stops.sort((a, b) => byPrice(a, b) || a.sequence - b.sequence);
}

export function levelsOf(queue: readonly RestingOrder[]): { price: Price; lots: bigint }[] {
  return [...new Set(queue.map((order) => order.price))].map((price) => ({
    price,
    lots: queue.filter((order) => order.price === price).reduce((sum, order) => sum + BigInt(order.lots), 0n),
  }));
}
