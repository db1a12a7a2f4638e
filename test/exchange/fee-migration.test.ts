/** The migration that brought tiers, on a database that was traded on with one pair of rates per market. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { loadCatalogue } from "../../src/catalogue/catalogue.ts";
import type { ExecutionId } from "../../src/exchange/execution.ts";
import { nextMatchId } from "../../src/exchange/execution-id.ts";
import { formatAmount } from "../../src/money/amount.ts";
import { Database } from "../../src/postgres/database.ts";
import type { Instant } from "../../src/std/clock.ts";

const NAME = `parbook_fee_migration_${process.pid}`;
const [ACME, GLOBEX] = ["0190d5a4-0000-7000-8000-000000000001", "0190d5a4-0000-7000-8000-000000000002"];

let admin: Database;
let old: Database;
const open = (database: string): Database =>
  new Database({ connection: { ...inject("owner"), database }, maxConnections: 2, onIdleError: () => undefined });
const apply = async (migration: string): Promise<void> => {
  const text = await readFile(new URL(`../../migrations/${migration}`, import.meta.url), "utf8");
  await old.transaction((transaction) => transaction.rows(text));
};

beforeAll(async () => {
  admin = open("postgres");
  await admin.rows(`create database ${NAME} template template0`);
  old = open(NAME);
  await apply("0001-core.sql");
});
afterAll(async () => {
  await old.close();
  await admin.rows(`drop database ${NAME} with (force)`);
  await admin.close();
});

test("a market keeps its rates as its first tier, and what was traded is counted by customer, day and market", async () => {
  await old.rows("insert into asset values ('USD', 'fiat', 2), ('BTC', 'crypto', 8), ('ETH', 'crypto', 8)");
  await old.rows(
    `insert into market (code, number, base, quote, price_decimals, base_decimals, tick, min_base_amount, max_base_amount,
                         min_quote_amount, max_quote_amount, max_notional_value, taker_rate, maker_rebate, status, seq)
     select code, number, base, 'USD', 6, 8, 1, 1, 100, 1, 1000, 1000, taker, rebate, 'OPEN', 1
       from (values ('BTCUSD', 1, 'BTC', 0.002, 0.001), ('ETHUSD', 2, 'ETH', 0.0035, 0)) as k(code, number, base, taker, rebate)`,
  );
  const trade = async (at: string, market: string, number: number, price: string): Promise<void> => {
    const maker = nextMatchId(0n as ExecutionId, number, Date.parse(at) as Instant);
    await old.rows(
      `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                              executed_at, slot, batch)
       select customer, id, customer, customer, $3, 'BUY', 0.5, $4, 0, 0, $5, 1, 1
         from unnest($1::uuid[], $2::bigint[]) as k(customer, id)`,
      [[ACME, GLOBEX], [maker, maker + 1n], market, price, at],
    );
  };
  await trade("2026-01-31T23:59:59.999Z", "BTCUSD", 1, "100.5");
  await trade("2026-02-01T00:00:00.000Z", "BTCUSD", 1, "100.5");
  await trade("2026-02-01T12:00:00.000Z", "BTCUSD", 1, "0.25");
  await trade("2026-02-01T12:00:00.000Z", "ETHUSD", 2, "7");

  await apply("0002-fee-tiers.sql");

  const catalogue = await loadCatalogue(old);
  const tiers = catalogue
    .listMarkets()
    .map(({ code, feeTiers }) => [code, feeTiers.map((tier) => Object.values(tier).map(formatAmount))]);
  expect(tiers).toEqual([
    ["BTCUSD", [["0", "0.002", "0.001"]]],
    ["ETHUSD", [["0", "0.0035", "0"]]],
  ]);
  catalogue.close();
  const days = await old.rows(
    "select customer_id, day, market, trim_scale(gross) as gross, seq, batch from traded_day order by 1, 2, 3",
  );
  const counted = [
    { day: "2026-01-31", market: "BTCUSD", gross: "50.25" },
    { day: "2026-02-01", market: "BTCUSD", gross: "50.375" },
    { day: "2026-02-01", market: "ETHUSD", gross: "3.5" },
  ];
  expect(days).toEqual(
    [ACME, GLOBEX].flatMap((customer_id) => counted.map((day) => ({ customer_id, ...day, seq: "1", batch: null }))),
  );
});
