import { expect, test } from "vitest";
import { BTCUSD } from "../../../test/support/exchange/btcusd.ts";
import { amountOf } from "../../money/amount.ts";
import type { Price, QuoteUnits, Sequence } from "../book/order.ts";
import type { Order, OrderTimeInForce } from "../order.ts";
import { amountOfLots, bookOrder, priceOf, priceUnits, quoteOf } from "./book-units.ts";

/** The base amount and the sum to spend are those of any order; the kind decides which of the two there is. */
const ORDER = {
  id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00",
  customerId: "ann",
  baseAmount: amountOf("0.5"),
  quoteAmount: amountOf("12.34"),
  price: amountOf("25000"),
  stopPrice: amountOf("24000.5"),
} as Order;
const IN_BOOK = { id: ORDER.id, customer: "ann", sequence: 7 };
/** BTCUSD counts prices in millionths of a dollar and BTC in hundred-millionths, so sums in units of 10^-14 USD. */
const [LOTS, PRICE, STOP_PRICE, BUDGET] = [50_000_000, 25_000_000_000, 24_000_500_000, 1_234_000_000_000_000n];

const booked = (some: Partial<Order>) => bookOrder(BTCUSD, { ...ORDER, ...some }, 7 as Sequence);

test.each(["BUY", "SELL"] as const)("limit orders to %s enter the book with their limit and time in force", (side) => {
  for (const type of ["LIMIT", "POST_ONLY_LIMIT"] as const) {
    for (const timeInForce of ["GTC", "GTT", "IOC", "FOK"] as const)
      expect(booked({ type, side, timeInForce })).toEqual({
        ...IN_BOOK,
        type,
        side,
        timeInForce,
        price: PRICE,
        lots: LOTS,
      });
  }
});

test("a market order enters the book as IOC: a buy with its sum, a sell with its amount", () => {
  const timeInForce = "IOC";
  expect(booked({ type: "MARKET", side: "BUY", timeInForce, baseAmount: undefined })).toEqual({
    ...IN_BOOK,
    type: "MARKET",
    side: "BUY",
    timeInForce,
    budget: BUDGET,
  });
  expect(booked({ type: "MARKET", side: "SELL", timeInForce, quoteAmount: undefined })).toEqual({
    ...IN_BOOK,
    type: "MARKET",
    side: "SELL",
    timeInForce,
    lots: LOTS,
  });
});

test.each(["GTC", "GTT"] as const)(
  "stops with %s enter the book with their trigger, and what they become then",
  (timeInForce) => {
    const stop = { ...IN_BOOK, timeInForce, stopPrice: STOP_PRICE };
    for (const side of ["BUY", "SELL"] as const) {
      const limit = { ...stop, type: "STOP_LIMIT", side, price: PRICE, lots: LOTS };
      expect(booked({ type: "STOP_LIMIT", side, timeInForce })).toEqual(limit);
    }
    const buy = { ...stop, type: "STOP_MARKET", side: "BUY", budget: BUDGET };
    expect(booked({ type: "STOP_MARKET", side: "BUY", timeInForce })).toEqual(buy);
    const sell = { ...stop, type: "STOP_MARKET", side: "SELL", lots: LOTS };
    expect(booked({ type: "STOP_MARKET", side: "SELL", timeInForce })).toEqual(sell);
  },
);

test("a stop that could not wait is a bug", () => {
  const withTime = (timeInForce: OrderTimeInForce) => () => booked({ type: "STOP_LIMIT", side: "BUY", timeInForce });
  expect(withTime("IOC")).toThrow("a stop is GTC or GTT");
  expect(withTime("FOK")).toThrow("a stop is GTC or GTT");
});

test("amounts that the market's decimals cannot express are never rounded", () => {
  expect(() => priceUnits(BTCUSD, amountOf("0.0000001"))).toThrow();
  expect(() => booked({ type: "LIMIT", side: "SELL", baseAmount: amountOf("0.000000001") })).toThrow();
  expect(() => booked({ type: "MARKET", side: "BUY", quoteAmount: amountOf("0.000000000000001") })).toThrow();
});

test("the book's units are converted back to the same amounts", () => {
  expect(priceOf(BTCUSD, PRICE as Price)).toBe(amountOf("25000"));
  expect(amountOfLots(BTCUSD, BigInt(LOTS))).toBe(amountOf("0.5"));
  expect(quoteOf(BTCUSD, BUDGET as QuoteUnits)).toBe(amountOf("12.34"));
});
