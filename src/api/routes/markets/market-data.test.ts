import { afterEach, expect, test } from "vitest";
import { ask, startToyApi, type ToyApi } from "../../../../test/support/http/toy-api.ts";
import type { MarketCode } from "../../../catalogue/market.ts";
import type { MarketData, Match, WrittenBook } from "../../../exchange/exchange.ts";
import type { ExecutionId } from "../../../exchange/execution.ts";
import { amountOf } from "../../../money/amount.ts";
import type { Instant } from "../../../std/clock.ts";
import { marketDataRoutes } from "./market-data.ts";

let toy: ToyApi;
afterEach(() => toy.close());

/** What counts how often it is made into a body. */
function counted<Value extends object>(value: Value, field: string): { value: Value; made: () => number } {
  let made = 0;
  const get = (target: Value, name: string | symbol, receiver: unknown): unknown => {
    if (name === field) made += 1;
    return Reflect.get(target, name, receiver);
  };
  return { value: new Proxy(value, { get }), made: () => made };
}

async function start(marketData: Partial<MarketData>): Promise<void> {
  const exchange = { marketCodes: () => ["BTCUSD"] as MarketCode[], marketData: marketData as MarketData };
  toy = await startToyApi((api) => marketDataRoutes(api, exchange));
}

const bodies = async (path: string): Promise<unknown[]> => {
  const answers = await Promise.all(Array.from({ length: 100 }, () => ask(toy, path, { token: null })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(answers[0]?.headers["content-type"]).toBe("application/json; charset=utf-8");
  return [...new Set(answers.map(({ body }) => JSON.stringify(body)))].map((text) => JSON.parse(text));
};

test("a book is made into a body once, however many ask for it, and the next one again", async () => {
  const books = [7n, 8n].map((version) =>
    counted<WrittenBook>({ version, bids: '{"price":"1","amount":"2"}', asks: "" }, "bids"),
  );
  let current = books[0];
  await start({ orderBook: async () => current?.value as WrittenBook });
  const body = (sequence: string) => ({
    market: "BTCUSD",
    sequence,
    bids: [{ price: "1", amount: "2" }],
    asks: [],
  });
  expect(await bodies("/v2/markets/BTCUSD/order-book")).toEqual([body("7")]);
  current = books[1];
  expect(await bodies("/v2/markets/BTCUSD/order-book")).toEqual([body("8")]);
  expect(books.map(({ made }) => made())).toEqual([1, 1]);
});

test("so are the recent executions", async () => {
  const match: Match = {
    id: 11n as ExecutionId,
    price: amountOf("25000"),
    amount: amountOf("0.1"),
    side: "SELL",
    executedAt: Date.parse("2026-11-21T09:30:00.000Z") as Instant,
  };
  const { value, made } = counted([match], "map");
  await start({ recentMatches: async () => value });
  expect(await bodies("/v2/markets/BTCUSD/recent-executions")).toEqual([
    {
      items: [
        { match_number: "11", price: "25000", amount: "0.1", side: "SELL", executed_at: "2026-11-21T09:30:00.000Z" },
      ],
    },
  ]);
  expect(made()).toBe(1);
});
