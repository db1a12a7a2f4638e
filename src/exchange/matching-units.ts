/**
 * Between the ledger's exact amounts and the whole numbers that the book counts in: prices in units of
 * 10^-priceDecimals, quantities in lots of 10^-baseDecimals. Nothing is ever rounded on the way: intake refuses what a
 * market's decimals cannot express, so a remainder here is a bug.
 */
import type { Market } from "../catalogue/market.ts";
import { type Amount, mulDiv, unitOf } from "../money/amount.ts";
import { must } from "../std/assert.ts";
import type {
  Order as BookOrder,
  OrderId as BookOrderId,
  Lots,
  Price,
  QuoteUnits,
  Sequence,
  StopOrder,
  TimeInForce,
} from "./book/order.ts";
import type { Order } from "./order.ts";

export const priceUnits = (market: Market, price: Amount): Price =>
  Number(mulDiv(price, 1n, unitOf(market.priceDecimals), "exact")) as Price;

export const priceOf = (market: Market, price: Price): Amount =>
  (BigInt(price) * unitOf(market.priceDecimals)) as Amount;

const lotsIn = (market: Market, amount: Amount): Lots =>
  Number(mulDiv(amount, 1n, unitOf(market.baseDecimals), "exact")) as Lots;

export const amountOfLots = (market: Market, lots: Lots | bigint): Amount =>
  (BigInt(lots) * unitOf(market.baseDecimals)) as Amount;

const quoteUnits = (market: Market, amount: Amount): QuoteUnits =>
  mulDiv(amount, 1n, unitOf(market.priceDecimals + market.baseDecimals), "exact") as QuoteUnits;

export const quoteOf = (market: Market, units: QuoteUnits): Amount =>
  (units * unitOf(market.priceDecimals + market.baseDecimals)) as Amount;

/** An order of which nothing is filled yet, as the book is told of it. */
export function bookOrder(market: Market, order: Order, sequence: Sequence): BookOrder {
  const { side, type } = order;
  const identified = { id: order.id as string as BookOrderId, customer: order.customerId as string, sequence };
  const lots = (): Lots => lotsIn(market, must(order.baseAmount, "an order in lots has a base amount"));
  const budget = (): QuoteUnits => quoteUnits(market, must(order.quoteAmount, "a market buy has a quote amount"));
  const price = (): Price => priceUnits(market, must(order.price, "a limit order has a price"));
  const stopPrice = (): Price => priceUnits(market, must(order.stopPrice, "a stop has a stop price"));
  switch (type) {
    case "LIMIT":
    case "POST_ONLY_LIMIT":
      return { ...identified, type, side, timeInForce: order.timeInForce, price: price(), lots: lots() };
    case "MARKET":
      if (side === "BUY") return { ...identified, type, side, timeInForce: "IOC", budget: budget() };
      return { ...identified, type, side, timeInForce: "IOC", lots: lots() };
    case "STOP_LIMIT": {
      const timeInForce = stopTimeInForce(order.timeInForce);
      return { ...identified, type, side, timeInForce, stopPrice: stopPrice(), price: price(), lots: lots() };
    }
    case "STOP_MARKET": {
      const waiting = { ...identified, type, timeInForce: stopTimeInForce(order.timeInForce), stopPrice: stopPrice() };
      return side === "BUY" ? { ...waiting, side, budget: budget() } : { ...waiting, side, lots: lots() };
    }
  }
}

function stopTimeInForce(timeInForce: TimeInForce): StopOrder["timeInForce"] {
  const allowed = timeInForce === "GTC" || timeInForce === "GTT" ? timeInForce : undefined;
  return must(allowed, "a stop is GTC or GTT");
}
