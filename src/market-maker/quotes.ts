/**
 * The quotes that the market maker wants on a book, and the changes to get there. Pure. Prices and amounts are valid for
 * the market under any settings; quotes that cannot be are left out.
 */
import type { Market } from "../catalogue/market.ts";
import type { OrderId } from "../exchange/exchange.ts";
import { type Amount, minus, multiplyExact, plus, unitOf, ZERO } from "../money/amount.ts";
import type { QuotedMarket } from "./quoted-markets.ts";

export interface Quote {
  readonly side: "BUY" | "SELL";
  readonly price: Amount;
  /** In the base asset. */
  readonly amount: Amount;
}

/** A quote on the book, or on its way there. `amount` is the remainder. */
export interface Resting extends Quote {
  readonly id: OrderId;
}

export interface Changes {
  readonly cancel: readonly OrderId[];
  readonly place: readonly Quote[];
}

export const LEVELS = 5;

/**
 * The ladder around a price `offset` units above the start: bids below and asks above it, larger with distance. Levels
 * that the market rejects are left out.
 */
export function ladder({ start, unit, size }: QuotedMarket, market: Market, offset: number): Quote[] {
  const middle = plus(start, times(unit, offset));
  const quotes: Quote[] = [];
  for (let level = 1; level <= LEVELS; level += 1) {
    const amount = times(size, level);
    // Rounded away from the middle, so that bids and asks never cross, at any tick.
    const bid = rounded(minus(middle, times(unit, level)), market.tick, "down");
    const ask = rounded(plus(middle, times(unit, level)), market.tick, "up");
    quotes.push(...fitting("BUY", bid, amount, market), ...fitting("SELL", ask, amount, market));
  }
  return quotes.filter(({ side, price }, i) => quotes.findIndex((q) => q.side === side && q.price === price) === i);
}

/** The quote with an amount that the market accepts at this price, if any. */
function fitting(side: Quote["side"], price: Amount, wanted: Amount, market: Market): Quote[] {
  if (price <= ZERO) return [];
  const { minBaseAmount, maxBaseAmount, baseDecimals } = market;
  const bounded = lowest(highest(wanted, minBaseAmount), lowest(maxBaseAmount, affordable(market, price)));
  const amount = rounded(bounded, unitOf(baseDecimals), "down");
  return amount > ZERO && amount >= minBaseAmount ? [{ side, price, amount }] : [];
}

/** The maximum amount of one order at this price. */
function affordable({ maxNotionalValue, baseDecimals }: Market, price: Amount): Amount {
  const lots = maxNotionalValue / multiplyExact(unitOf(baseDecimals), price);
  return times(unitOf(baseDecimals), lots);
}

/**
 * The orders to cancel and to place, so that each level of the ladder has one order with at least half of the wanted
 * amount; such orders are kept. A quote that would match one of our own orders is placed once that order is cancelled.
 */
export function changesTo(wanted: readonly Quote[], resting: readonly Resting[]): Changes {
  const kept = new Set<Quote>();
  const missing: Quote[] = [];
  for (const quote of wanted) {
    const found = resting.find((order) => isAt(quote, order) && order.amount * 2n >= quote.amount);
    if (found === undefined) missing.push(quote);
    else kept.add(found);
  }
  return {
    cancel: resting.filter((order) => !kept.has(order)).map(({ id }) => id),
    place: missing.filter((quote) => !resting.some((order) => meets(quote, order))),
  };
}

const isAt = (quote: Quote, order: Quote): boolean => quote.side === order.side && quote.price === order.price;

function meets(quote: Quote, order: Quote): boolean {
  if (quote.side === order.side) return false;
  return quote.side === "BUY" ? quote.price >= order.price : quote.price <= order.price;
}

const times = (amount: Amount, count: number | bigint): Amount => (amount * BigInt(count)) as Amount;

const lowest = (a: Amount, b: Amount): Amount => (a < b ? a : b);

const highest = (a: Amount, b: Amount): Amount => (a < b ? b : a);

function rounded(amount: Amount, unit: Amount, to: "down" | "up"): Amount {
  if (amount <= ZERO) return ZERO;
  const rest = (amount % unit) as Amount;
  if (rest === ZERO) return amount;
  const below = minus(amount, rest);
  return to === "down" ? below : plus(below, unit);
}
