/**
 * How long a market is unavailable during a failover of its engine: opening a book of many open orders, in wall time
 * and CPU time. The orders are placed through the exchange, with holds, like any others.
 *
 *   node bench/rebuild.mjs [--orders 100000] [--rounds 5]
 *
 * A tenth of them expire at some time, and they rest at 2,000 prices. Database work counts in the wall time only.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { prepare } from "../scripts/prepare.mjs";
import { printTable } from "./report/table.mjs";
import { median } from "./rounds.mjs";

const MARKET = "ETHUSD";
/** The orders of one customer: no more than it may have open. */
const ORDERS_EACH = 10_000;
const CALLER = { operator: "bench", operation: "rebuild" };
/** Placed at once: what waits for the ledger has a bound. */
const AT_ONCE = 1_000;

const { values } = parseArgs({
  options: { orders: { type: "string", default: "100000" }, rounds: { type: "string", default: "5" } },
});
const [orders, rounds] = [values.orders, values.rounds].map(Number);
const CUSTOMERS = Array.from({ length: Math.ceil(orders / ORDERS_EACH) }, (_, number) => customer(number));

await prepare({ tools: true });
const { readConfig } = await import("../dist/service/config/config.js");
const { openCore } = await import("../dist/service/core.js");
const { Engine } = await import("../dist/exchange/engine/engine.js");
const { createLogger } = await import("../dist/service/logger.js");
const { startService } = await import("../dist/main.js");
const { amountOf } = await import("../dist/money/amount.js");

const log = createLogger({ logLevel: "warn" });
const directory = await mkdtemp(join(tmpdir(), "parbook-rebuild-"));
try {
  const bootstrap = join(directory, "rebuild.json");
  await writeFile(bootstrap, JSON.stringify({ customers: CUSTOMERS }));
  const config = readConfig({
    PARBOOK_DATA_DIR: directory,
    PARBOOK_BOOTSTRAP: bootstrap,
    PARBOOK_PORT: "0",
    PARBOOK_AUTH_PORT: "0",
  });
  await fill(config);
  const opened = await measure(config);
  report(opened);
} finally {
  await rm(directory, { recursive: true, force: true });
}

function customer(number) {
  const balances = { USD: "100000000", ETH: "1000000" };
  const profiles = [{ id: uuidOf(4, number), nickname: "maker", balances }];
  return { id: uuidOf(1, number), name: `Rebuild ${number}`, clients: [], profiles };
}

function uuidOf(kind, number) {
  return `0190d5a4-1111-7000-800${kind}-${String(number).padStart(12, "0")}`;
}

/** Places the orders and waits until all of them rest. */
async function fill(config) {
  const service = await startService({ config, log });
  for (let placed = 0; placed < orders; placed += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, orders - placed) }, (_, i) => order(placed + i));
    const outcomes = await Promise.all(some.map((one) => service.exchange.place(one, CALLER)));
    const rejected = outcomes.find(({ kind }) => kind !== "done");
    if (rejected !== undefined) throw new Error(`an order was not placed: ${JSON.stringify(rejected)}`);
  }
  for (let waiting = "some"; waiting !== "0"; ) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const query = "select count(*) as waiting from pending_order";
    [{ waiting }] = await service.core.database.rows(query, []);
  }
  await service.stop();
}

function order(number) {
  const side = number % 2 === 0 ? "BUY" : "SELL";
  const cents = 1 + ((number >> 1) % 1_000);
  const price = amountOf((side === "BUY" ? 1_000 - cents / 100 : 1_000 + cents / 100).toFixed(2));
  const expires = number % 10 === 0;
  const { id, profiles } = CUSTOMERS[Math.floor(number / ORDERS_EACH)];
  return {
    customerId: id,
    profileId: profiles[0].id,
    market: MARKET,
    side,
    type: "LIMIT",
    timeInForce: expires ? "GTT" : "GTC",
    baseAmount: amountOf("0.1"),
    price: { amount: price, isExact: true },
    ...(expires && { expirationDate: Date.now() + 86_400_000 + number }),
  };
}

/** Opens the market again and again, each time with an engine that knows nothing. */
async function measure(config) {
  const core = await openCore(config, "serve", log);
  const market = core.catalogue.findMarket(MARKET);
  const results = [];
  try {
    while (results.length < rounds) results.push(await openOnce(core, market));
  } finally {
    await core.close();
  }
  return results;
}

async function openOnce(core, market) {
  const before = process.cpuUsage();
  let tell;
  const event = new Promise((resolve) => {
    tell = resolve;
  });
  const engine = new Engine(() => market, { ...core, leaseMs: 15_000, log: tell, publish: () => undefined });
  engine.start();
  const { kind, orders: count, ms, error } = await event;
  const { user, system } = process.cpuUsage(before);
  await engine.stop();
  if (kind !== "market_opened") throw error ?? new Error(kind);
  return { count, ms, cpuMs: (user + system) / 1_000 };
}

function report(results) {
  const of = (field) => results.map((result) => result[field]);
  printTable(
    [`opening a book of ${results[0].count} orders`, "median", "best", "worst"],
    [
      ["wall time, ms", median(of("ms")), Math.min(...of("ms")), Math.max(...of("ms"))],
      ["CPU time of the process, ms", median(of("cpuMs")), Math.min(...of("cpuMs")), Math.max(...of("cpuMs"))],
    ],
  );
}
