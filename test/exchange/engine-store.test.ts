import { afterAll, beforeAll, expect, test } from "vitest";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { deleteCancels, readCancels } from "../../src/exchange/engine/store.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newId } from "../support/movements.ts";

const BTCUSD = "BTCUSD" as MarketCode;

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

test("cancels that are done are deleted, and none that still wait", async () => {
  const [profile, another, order] = [newId(), newId(), newId()];
  const requested = [
    [profile, order],
    [profile, newId()],
    [another, order],
    [another, newId()],
  ];
  for (const [seconds, [profileId, orderId]] of requested.entries())
    await db.owner.rows(
      "insert into order_cancel (profile_id, order_id, market, requested_at) values ($1, $2, $3, to_timestamp($4))",
      [profileId, orderId, BTCUSD, seconds],
    );
  const cancels = await readCancels(db.database, BTCUSD, 10);
  expect(cancels.map(({ profileId, orderId }) => [profileId, orderId])).toEqual(requested);
  await deleteCancels(db.database, cancels.slice(0, 1));
  expect(await readCancels(db.database, BTCUSD, 10)).toEqual(cancels.slice(1));
});
