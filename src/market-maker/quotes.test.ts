import fc from "fast-check";
import { expect, test } from "vitest";
import { BTCUSD } from "../../test/support/exchange/btcusd.ts";
import { type Market, marketOf } from "../catalogue/market.ts";
import type { OrderId } from "../exchange/exchange.ts";
import { amountOf, fitsPrecision, formatAmount, multiplyExact } from "../money/amount.ts";
import { QUOTED_MARKETS, type QuotedMarket } from "./quoted-markets.ts";
import { changesTo, LEVELS, ladder, type Quote, type Resting } from "./quotes.ts";

const TERMS = made({ start: "100000", unit: "50", size: "0.5" });

function made({ start, unit, size }: Record<"start" | "unit" | "size", string>): QuotedMarket {
  return {
    market: BTCUSD.code,
    start: amountOf(start),
    unit: amountOf(unit),
    band: 100,
    size: amountOf(size),
  };
}

const shown = ({ side, price, amount }: Quote): string => `${side} ${formatAmount(amount)} @ ${formatAmount(price)}`;

test("the ladder has five bids below the price and five asks above it, further away for more", () => {
  expect(ladder(TERMS, BTCUSD, 0).map(shown)).toEqual([
    "BUY 0.5 @ 99950",
    "SELL 0.5 @ 100050",
    "BUY 1 @ 99900",
    "SELL 1 @ 100100",
    "BUY 1.5 @ 99850",
    "SELL 1.5 @ 100150",
    "BUY 2 @ 99800",
    "SELL 2 @ 100200",
    "BUY 2.5 @ 99750",
    "SELL 2.5 @ 100250",
  ]);
  expect(ladder(TERMS, BTCUSD, -3).map(shown).slice(0, 2)).toEqual(["BUY 0.5 @ 99800", "SELL 0.5 @ 99900"]);
});

test("prices are rounded to the tick away from the middle, and levels that come out the same are one", () => {
  const wide = { ...BTCUSD, tick: amountOf("75") };
  expect(ladder(TERMS, wide, 0).map(shown)).toEqual([
    "BUY 0.5 @ 99900",
    "SELL 0.5 @ 100050",
    "SELL 1 @ 100125",
    "BUY 1.5 @ 99825",
    "SELL 1.5 @ 100200",
    "BUY 2 @ 99750",
    "SELL 2.5 @ 100275",
  ]);
});

test("amounts stay within what the market takes, and a level that it does not take is left out", () => {
  const amounts = (market: Partial<Market>): string[] =>
    ladder(TERMS, { ...BTCUSD, ...market }, 0)
      .filter(({ side }) => side === "BUY")
      .map(({ amount }) => formatAmount(amount));
  expect(amounts({ minBaseAmount: amountOf("1.2") })).toEqual(["1.2", "1.2", "1.5", "2", "2.5"]);
  expect(amounts({ maxBaseAmount: amountOf("1.2") })).toEqual(["0.5", "1", "1.2", "1.2", "1.2"]);
  expect(amounts({ maxNotionalValue: amountOf("149700") })).toEqual(["0.5", "1", "1.49924887", "1.5", "1.50075187"]);
  expect(amounts({ minBaseAmount: amountOf("1"), maxNotionalValue: amountOf("99800") })).toEqual(["1", "1.00050125"]);
  expect(ladder({ ...TERMS, start: amountOf("100") }, BTCUSD, 0).map(shown)).toContain("BUY 0.5 @ 50");
  expect(ladder({ ...TERMS, start: amountOf("100") }, BTCUSD, 0).filter(({ side }) => side === "BUY")).toHaveLength(1);
});

