import type { Price, Side } from "./order.ts";

/**
 * Whether a limit is so far through the book that it looks like a mistake: a buy at 1.15 x mid or above, a sell at
 * 0.85 x mid or below. Mid is (bid + ask) / 2, so both sides are multiplied by 200 and compared exactly.
 */
export function isBeyondCollar(order: { readonly side: Side; readonly price: Price }, bid: Price, ask: Price): boolean {
  const limit = BigInt(order.price) * 200n;
  const bothSides = BigInt(bid) + BigInt(ask);
  return order.side === "BUY" ? limit >= bothSides * 115n : limit <= bothSides * 85n;
}
