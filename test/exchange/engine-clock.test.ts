/** What becomes of a market whose engine runs where the clock is wrong. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { loadCatalogue } from "../../src/catalogue/catalogue.ts";
import { createEngines } from "../../src/exchange/engine/engines.ts";
import { systemClock } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { startLane } from "../support/movements.ts";
import { until } from "../support/until.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

test("a market moves to a node whose clock is right; a node with a wrong clock does not take it", async () => {
  const catalogue = await loadCatalogue(db.database);
  const listMarkets = () => catalogue.listMarkets().filter(({ code }) => code === "BTCUSD");
  const clocks = [0, 1].map(() => ({ now: () => systemClock.now(), fault: undefined as string | undefined }));
  const nodes = await Promise.all(
    clocks.map(async (clock, i) => {
      const database = db.another();
      const { lane } = await startLane(database, { holder: `node ${i}` });
      const parts = { database, lane, clock, catalogue: { listMarkets }, holder: `node ${i}`, log: () => undefined };
      return { lane, clock, engines: createEngines(parts), rows: vi.spyOn(database, "rows") };
    }),
  );
  const states = () => nodes.map(({ engines }) => engines.report()[0]?.state);
  const [one, two] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
  one.clock.fault = "wrong";
  one.engines.start();
  two.engines.start();
  await until("the second one serves", () => states().join() === "standing_by,serving");
  const asksForMarket = one.rows.mock.calls.filter(([, values]) => values?.[0] === "market/BTCUSD");
  expect(asksForMarket).toEqual([]);
  [one.clock.fault, two.clock.fault] = [undefined, "wrong"];
  for (const { engines } of nodes) engines.wake("BTCUSD" as Parameters<typeof engines.wake>[0]);
  await until("the first one serves", () => states().join() === "serving,standing_by");
  for (const { engines, lane } of nodes) {
    await engines.stop();
    await lane.stop();
  }
  catalogue.close();
  await expectBooksBalance(db.owner);
});
