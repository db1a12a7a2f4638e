/** What is known of the ledger, as numbers: each under its own name and in its own unit. */
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readSettlementBacklog } from "../../src/conversions/settlement-backlog.ts";
import { readEngineLags } from "../../src/exchange/market-status/engine-lag.ts";
import { type HouseName, houseOf, houseOwnerId } from "../../src/ledger/house-accounts.ts";
import { readOutstandingSupply } from "../../src/ledger/outstanding-supply.ts";
import { readDatabaseTime } from "../../src/ledger/writer/lane-connection.ts";
import { sqlTime } from "../../src/postgres/database.ts";
import type { Instant } from "../../src/std/clock.ts";
import { IdSource } from "../../src/std/id.ts";
import { addDatabaseMetrics } from "../../src/telemetry/metrics/database.ts";
import type { DatabaseSnapshot, DatabaseWatch } from "../../src/telemetry/metrics/database-watch.ts";
import { readSnapshot } from "../../src/telemetry/metrics/read-snapshot.ts";
import { readDeliveryLag } from "../../src/webhooks/delivery-lag.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { copyOpenOrders } from "../support/exchange/open-orders.ts";
import { ledgerClock } from "../support/movements.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

const SEEN = {
  backing: [
    { coin: "PYUSD", reserve: "30.5", supply: "20.25", gap: "10.25" },
    { coin: "USDG", reserve: "7", supply: "7", gap: "0" },
  ],
  due: { count: 7, lagMs: 2_500 },
  markets: [
    { market: "BTCUSD", status: "OPEN", holder: "node 1", orderLagMs: 1_500, cancelLagMs: 250 },
    { market: "ETHUSD", status: "HALTED", holder: undefined, orderLagMs: 0, cancelLagMs: 0 },
  ],
  eventLagMs: 750,
  webhooks: { lagMs: 1_250, failing: 2, failingMs: 90_000, open: { RETRYING: 3, BLOCKED: 40, UNDELIVERED: 1 } },
  clockSkewMs: -125,
  archiveFailing: true,
} as unknown as DatabaseSnapshot;

