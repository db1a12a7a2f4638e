import { afterAll, beforeAll, expect, test } from "vitest";
import { type Market, type MarketCode, marketOf } from "../../src/catalogue/market.ts";
import {
  deleteCancels,
  eachOpenOrder,
  eachSubmittedOrder,
  findOldestWork,
  type OpenOrder,
  readBacklog,
  readCancels,
} from "../../src/exchange/engine/store.ts";
import type { Instant } from "../../src/std/clock.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { BTCUSD_ROW } from "../support/exchange/btcusd.ts";
import { copyOpenOrders } from "../support/exchange/open-orders.ts";
import { newId } from "../support/movements.ts";

const BTCUSD = "BTCUSD" as MarketCode;
const ETHUSD = "ETHUSD" as MarketCode;
const [PROFILE, CUSTOMER, RECIPIENT] = [newId(), newId(), newId()];

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

const askToCancel = (profileId: string, orderId: string, second: number, market = BTCUSD) =>
  db.owner.rows(
    "insert into order_cancel (profile_id, order_id, market, requested_at) values ($1, $2, $3, to_timestamp($4))",
    [profileId, orderId, market, second],
  );

test("cancels that are done are deleted, and none that still wait", async () => {
  const [profile, another, order] = [newId(), newId(), newId()];
  const requested = [
    [profile, order],
    [profile, newId()],
    [another, order],
    [another, newId()],
  ] as const;
  const ofEthusd = newId();
  await askToCancel(profile, ofEthusd, 2, ETHUSD);
  for (const [second, [profileId, orderId]] of [...requested.entries()].toReversed())
    await askToCancel(profileId, orderId, second);
  const cancels = await readCancels(db.database, BTCUSD, 10);
  expect(cancels.map(({ profileId, orderId }) => [profileId, orderId])).toEqual(requested);
  expect(await readCancels(db.database, BTCUSD, 2)).toEqual(cancels.slice(0, 2));
  const elsewhere = await readCancels(db.database, ETHUSD, 10);
  expect(elsewhere.map(({ orderId }) => orderId)).toEqual([ofEthusd]);
  await deleteCancels(db.database, cancels.slice(0, 1));
  expect(await readCancels(db.database, BTCUSD, 10)).toEqual(cancels.slice(1));
  await deleteCancels(db.database, [...cancels, ...elsewhere]);
});

interface StoredOrder {
  readonly market?: MarketCode;
  readonly n: number;
  readonly status: "PENDING_SUBMISSION" | "OPEN" | "SUBMITTED";
  readonly priority?: number;
  readonly recipient?: string;
  readonly expiration?: number;
}

const idOf = (n: number): string => `0190d5a4-0000-7000-8000-${String(n).padStart(12, "0")}`;

/** An order for 2, of which 0.5 are filled if it rests, that was placed in the second that is its number. */
const store = ({ market = BTCUSD, n, status, priority, recipient, expiration }: StoredOrder) =>
  db.owner.rows(
    `insert into orders (profile_id, id, customer_id, market, side, type, time_in_force, base_amount, price, stop_price,
                         expiration_date, recipient_profile_id, taker_rate, maker_rebate, created_at, status, sequence, priority,
                         filled, filled_gross, held, is_triggered, updated_at, version, slot, batch)
     values ($1, $2, $3, $4, 'SELL', case $5 when 'SUBMITTED' then 'STOP_LIMIT' else 'LIMIT' end::order_type,
             case when $8::float8 is null then 'GTC' else 'GTT' end::time_in_force, 2, 25000.25,
             case $5 when 'SUBMITTED' then 1 end, to_timestamp($8::float8), $7::uuid, 0, 0, to_timestamp($6::float8), $5::order_status,
             case $5 when 'PENDING_SUBMISSION' then null else 1 end, $9::bigint, case $5 when 'OPEN' then 0.5 else 0 end,
             0, 1, false, to_timestamp($6::float8), 3, 1, 1)`,
    [PROFILE, idOf(n), CUSTOMER, market, status, n, recipient, expiration, priority],
  );

test("an engine reads what is of its market, the oldest first", async () => {
  for (const n of [40, 20, 30]) await store({ n, status: "PENDING_SUBMISSION" });
  await store({ n: 10, status: "PENDING_SUBMISSION", market: ETHUSD });
  await store({ n: 3, status: "OPEN", priority: 7, recipient: RECIPIENT, expiration: 2_000_000_000 });
  await store({ n: 1, status: "OPEN", priority: 9 });
  await store({ n: 2, status: "OPEN", priority: 8 });
  await store({ n: 4, status: "SUBMITTED" });
  await store({ n: 5, status: "OPEN", priority: 1, market: ETHUSD });
  await store({ n: 6, status: "SUBMITTED", market: ETHUSD });
  await copyOpenOrders(db.owner);

  const pending = async (market: MarketCode, limit: number) => {
    const { status, orders, hasCancels } = await readBacklog(db.database, market, limit);
    return [status, orders.map(({ id }) => id), hasCancels];
  };
  expect(await pending(BTCUSD, 10)).toEqual(["OPEN", [20, 30, 40].map(idOf), false]);
  expect(await pending(BTCUSD, 2)).toEqual(["OPEN", [20, 30].map(idOf), false]);
  expect(await pending("LTCUSD" as MarketCode, 10)).toEqual(["OPEN", [], false]);

  const found = () => findOldestWork(db.database, [BTCUSD, ETHUSD, "LTCUSD" as MarketCode]);
  const seconds = (at: number) => (at * 1_000) as Instant;
  const orders: [MarketCode, Instant][] = [
    [BTCUSD, seconds(20)],
    [ETHUSD, seconds(10)],
  ];
  expect(await found()).toEqual(new Map(orders));
  for (const second of [45, 15, 35]) await askToCancel(PROFILE, idOf(second), second);
  await askToCancel(PROFILE, idOf(5), 12, ETHUSD);
  await askToCancel(PROFILE, idOf(7), 7, "LTCUSD" as MarketCode);
  expect(await found()).toEqual(
    new Map([[BTCUSD, seconds(15)], orders[1] as [MarketCode, Instant], ["LTCUSD" as MarketCode, seconds(7)]]),
  );
  expect((await pending(BTCUSD, 1)).at(-1)).toBe(true);
  expect((await pending("BCHUSD" as MarketCode, 1)).at(-1)).toBe(false);

  const market: Market = marketOf({ ...BTCUSD_ROW, price_decimals: 2, base_decimals: 4 }, []);
  const open: OpenOrder[] = [];
  await eachOpenOrder(db.database, market, (order) => open.push(order));
  const common = {
    profileId: PROFILE,
    customerId: CUSTOMER,
    side: "SELL",
    price: 2_500_025,
    lots: 15_000,
    version: 3n,
  };
  const simple = { ...common, recipientProfileId: undefined, expirationDate: undefined };
  expect(open).toEqual([
    { ...common, id: idOf(3), priority: 7, recipientProfileId: RECIPIENT, expirationDate: seconds(2_000_000_000) },
    { ...simple, id: idOf(2), priority: 8 },
    { ...simple, id: idOf(1), priority: 9 },
  ]);
  const stops: string[] = [];
  await eachSubmittedOrder(db.database, BTCUSD, ({ id }) => stops.push(id));
  expect(stops).toEqual([idOf(4)]);
});
