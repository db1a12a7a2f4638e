/** How much one order may cause in a round: a thousand tiny resting orders must not stop a market. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommittedRound, createEngines, type Engines } from "../../src/exchange/engine/engines.ts";
import { systemClock } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { expectOrdersAddUp, type OrderAsked, TestExchange, type Trader } from "../support/exchange/orders.ts";
import { until } from "../support/until.ts";

let exchange: TestExchange;
let engines: Engines;
let rounds: CommittedRound[];
let ann: Trader;
let bob: Trader;

beforeAll(async () => {
  exchange = await TestExchange.open();
  [ann, bob] = [
    await exchange.trader("Ann", "1000000 USD, 100 ETH"),
    await exchange.trader("Bob", "1000000 USD, 100 ETH"),
  ];
  start();
});

afterAll(async () => {
  await engines.stop();
  await expectBooksBalance(exchange.db.database);
  await expectOrdersAddUp(exchange.db.database);
  await exchange.close();
});

function start(): void {
  const { db, lane, catalogue } = exchange;
  rounds = [];
  engines = createEngines({
    database: db.database,
    lane,
    clock: systemClock,
    catalogue,
    holder: "test",
    log: () => undefined,
  });
  engines.onCommitted((round) => rounds.push(round));
  engines.start();
}

const counted = async (where: string): Promise<number> => {
  const [row] = await exchange.db.database.rows<{ count: string }>(`select count(*) from orders where ${where}`);
  return Number(row?.count);
};

test("an order matches at most a thousand others: the rest of it is cancelled, and the market continues", async () => {
  const market = "ETHUSD";
  await exchange.placeMany(ann, 1_002, { market, side: "SELL", base: "0.001", price: "1000" });
  const cut = await exchange.place(bob, { market, side: "BUY", base: "2", price: "1000" });
  await exchange.untilDone();
  expect(await exchange.received(cut)).toBe("CANCELLED 1 for 1000, holds 0");
  expect((await exchange.order(cut)).cancelReason).toBe("too_many_matches");
  // In parts: 100 fills, as many sellers' orders that are filled with them, and that it goes on.
  const parts = () => rounds.filter(({ executions }) => executions.length > 0).map(({ effects }) => effects.length);
  await until("the last part is told", () => parts().length >= 10);
  expect(parts()).toEqual(new Array(10).fill(201));
  const killed = await exchange.place(bob, { market, side: "BUY", base: "0.003", price: "1000", timeInForce: "FOK" });
  const rest = await exchange.place(bob, { market, side: "BUY", base: "0.003", price: "1000" });
  await exchange.untilDone();
  expect(await exchange.received(killed)).toBe("CANCELLED 0 for 0, holds 0");
  expect(await exchange.received(rest)).toBe("OPEN 0.002 for 2, holds 1.0035");
});

test("a long cascade of stops is committed in several rounds, in order", async () => {
  const market = "LTCUSD";
  const [seller, buyer] = [await exchange.trader("Cat", "1000 LTC"), await exchange.trader("Dan", "1000 USD")];
  const another = await exchange.trader("Eve", "1000 LTC");
  const stop: OrderAsked = { market, type: "STOP_MARKET", side: "SELL", base: "0.01", stopPrice: "100" };
  await exchange.placeMany(seller, 600, stop);
  await exchange.placeMany(another, 500, stop);
  await exchange.place(buyer, { market, side: "BUY", base: "1", price: "100" });
  await exchange.untilDone();
  rounds.length = 0;
  await exchange.place(seller, { market, side: "SELL", base: "1", price: "100" });
  // Two effects each: 50 stops in a part.
  await until("a part is stored", () => rounds.some(({ effects }) => effects.length >= 100));
  await until("all have gone off", async () => (await counted("type = 'STOP_MARKET' and closed_at is null")) === 0);
  expect(await counted("type = 'STOP_MARKET' and reject_reason = 'no_liquidity' and is_triggered")).toBe(1_100);
  // A round is told a moment after its commit.
  const triggering = () => rounds.filter(({ effects }) => effects.some(({ kind }) => kind === "triggered"));
  await until("the last part is told", () => triggering().length >= 23);
  expect(triggering()).toHaveLength(23);
  for (const { effects } of rounds) expect(effects.length).toBeLessThan(110);
});
