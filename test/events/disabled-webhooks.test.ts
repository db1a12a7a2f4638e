/** That the service disabled a webhook is recorded once for each time, whichever process does it. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { createCustomers } from "../../src/customers/customers.ts";
import { recordDisablings } from "../../src/customers/webhooks/disablings/disablings.ts";
import type { Lane } from "../../src/ledger/writer/lane.ts";
import { systemClock } from "../../src/std/clock.ts";
import { IdSource } from "../../src/std/id.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { disableWebhook } from "../support/disabled-webhooks.ts";
import { startLane, TESTER } from "../support/movements.ts";

const ids = new IdSource();
const customerId = ids.next() as CustomerId;
const webhook = { id: ids.next(), customerId, name: "accounting" };

let db: TestDatabase;
let lane: Lane;
beforeEach(async () => {
  db = await testDatabase();
  ({ lane } = await startLane(db.database));
  await createCustomers({ database: db.database, lane, ids, clock: systemClock }).ensure(customerId, "Acme", TESTER);
});
afterEach(async () => {
  await lane.stop();
  await db.close();
});

const recorded = () =>
  db.database.rows("select id, name, reason, version from webhook_disabling order by customer_id, id");

test("each time that the service disables a webhook is one version of its record", async () => {
  const { database } = db;
  await disableWebhook({ database, lane }, webhook, "failing");
  expect(await recorded()).toEqual([{ id: webhook.id, name: "accounting", reason: "failing", version: "1" }]);
  expect(await recordDisablings({ database, lane })).toEqual([]);
  await disableWebhook({ database, lane }, webhook, "gone");
  expect(await recorded()).toEqual([{ id: webhook.id, name: "accounting", reason: "gone", version: "2" }]);
});

test("two processes that record it at once record it once", async () => {
  const { database } = db;
  const other = await startLane(db.another());
  await Promise.all([
    disableWebhook({ database, lane }, webhook, "gone"),
    recordDisablings({ database, lane }),
    recordDisablings({ database: db.another(), lane: other.lane }),
  ]);
  await other.lane.stop();
  expect(await recorded()).toEqual([{ id: webhook.id, name: "accounting", reason: "gone", version: "1" }]);
});

test("nothing is recorded of a webhook that its customer has disabled, or removed since", async () => {
  const { database } = db;
  await disableWebhook({ database, lane }, webhook, "gone");
  await database.rows("update webhook set disabled_reason = 'customer', disabled_at = now()");
  expect(await recordDisablings({ database, lane })).toEqual([]);
  await database.rows("update webhook set disabled_reason = 'gone', disabled_at = now(), deleted_at = now()");
  expect(await recordDisablings({ database, lane })).toEqual([]);
});

test("however many webhooks the service has disabled, each is recorded", async () => {
  const { database } = db;
  await database.rows(
    `insert into webhook (id, customer_id, name, url, types, body, delivery_order, deliveries_per_second,
                          disabled_reason, disabled_at, created_at, updated_at, version)
     select gen_random_uuid(), $1, 'webhook ' || n, 'https://acme.example/events', '{*}', 'thin', 'per_object', 10,
            'failing', date_trunc('milliseconds', now()), now(), now(), 1 from generate_series(1, 101) n`,
    [customerId],
  );
  expect(await recordDisablings({ database, lane })).toHaveLength(101);
  expect(await recorded()).toHaveLength(101);
});
