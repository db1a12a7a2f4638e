/**
 * Converts between the ledger's exact amounts and the book's whole numbers: prices in units of 10^-priceDecimals,
 * quantities in lots of 10^-baseDecimals. Nothing is rounded: placement rejects what a market's decimals cannot express,
 * so a remainder here is a bug.
 */
import type { Market } from "../../catalogue/market.ts";
import { type Amount, minus, mulDiv, unitOf, ZERO } from "../../money/amount.ts";
import { must } from "../../std/assert.ts";
import type {
  BookOrder,
  BookOrderId,
  Executing,
  Lots,
  Price,
  QuoteUnits,
  Sequence,
  StopOrder,
  TimeInForce,
} from "../book/order.ts";
import type { Order } from "../order.ts";

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

/** The fields of an order that the book needs. */
type BookableOrder = Pick<
  Order,
  "id" | "customerId" | "side" | "type" | "timeInForce" | "baseAmount" | "quoteAmount" | "price" | "stopPrice"
>;

/** Converts an unfilled order. */
export function bookOrder(market: Market, order: BookableOrder, sequence: Sequence): BookOrder {
  const { side, type } = order;
  const id = order.id as string as BookOrderId;
  const customer = order.customerId as string;
  switch (type) {
    case "LIMIT":
    case "POST_ONLY_LIMIT": {
      const { timeInForce } = order;
      const [price, lots] = [limitOf(market, order), lotsOf(market, order)];
      return { id, customer, sequence, type, side, timeInForce, price, lots };
    }
    case "MARKET": {
      const timeInForce = "IOC";
      if (side === "BUY") return { id, customer, sequence, type, side, timeInForce, budget: budgetOf(market, order) };
      return { id, customer, sequence, type, side, timeInForce, lots: lotsOf(market, order) };
    }
    case "STOP_LIMIT": {
      const timeInForce = stopTimeInForce(order.timeInForce);
      const [stopPrice, price, lots] = [stopOf(market, order), limitOf(market, order), lotsOf(market, order)];
      return { id, customer, sequence, type, side, timeInForce, stopPrice, price, lots };
    }
    case "STOP_MARKET": {
      const timeInForce = stopTimeInForce(order.timeInForce);
      const stopPrice = stopOf(market, order);
      if (side === "SELL") {
        return { id, customer, sequence, type, side, timeInForce, stopPrice, lots: lotsOf(market, order) };
      }
      return { id, customer, sequence, type, side, timeInForce, stopPrice, budget: budgetOf(market, order) };
    }
  }
}

/** Converts an order between two parts of its execution. How many orders it has met is not stored: it counts as one. */
export function executingOrder(
  market: Market,
  order: BookableOrder & Pick<Order, "filled" | "filledGross">,
  sequence: Sequence,
): Executing {
  const { baseAmount, quoteAmount, filled, filledGross } = order;
  const left = {
    ...order,
    baseAmount: baseAmount === undefined ? undefined : minus(baseAmount, filled),
    quoteAmount: quoteAmount === undefined ? undefined : minus(quoteAmount, filledGross),
  };
  return { order: bookOrder(market, left, sequence), met: 1, hasTraded: filled > ZERO };
}

const lotsOf = (market: Market, { baseAmount }: BookableOrder): Lots =>
  lotsIn(market, must(baseAmount, "an order in lots has a base amount"));

const budgetOf = (market: Market, { quoteAmount }: BookableOrder): QuoteUnits =>
  quoteUnits(market, must(quoteAmount, "a market buy has a quote amount"));

const limitOf = (market: Market, { price }: BookableOrder): Price =>
  priceUnits(market, must(price, "a limit order has a price"));

const stopOf = (market: Market, { stopPrice }: BookableOrder): Price =>
  priceUnits(market, must(stopPrice, "a stop has a stop price"));

function stopTimeInForce(timeInForce: TimeInForce): StopOrder["timeInForce"] {
  const allowed = timeInForce === "GTC" || timeInForce === "GTT" ? timeInForce : undefined;
  return must(allowed, "a stop is GTC or GTT");
}