async function served(snapshot: DatabaseSnapshot | undefined): Promise<string[]> {
  const registry = new Registry();
  addDatabaseMetrics(registry, { snapshot } as DatabaseWatch);
  return (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

test("every number is served under its name, in seconds and dollars", async () => {
  expect(await served(SEEN)).toEqual([
    "parbook_database_up 1",
    "parbook_database_clock_skew_seconds -0.125",
    "parbook_wal_archive_failing 1",
    'parbook_reserve_usd{asset="PYUSD"} 30.5',
    'parbook_reserve_usd{asset="USDG"} 7',
    'parbook_supply_usd{asset="PYUSD"} 20.25',
    'parbook_supply_usd{asset="USDG"} 7',
    'parbook_reserve_minus_supply_usd{asset="PYUSD"} 10.25',
    'parbook_reserve_minus_supply_usd{asset="USDG"} 0',
    "parbook_settlement_due_conversions 7",
    "parbook_settlement_lag_seconds 2.5",
    "parbook_event_lag_seconds 0.75",
    "parbook_webhook_lag_seconds 1.25",
    "parbook_webhooks_failing 2",
    "parbook_webhook_failing_seconds 90",
    'parbook_webhook_open_deliveries{status="RETRYING"} 3',
    'parbook_webhook_open_deliveries{status="BLOCKED"} 40',
    'parbook_webhook_open_deliveries{status="UNDELIVERED"} 1',
    'parbook_market_order_lag_seconds{market="BTCUSD"} 1.5',
    'parbook_market_order_lag_seconds{market="ETHUSD"} 0',
    'parbook_market_cancel_lag_seconds{market="BTCUSD"} 0.25',
    'parbook_market_cancel_lag_seconds{market="ETHUSD"} 0',
    'parbook_market_open{market="BTCUSD"} 1',
    'parbook_market_open{market="ETHUSD"} 0',
    'parbook_market_served{market="BTCUSD"} 1',
    'parbook_market_served{market="ETHUSD"} 0',
    'parbook_market_engine_info{market="BTCUSD",holder="node 1"} 1',
  ]);
});

test("of a database that is away nothing is served but that", async () => {
  expect(await served(undefined)).toEqual(["parbook_database_up 0"]);
});

test("whether archiving fails is 1 or 0, and missing without an archive", async () => {
  const failing = async (archiveFailing: boolean | undefined): Promise<string[]> =>
    (await served({ ...SEEN, archiveFailing })).filter((line) => line.startsWith("parbook_wal_archive_failing"));
  expect(await failing(true)).toEqual(["parbook_wal_archive_failing 1"]);
  expect(await failing(false)).toEqual(["parbook_wal_archive_failing 0"]);
  expect(await failing(undefined)).toEqual([]);
});

test("conversions are due since their delay was over, and closed ones are not; 10,000 are counted, the oldest first", async () => {
  expect(await readSettlementBacklog(db.database, 60_000)).toEqual({ count: 0, lagMs: 0 });
  const insert = (rows: string) =>
    db.owner.rows(
      `insert into conversion (profile_id, id, customer_id, source_asset, target_asset, amount, status, created_at, updated_at,
                             cancelled_at, version, slot, batch)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'USD', 'USDG', 1, status::conversion_status,
            now() - age::interval, now(), case status when 'CANCELLED' then now() end, case status when 'CANCELLED' then 2 else 1 end, 1, 1
       from (${rows}) as v (status, age)`,
    );
  const expectDue = async (expected: number) => {
    const { count, lagMs } = await readSettlementBacklog(db.database, 60_000);
    expect(count).toBe(expected);
    expect(lagMs).toBeGreaterThanOrEqual(40_000);
    expect(lagMs).toBeLessThan(60_000);
  };
  await insert("values ('CREATED', '100 s'), ('CREATED', '90 s'), ('CREATED', '30 s'), ('CANCELLED', '500 s')");
  await expectDue(2);
  await insert("select 'CREATED', '70 s' from generate_series(1, 9999)");
  await expectDue(10_000);
});

test("the clock's skew is that of the database before this machine's", async () => {
  const skew = async (aheadMs: number): Promise<number> => {
    const clock = ledgerClock({ clock: { now: () => (Date.now() + aheadMs) as Instant } });
    await clock.measure(() => readDatabaseTime(db.database));
    return (await readSnapshot(db.database, clock, 0)).clockSkewMs;
  };
  const [behind, ahead] = [await skew(-60_000), await skew(60_000)];
  expect([behind, ahead].map((ms) => Math.round(ms / 30_000))).toEqual([2, -2]);
});

test("a coin of which nothing was issued is backed by nothing", async () => {
  const nothing = { reserve: "0", supply: "0", gap: "0" };
  const coins = ["PYUSD", "USDG", "USDP"].map((coin) => ({ coin, ...nothing }));
  expect(await readOutstandingSupply(db.database)).toEqual(coins);
});

test("each coin has its own reserve and supply, whatever is wrong with them", async () => {
  const house = (name: HouseName, asset: string, slot: number, available: string) => {
    const { house, coin, custodian } = houseOf(name) ?? expect.fail(name);
    const owner = houseOwnerId(name, slot);
    return db.owner.rows(
      `insert into account (owner_id, asset, house, coin, custodian, may_be_negative, available, trading, pending, at, last_deactivation, version)
       values ($1, $2, $3, $4, $5, true, $6, 0, 0, now(), 0, 1)`,
      [owner, asset, house, coin, custodian, available],
    );
  };
  // More burnt than was ever issued; a reserve in two slots; one too small, made up for by one of what is no stablecoin.
  await house("issuance", "USDG", 1, "5");
  await house("issuance", "PYUSD", 1, "-20.5");
  await house("reserve:PYUSD:default", "USD", 1, "30");
  await house("reserve:PYUSD:default", "USD", 2, "-9.5");
  await house("issuance", "USDP", 1, "-3");
  await house("reserve:USDP:default", "USD", 1, "1");
  await house("reserve:USDP:elsewhere", "USD", 1, "1.25");
  await house("reserve:BTC:default", "USD", 1, "0.75");
  // What backs nothing: a reserve that is not in USD, and USD that are in none.
  await house("reserve:PYUSD:default", "USDG", 1, "7");
  await house("world", "USD", 1, "-4");
  expect(await readOutstandingSupply(db.database)).toEqual([
    { coin: "BTC", reserve: "0.75", supply: "0", gap: "0.75" },
    { coin: "PYUSD", reserve: "20.5", supply: "20.5", gap: "0" },
    { coin: "USDG", reserve: "0", supply: "-5", gap: "5" },
    { coin: "USDP", reserve: "2.25", supply: "3", gap: "-0.75" },
  ]);
});

test("a market's lags are those of its oldest pending order and cancel, and its holder has a live lease", async () => {
  await db.owner.rows(
    `insert into orders (profile_id, id, customer_id, market, side, type, time_in_force, base_amount, price, taker_rate,
                         maker_rebate, created_at, status, sequence, priority, filled, filled_gross, held, is_triggered,
                         updated_at, version, slot, batch)
     select gen_random_uuid(), ('00000000-0000-7000-8000-' || lpad((1000 - extract(epoch from age::interval))::int::text, 12, '0'))::uuid,
            gen_random_uuid(), 'BTCUSD', 'SELL', 'LIMIT', 'GTC', 1, 1, 0, 0, now() - age::interval, status::order_status, place, place, 0, 0, 1, false, now(), 1, 1, 1
       from (values ('PENDING_SUBMISSION', '100 s', null), ('PENDING_SUBMISSION', '50 s', null), ('OPEN', '500 s', 1)) as v (status, age, place)`,
  );
  await copyOpenOrders(db.owner);
  await db.owner.rows(
    `insert into order_cancel (profile_id, order_id, market, requested_at)
     select gen_random_uuid(), gen_random_uuid(), 'BTCUSD', now() - age::interval from (values ('200 s'), ('10 s')) as v (age)`,
  );
  await db.owner.rows(
    `insert into lease (name, holder, fence, expires_at)
     values ('market/BTCUSD', 'node 1', 1, now() + interval '10 s'), ('market/ETHUSD', 'node 2', 1, now() - interval '1 s'),
            ('market/LTCUSD', 'node 3', 1, now() + interval '1 hour')`,
  );
  const queues = await readEngineLags(db.database);
  const [btc, eth, ltc] = ["BTCUSD", "ETHUSD", "LTCUSD"].map((code) => queues.find(({ market }) => market === code));
  expect(btc).toMatchObject({ status: "OPEN", holder: "node 1" });
  expect([btc?.orderLagMs ?? 0, btc?.cancelLagMs ?? 0].map((ms) => Math.floor(ms / 25_000))).toEqual([4, 8]);
  expect(eth).toEqual({ market: "ETHUSD", status: "OPEN", holder: undefined, orderLagMs: 0, cancelLagMs: 0 });
  // Renewed while the database's clock was ahead: anybody may take it.
  expect(ltc?.holder).toBeUndefined();
});

test("webhooks lag by their oldest event that was not posted; those that fail are counted apart", async () => {
  expect(await readDeliveryLag(db.database)).toEqual({
    ...{ lagMs: 0, failing: 0, failingMs: 0 },
    open: { RETRYING: 0, BLOCKED: 0, UNDELIVERED: 0 },
  });
  const ids = new IdSource();
  const ago = (seconds: number) => sqlTime((Date.now() - seconds * 1_000) as Instant);
  const customer = ids.next();
  await db.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [customer]);
  for (const [first, cut, seconds] of [
    [1, 1, 400],
    [4, 2, 300],
    [6, 3, 200],
  ]) {
    await db.owner.rows(
      `insert into event (customer_id, first_number, cut, at, count, entries) values ($1, $2, $3, $4, $5, '[]')`,
      [customer, first, cut, ago(seconds ?? 0), first === 1 ? 3 : 2],
    );
  }
  const webhook = async (name: string, readTo: number, failing: number | undefined, place: number | null) => {
    const id = ids.next();
    await db.owner.rows(
      `insert into webhook (id, customer_id, name, url, types, body, delivery_order, deliveries_per_second, active_place,
                            disabled_reason, disabled_at, created_at, updated_at, version)
       values ($1, $2, $3, 'https://acme.example', '{*}', 'thin', 'per_object', 10, $4::smallint,
               case when $4::smallint is null then 'customer' end, case when $4::smallint is null then now() end, now(), now(), 1)`,
      [id, customer, name, place],
    );
    await db.owner.rows(
      `insert into webhook_progress (webhook_id, customer_id, read_to, failing_since, version) values ($1, $2, $3, $4, 1)`,
      [id, customer, readTo, failing === undefined ? null : ago(failing)],
    );
    return id;
  };
  await webhook("has everything", 7, undefined, 1);
  expect(await readDeliveryLag(db.database)).toMatchObject({ lagMs: 0 });
  await webhook("in the middle of a row", 4, undefined, 2);
  await webhook("disabled", 0, undefined, null);
  const failing = await webhook("failing", 0, 1_000, 3);
  await db.owner.rows(
    `insert into webhook_delivery (webhook_id, number, customer_id, object_id, status, attempts, next_attempt_at, created_at, updated_at)
     select $1, number, $2, 'x', status, 1, case status when 'RETRYING' then now() end, now(), now()
       from (values (1, 'UNDELIVERED'), (2, 'RETRYING'), (3, 'BLOCKED'), (4, 'BLOCKED')) as v (number, status)`,
    [failing, customer],
  );
  const { lagMs, failingMs, ...counted } = await readDeliveryLag(db.database);
  expect([lagMs, failingMs].map((ms) => Math.round(ms / 100_000))).toEqual([3, 10]);
  const open = { RETRYING: 1, BLOCKED: 2, UNDELIVERED: 1 };
  expect(counted).toEqual({ failing: 1, open });
  // What it failed at was given up, and nothing was tried since.
  const at = (days: number) =>
    db.owner.rows("update webhook_progress set last_failure_at = $2 where webhook_id = $1", [
      failing,
      ago(days * 86_400),
    ]);
  await db.owner.rows(
    "update webhook_delivery set status = 'UNDELIVERED', next_attempt_at = null where status <> 'UNDELIVERED'",
  );
  await at(1.9);
  expect(await readDeliveryLag(db.database)).toMatchObject({ failing: 1 });
  await at(2.1);
  expect(await readDeliveryLag(db.database)).toMatchObject({ failing: 0, failingMs: 0 });
  // Nothing is posted while the customer is disabled, and no node can change that.
  await db.owner.rows("update customer set disabled_at = now() where id = $1", [customer]);
  expect(await readDeliveryLag(db.database)).toEqual({
    lagMs: 0,
    failing: 0,
    failingMs: 0,
    open: { RETRYING: 0, BLOCKED: 0, UNDELIVERED: 4 },
  });
});
