/** No index of `orders` depends on what changes of an order, so PostgreSQL need not touch them when one changes. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Engines } from "../../src/exchange/engine/engines.ts";
import type { OrderId } from "../../src/exchange/order.ts";
import { must } from "../../src/std/assert.ts";
import { expectBooksBalance } from "../support/books.ts";
import { ahead, expectOrdersAddUp, type OrderAsked, TestExchange } from "../support/exchange/orders.ts";
import { until } from "../support/until.ts";

let exchange: TestExchange;
let engines: Engines;
beforeAll(async () => {
  exchange = await TestExchange.open();
  engines = exchange.startEngines();
});
afterAll(() => exchange.close());

const eth = (side: OrderAsked["side"], base: string, price: string, more: Partial<OrderAsked> = {}): OrderAsked => ({
  market: "ETHUSD",
  side,
  base,
  price,
  ...more,
});

interface Updates {
  readonly updates: number;
  readonly hot: number;
}

test("every update of an order is heap-only, whatever ends the order", async () => {
  const { db } = exchange;
  const [ann, bob] = [await exchange.trader("Ann", "1000 ETH"), await exchange.trader("Bob", "1000000 USD")];
  for (let round = 0; round < 10; round += 1) {
    const stop = { type: "STOP_LIMIT", stopPrice: "50" } as const;
    const cancelled: OrderId[] = [
      await exchange.place(ann, eth("SELL", "1", "300")),
      await exchange.place(ann, eth("SELL", "1", "40", stop)),
    ];
    await exchange.place(ann, eth("SELL", "1", "400", { timeInForce: "GTT", expirationDate: ahead(20) }));
    await exchange.place(ann, eth("SELL", "3", "100"));
    for (let part = 0; part < 3; part += 1) await exchange.place(bob, eth("BUY", "1", "100", { timeInForce: "IOC" }));
    await exchange.untilDone();
    for (const id of cancelled) await exchange.askToCancel(id);
  }
  await until("every order is closed", async () => {
    const open = await db.database.rows("select from orders where closed_at is null");
    return open.length === 0;
  });
  await engines.stop();
  await expectBooksBalance(db.database);
  await expectOrdersAddUp(db.database);
  const statuses = await db.database.rows("select status, count(*)::int from orders group by status order by status");
  expect(statuses).toEqual([
    { status: "FILLED", count: 40 },
    { status: "CANCELLED", count: 30 },
  ]);
  // A connection adds its counts to the statistics when it ends.
  await exchange.lane.stop();
  const [made] = await db.database.rows<{ count: number }>("select sum(version - 1)::int as count from orders");
  let updates: Updates | undefined;
  await until("the statistics have every update", async () => {
    [updates] = await db.database.rows<Updates>(
      "select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'orders'",
    );
    return must(updates, "orders has statistics").updates === made?.count;
  });
  expect(updates).toEqual({ updates: made?.count, hot: made?.count });
  // More than one of each order, because some are filled in parts.
  expect(made?.count).toBeGreaterThan(70);
});
