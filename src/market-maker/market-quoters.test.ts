/** What a pass deposits, searches for and reports; passes on the real exchange are in test/market-maker. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BTCUSD } from "../../test/support/exchange/btcusd.ts";
import type { Order, OrderFilter, OrderRequest } from "../exchange/exchange.ts";
import { amountOf, formatAmount, minus } from "../money/amount.ts";
import { must } from "../std/assert.ts";
import { done, reject } from "../std/result.ts";
import { type MakerEvent, type MarketMakerParts, MarketQuoters } from "./market-quoters.ts";

const MARKET = {
  ...BTCUSD,
  feeTiers: [
    { minimumGross: amountOf("0"), takerRate: amountOf("0.0035"), makerRebate: amountOf("0") },
    { minimumGross: amountOf("1"), takerRate: amountOf("0.001"), makerRebate: amountOf("0") },
  ],
};
/**
 * What ten quotes hold: 7.5 BTC, and 0.5 x 99,950 + 1 x 99,900 + 1.5 x 99,850 + 2 x 99,800 + 2.5 x 99,750 = 748,625 USD
 * with a commission of 0.35%.
 */
const [BTC, USD] = [amountOf("7.5"), amountOf("751245.1875")];
const CENT = amountOf("0.01");

let available: Record<string, string>;
let deposits: string[];
let rejection: string | undefined;
/** At which price an order is rejected. */
let rejectedAt: string | undefined;
/** The last order that an earlier process has placed. */
let newest: Order | undefined;
let events: MakerEvent[];
let placed: Order[];
/** The filters of the lists that were read. */
let lists: Omit<OrderFilter, "customerId" | "order">[];
let quoters: MarketQuoters;

beforeEach(() => {
  vi.useFakeTimers();
  [available, deposits, events, placed, lists] = [{ BTC: "500", USD: "5000000" }, [], [], [], []];
  [rejection, rejectedAt, newest] = [undefined, undefined, undefined];
  const parts = {
    database: {
      rows: async () =>
        Object.entries(available).map(([asset, amount]) => ({ asset, available: amount, trading: "0", pending: "0" })),
    },
    catalogue: {
      findMarket: (code: string) => (code === "BTCUSD" ? MARKET : undefined),
      findAsset: (code: string) => ({ code, kind: code === "USD" ? "fiat" : "crypto", precision: 2 }),
    },
    transfers: {
      recordExternal: async ({ asset, amount, direction, type }: Record<string, string>) => {
        deposits.push(`${direction} ${type} ${formatAmount(amount as never)} ${asset}`);
        return rejection === undefined ? done(undefined) : reject({ code: rejection });
      },
    },
    exchange: {
      place: async ({ side, price, baseAmount, market, annotations }: OrderRequest) => {
        if (rejectedAt !== undefined && price?.amount === amountOf(rejectedAt)) return reject({ code: "off_tick" });
        const made = { side, market, baseAmount, filled: 0n, status: "OPEN", annotations };
        const order = { ...made, id: `order ${placed.length}`, price: price?.amount } as unknown as Order;
        placed.push(order);
        return done(order);
      },
      listOrders: async ({ customerId: _, order: __, ...filter }: OrderFilter) => {
        lists.push(filter);
        if (filter.limit === 1) return newest === undefined ? [] : [newest];
        return filter.ids === undefined ? [] : placed.filter(({ id }) => filter.ids?.includes(id));
      },
    },
    seed: "seed",
    log: (event: MakerEvent) => void events.push(event),
  };
  quoters = new MarketQuoters(parts as unknown as MarketMakerParts, "profile" as never);
});

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["has twice of what the new orders hold", "0", []],
  ["has less than that of one asset", "0.01", ["CREDIT WIRE_DEPOSIT 100000000 USD"]],
])("a maker who %s deposits what is scarce", async (_what, missing, expected) => {
  const twice = (amount: typeof BTC) => (2n * amount) as typeof BTC;
  available = { BTC: formatAmount(twice(BTC)), USD: formatAmount(minus(twice(USD), amountOf(missing))) };
  expect(await quoters.pass()).toBe("at_work");
  expect([deposits, placed.length]).toEqual([expected, 10]);
  deposits = [];
  expect([await quoters.pass(), deposits]).toEqual(["settled", []]);
});

test("of the base asset as well: on-chain, and a rejection of the deposit is reported", async () => {
  available = { BTC: formatAmount(minus(amountOf("15"), CENT)), USD: "100000000" };
  rejection = "balance_too_large";
  await quoters.pass();
  expect(deposits).toEqual(["CREDIT CRYPTO_DEPOSIT 500 BTC"]);
  expect(events).toEqual([{ kind: "deposit_rejected", asset: "BTC", reason: "balance_too_large" }]);
});

test("open orders are searched for at the first pass and once a minute; in between only the known ones are read", async () => {
  await quoters.pass();
  const search = [
    { market: "BTCUSD", limit: 1 },
    ...["PENDING_SUBMISSION", "SUBMITTED", "OPEN"].map((status) => ({ market: "BTCUSD", status, limit: 1_000 })),
  ];
  expect(lists.splice(0)).toEqual(search);
  const known = { profileId: "profile", ids: placed.map(({ id }) => id), limit: 10 };
  await vi.advanceTimersByTimeAsync(59_999);
  await quoters.pass();
  expect(lists.splice(0)).toEqual([known]);
  await vi.advanceTimersByTimeAsync(1);
  await quoters.pass();
  expect(lists).toEqual([known, ...search.slice(1)]);
});

test("while an order is on its way onto the book or off it, a pass is at work", async () => {
  await quoters.pass();
  const [order] = placed;
  placed[0] = { ...must(order, "ten were placed"), status: "PENDING_SUBMISSION" };
  expect(await quoters.pass()).toBe("at_work");
  placed[0] = { ...placed[0], status: "OPEN" };
  expect(await quoters.pass()).toBe("settled");
});

test("the orders beside one that is rejected are not placed again; that one is, after a second", async () => {
  rejectedAt = "99900";
  await quoters.pass();
  expect(placed).toHaveLength(9);
  expect(events).toEqual([{ kind: "order_rejected", market: "BTCUSD", reason: "off_tick" }]);
  rejectedAt = undefined;
  await vi.advanceTimersByTimeAsync(999);
  await quoters.pass();
  expect(placed).toHaveLength(9);
  await vi.advanceTimersByTimeAsync(1);
  await quoters.pass();
  expect(placed.slice(9).map(({ price }) => price)).toEqual([amountOf("99900")]);
});

test("the price of a market goes on from the newest order of an earlier process", async () => {
  const metadata = { step: "17", offset: "-3" };
  newest = { annotations: { metadata } } as unknown as Order;
  await quoters.pass();
  expect(placed.map((order) => order.annotations.metadata)).toEqual(placed.map(() => metadata));
  const best = (side: Order["side"]) => placed.find((order) => order.side === side)?.price;
  expect([best("BUY"), best("SELL")]).toEqual(["99800", "99900"].map(amountOf));
});
