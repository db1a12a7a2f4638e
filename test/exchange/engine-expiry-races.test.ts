/** An order's time against its fill: one of them wins, and the record says which. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Engines } from "../../src/exchange/engine/engines.ts";
import type { OrderId } from "../../src/exchange/order.ts";
import { formatAmount } from "../../src/money/amount.ts";
import { expectBooksBalance } from "../support/books.ts";
import { ahead, expectOrdersAddUp, TestExchange } from "../support/exchange/orders.ts";
import { until } from "../support/until.ts";

let exchange: TestExchange;
let engines: Engines;
beforeAll(async () => {
  exchange = await TestExchange.open();
  engines = exchange.startEngines();
});
afterAll(async () => {
  await engines.stop();
  await exchange.close();
});

test("an order that is filled near its expiry is either filled completely or cancelled completely", async () => {
  const [ann, bob] = [await exchange.trader("Ann", "1000 ETH"), await exchange.trader("Bob", "100000 USD")];
  const one = { market: "ETHUSD", base: "1", price: "100" } as const;
  const endings = { filled: 0, cancelled: 0 };
  for (let round = 0; round < 5; round += 1) {
    // Half of them expire before the buyers come, the first one at least, or while they do.
    const sells: OrderId[] = [];
    for (let i = 0; i < 20; i += 1) {
      const expirationDate = ahead(i % 2 === 0 ? 1 + 15 * i : 60_000);
      sells.push(await exchange.place(ann, { ...one, side: "SELL", timeInForce: "GTT", expirationDate }));
    }
    const buys: OrderId[] = [];
    for (let i = 0; i < 20; i += 1) buys.push(await exchange.place(bob, { ...one, side: "BUY", timeInForce: "IOC" }));
    await exchange.untilDone();
    const orders = await Promise.all(sells.map((id) => exchange.order(id)));
    const asked = new Set(orders.filter(({ status }) => status === "OPEN").map(({ id }) => id));
    for (const id of asked) await exchange.askToCancel(id);
    await until("all are closed", async () =>
      (await Promise.all(sells.map((id) => exchange.order(id)))).every(({ closedAt }) => closedAt !== undefined),
    );
    let bought = 0n;
    for (const id of buys) bought += (await exchange.order(id)).filled;
    let sold = 0n;
    for (const id of sells) {
      const { status, filled, closedAt, expirationDate } = await exchange.order(id);
      const executions = await exchange.executions(id);
      expect([status, formatAmount(filled), executions.length]).toEqual(
        status === "FILLED" ? ["FILLED", "1", 1] : ["CANCELLED", "0", 0],
      );
      sold += filled;
      endings[status === "FILLED" ? "filled" : "cancelled"] += 1;
      // No order trades when its time is up, and none is cancelled before.
      const expiry = expirationDate ?? 0;
      for (const { executedAt } of executions) expect(expiry).toBeGreaterThan(executedAt);
      if (status === "CANCELLED" && !asked.has(id)) expect(closedAt).toBeGreaterThanOrEqual(expiry);
    }
    expect(bought).toBe(sold);
  }
  expect(endings.filled).toBeGreaterThan(0);
  expect(endings.cancelled).toBeGreaterThan(0);
  await expectBooksBalance(exchange.db.database);
  await expectOrdersAddUp(exchange.db.database);
});
