/**
 * What the market maker wants to have on a book, and what has to be done to a book to get there. Pure: prices and
 * amounts come out valid for the market whatever its operator has made of it, or they do not come out.
 */
import type { Market } from "../catalogue/market.ts";
import type { OrderId } from "../exchange/exchange.ts";
import { type Amount, minus, multiplyExact, plus, unitOf, ZERO } from "../money/amount.ts";
import type { MadeMarket } from "./made-markets.ts";

export interface Quote {
  readonly side: "BUY" | "SELL";
  readonly price: Amount;
  /** In the base asset. */
  readonly amount: Amount;
}

/** A quote that is on the book, or on its way there. `amount` is what is left of it. */
export interface Resting extends Quote {
  readonly id: OrderId;
}

export interface Changes {
  readonly withdraw: readonly OrderId[];
  readonly place: readonly Quote[];
}

export const LEVELS = 5;

/**
 * The ladder around a price that is `offset` units above the start: bids below it and asks above it, further away for
 * more. A level that the market does not take is left out.
 */
export function ladder({ start, unit, size }: MadeMarket, market: Market, offset: number): Quote[] {
  const middle = plus(start, times(unit, offset));
  const quotes: Quote[] = [];
  for (let level = 1; level <= LEVELS; level += 1) {
    const amount = times(size, level);
    // Rounded away from the middle, so that no bid can meet an ask, however wide the tick.
    const bid = rounded(minus(middle, times(unit, level)), market.tick, "down");
    const ask = rounded(plus(middle, times(unit, level)), market.tick, "up");
    quotes.push(...fitting("BUY", bid, amount, market), ...fitting("SELL", ask, amount, market));
  }
  return quotes.filter(({ side, price }, i) => quotes.findIndex((q) => q.side === side && q.price === price) === i);
}

/** With an amount that the market takes at this price; nothing when there is none. */
function fitting(side: Quote["side"], price: Amount, wanted: Amount, market: Market): Quote[] {
  if (price <= ZERO) return [];
  const { minBaseAmount, maxBaseAmount, baseDecimals } = market;
  const bounded = lowest(highest(wanted, minBaseAmount), lowest(maxBaseAmount, affordable(market, price)));
  const amount = rounded(bounded, unitOf(baseDecimals), "down");
  return amount > ZERO && amount >= minBaseAmount ? [{ side, price, amount }] : [];
}

/** How much may be bought or sold at this price in one order. */
function affordable({ maxNotionalValue, baseDecimals }: Market, price: Amount): Amount {
  const lots = maxNotionalValue / multiplyExact(unitOf(baseDecimals), price);
  return times(unitOf(baseDecimals), lots);
}

/**
 * What to withdraw and what to place, so that each level of the ladder has one order with at least half of what is
 * wanted there: a level that was nibbled at, or that was once further away, is left as it is. What would meet an order
 * of our own that is about to go is placed once that has gone.
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
    withdraw: resting.filter((order) => !kept.has(order)).map(({ id }) => id),
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