test("whatever the market is, a ladder is valid for it and never crosses itself", () => {
  const market = fc.record({
    tick: fc.integer({ min: 1, max: 5_000_000 }).map((n) => (BigInt(n) * 10n ** 12n) as Market["tick"]),
    minBaseAmount: fc.integer({ min: 1, max: 10 ** 9 }).map((n) => (BigInt(n) * 10n ** 10n) as Market["tick"]),
    maxBaseAmount: fc.integer({ min: 10 ** 9, max: 10 ** 12 }).map((n) => (BigInt(n) * 10n ** 10n) as Market["tick"]),
    maxNotionalValue: fc.integer({ min: 1, max: 10 ** 9 }).map((n) => (BigInt(n) * 10n ** 16n) as Market["tick"]),
  });
  fc.assert(
    fc.property(
      market,
      fc.constantFrom(...QUOTED_MARKETS),
      fc.integer({ min: -100, max: 100 }),
      (part, terms, offset) => {
        const changed: Market = { ...BTCUSD, ...part };
        const quotes = ladder(terms, changed, offset);
        for (const { price, amount } of quotes) {
          expect(price > 0n && price % changed.tick === 0n).toBe(true);
          expect(amount >= changed.minBaseAmount && amount <= changed.maxBaseAmount).toBe(true);
          expect(fitsPrecision(amount, changed.baseDecimals)).toBe(true);
          expect(multiplyExact(amount, price) <= changed.maxNotionalValue).toBe(true);
        }
        const prices = (side: Quote["side"]) => quotes.filter((quote) => quote.side === side).map(({ price }) => price);
        const asks = prices("SELL");
        expect(prices("BUY").filter((bid) => asks.some((ask) => ask <= bid))).toEqual([]);
        expect(new Set(quotes.map(shown)).size).toBe(quotes.length);
      },
    ),
  );
});

test("the made markets have their whole ladder wherever the price walks", async () => {
  const { markets } = (await import("../../catalogue.json", { with: { type: "json" } })).default;
  for (const terms of QUOTED_MARKETS) {
    const row = markets.find(({ code }) => code === terms.market);
    const market = marketOf({ ...row, number: 1 }, []);
    for (const offset of [-terms.band, 0, terms.band]) {
      expect(ladder(terms, market, offset), terms.market).toHaveLength(2 * LEVELS);
    }
  }
});

const resting = (id: string, side: Quote["side"], price: string, amount: string): Resting => ({
  id: id as OrderId,
  side,
  price: amountOf(price),
  amount: amountOf(amount),
});
const bid = (price: string, amount: string): Quote => ({
  side: "BUY",
  price: amountOf(price),
  amount: amountOf(amount),
});
const ask = (price: string, amount: string): Quote => ({ ...bid(price, amount), side: "SELL" });

test("an empty book gets the ladder, and a book that has it nothing", () => {
  const wanted = [bid("99", "2"), ask("101", "2")];
  expect(changesTo(wanted, [])).toEqual({ cancel: [], place: wanted });
  const whole = [resting("a", "BUY", "99", "2"), resting("b", "SELL", "101", "2")];
  expect(changesTo(wanted, whole)).toEqual({ cancel: [], place: [] });
});

test("half of what is wanted is enough, less is placed anew, more is left alone", () => {
  const wanted = [bid("99", "2")];
  expect(changesTo(wanted, [resting("a", "BUY", "99", "1")])).toEqual({ cancel: [], place: [] });
  expect(changesTo(wanted, [resting("a", "BUY", "99", "0.99999999")])).toEqual({ cancel: ["a"], place: wanted });
  expect(changesTo(wanted, [resting("a", "BUY", "99", "5")])).toEqual({ cancel: [], place: [] });
});

test("a level has one order: the second one goes, as does what is at no level", () => {
  const book = [resting("a", "BUY", "99", "2"), resting("b", "BUY", "99", "2"), resting("c", "SELL", "99.5", "2")];
  expect(changesTo([bid("99", "2")], book)).toEqual({ cancel: ["b", "c"], place: [] });
});

test("a quote that would meet an own order being cancelled waits until that is closed", () => {
  const book = [resting("a", "SELL", "101", "2")];
  const wanted = [bid("101", "1"), bid("100", "2"), ask("102", "1")];
  expect(changesTo(wanted, book)).toEqual({ cancel: ["a"], place: [bid("100", "2"), ask("102", "1")] });
  expect(changesTo([ask("99", "1")], [resting("a", "BUY", "99", "2")])).toEqual({ cancel: ["a"], place: [] });
});
