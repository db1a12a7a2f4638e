/** Which rows of deliveries are read, written and removed, among those of other webhooks and customers. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { WebhookId } from "../../src/customers/webhooks/webhook.ts";
import type { Instant } from "../../src/std/clock.ts";
import type { Uuid } from "../../src/std/id.ts";
import { readBacklogs } from "../../src/webhooks/backlog.ts";
import {
  claimProgress,
  countUndelivered,
  findStale,
  forgetFailing,
  giveUpRows,
  isStopped,
  listAttempts,
  listCustomersWithUndelivered,
  lockProgress,
  raiseVersion,
  readOpenRows,
  removeRowsBehindPlace,
  removeRowsFrom,
  removeRowsOfDeleted,
  removeUndeliveredBefore,
  retryNow,
  retryUndelivered,
  type StoredProgress,
  setPlace,
  writeChanges,
} from "../../src/webhooks/store.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

const uuid = (place: number) => `0190d5a4-0000-7000-8000-00000000000${place}` as Uuid;
const [ACME, BETA] = [uuid(1), uuid(2)] as [Uuid & CustomerId, Uuid & CustomerId];
const [ONE, TWO, ODD] = [uuid(3), uuid(4), uuid(5)] as [WebhookId, WebhookId, WebhookId];
const NOW = Date.parse("2026-11-21T09:00:00.000Z") as Instant;

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await db.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now()), ($2, 'Beta', now())", [
    ACME,
    BETA,
  ]);
});
beforeEach(async () => {
  await db.owner.rows("truncate event, webhook cascade");
  await db.owner.rows(
    `insert into webhook (id, customer_id, name, url, types, body, delivery_order, deliveries_per_second, active_place,
                          created_at, updated_at, version)
     select id::uuid, customer_id::uuid, name, 'https://a.example', '{*}', 'thin', 'strict', 1, place, now(), now(), 1
       from (values ($3, $1, 'one', 1), ($4, $1, 'two', 2), ($5, $2, 'odd', 1)) as v (id, customer_id, name, place)`,
    [ACME, BETA, ONE, TWO, ODD],
  );
  await db.owner.rows(
    `insert into webhook_progress (webhook_id, customer_id, read_to, failing_since, version)
     select id, customer_id, case name when 'two' then 2 else 4 end, to_timestamp(1), 1 from webhook`,
  );
  await db.owner.rows(
    `insert into webhook_delivery (webhook_id, number, customer_id, object_id, status, attempts, next_attempt_at, created_at,
                                   updated_at)
     select w.id, v.number, w.customer_id, 'x', v.status, 3, case v.status when 'RETRYING' then to_timestamp($1) end,
            to_timestamp(0), to_timestamp(0)
       from (values ('one', 1, 'RETRYING'), ('one', 2, 'UNDELIVERED'), ('one', 3, 'BLOCKED'), ('one', 5, 'UNDELIVERED'),
                    ('two', 2, 'UNDELIVERED'), ('two', 6, 'RETRYING'),
                    ('odd', 1, 'UNDELIVERED'), ('odd', 2, 'UNDELIVERED'), ('odd', 5, 'RETRYING')) as v (name, number, status)
            join webhook w using (name)`,
    [NOW / 1_000 + 60],
  );
});
afterAll(() => db.close());

/** All that is stored of deliveries: "webhook number status attempts". */
async function deliveries(): Promise<string[]> {
  const rows = await db.database.rows<{ text: string }>(
    `select concat_ws(' ', w.name, d.number, d.status, d.attempts, extract(epoch from d.next_attempt_at)::bigint - $1::bigint) as text
       from webhook_delivery d join webhook w on w.id = d.webhook_id order by w.id, d.number`,
    [NOW / 1_000],
  );
  return rows.map(({ text }) => text);
}

const STORED = [
  ...["one 1 RETRYING 3 60", "one 2 UNDELIVERED 3", "one 3 BLOCKED 3", "one 5 UNDELIVERED 3"],
  ...["two 2 UNDELIVERED 3", "two 6 RETRYING 3 60"],
  ...["odd 1 UNDELIVERED 3", "odd 2 UNDELIVERED 3", "odd 5 RETRYING 3 60"],
];
const without = (...removed: string[]) => STORED.filter((row) => !removed.includes(row));
const OF_OTHERS = STORED.slice(4);

/** "webhook read_to version", with an exclamation mark while it fails. */
async function places(): Promise<string[]> {
  const rows = await db.database.rows<{ text: string }>(
    `select concat_ws(' ', w.name, p.read_to, p.version, case when p.failing_since is not null then '!' end) as text
       from webhook_progress p join webhook w on w.id = p.webhook_id order by w.id`,
  );
  return rows.map(({ text }) => text);
}

test("open are those that are tried again or blocked, and of a batch behind the place those that were given up", async () => {
  const open = await readOpenRows(db.database, [ONE, TWO]);
  const numbers = [...open].map(([id, rows]) => [id, rows.map(({ number }) => number).sort()]);
  expect(numbers).toEqual([
    [ONE, [1n, 3n, 5n]],
    [TWO, [6n]],
  ]);
  const stopped = (webhookId: WebhookId, readTo: bigint) =>
    isStopped(db.database, { webhookId, readTo } as Partial<StoredProgress> as StoredProgress);
  expect([await stopped(ONE, 4n), await stopped(ONE, 5n), await stopped(TWO, 4n)]).toEqual([true, false, false]);
});

test("rows are removed behind a webhook's own place, or from a number on", async () => {
  await removeRowsBehindPlace(db.database.commits, [ONE, TWO]);
  const behind = ["one 5 UNDELIVERED 3", "two 6 RETRYING 3 60"];
  expect(await deliveries()).toEqual(without(...behind));
  await removeRowsFrom(db.database.commits, ONE, 2n);
  expect(await deliveries()).toEqual(without(...behind, "one 2 UNDELIVERED 3", "one 3 BLOCKED 3"));
});

test("a webhook that gives up leaves the others to try on", async () => {
  await giveUpRows(db.database.commits, ONE, NOW);
  expect(await deliveries()).toEqual([
    ...["one 1 UNDELIVERED 3", "one 2 UNDELIVERED 3", "one 3 UNDELIVERED 3", "one 5 UNDELIVERED 3"],
    ...OF_OTHERS,
  ]);
  const written = await db.database.rows(
    "select number from webhook_delivery where updated_at > to_timestamp(0) order by number",
  );
  expect(written).toEqual([{ number: "1" }, { number: "3" }]);
});

test("a webhook tries now what waits, and again the first of what it gave up", async () => {
  expect(await retryNow(db.database.commits, ONE, NOW)).toBe(1);
  const [, given, ...others] = STORED;
  expect(await retryNow(db.database.commits, ONE, (NOW + 10_000) as Instant)).toBe(1);
  expect(await deliveries()).toEqual(["one 1 RETRYING 0 0", given, ...others]);
  expect(await retryUndelivered(db.database.commits, ONE, NOW, 1)).toBe(1);
  expect(await deliveries()).toEqual(["one 1 RETRYING 0 0", "one 2 RETRYING 0 0", ...others]);
});

test("what was given up is counted for its customer, event by event", async () => {
  const counted = await countUndelivered(db.database, ACME, [1n, 2n, 3n]);
  expect(counted).toEqual(new Map([[2n, 2]]));
  expect((await listCustomersWithUndelivered(db.database)).sort()).toEqual([ACME, BETA]);
});

test("what was given up of events that are no longer kept is removed, for one customer and in this history", async () => {
  const { commits, history } = db.database;
  await removeUndeliveredBefore(commits, "another", ACME, 5n);
  expect(await deliveries()).toEqual(STORED);
  await removeUndeliveredBefore(commits, history, ACME, 5n);
  expect(await deliveries()).toEqual(without("one 2 UNDELIVERED 3", "two 2 UNDELIVERED 3"));
  await removeUndeliveredBefore(commits, history, BETA, 9n);
  expect(await listCustomersWithUndelivered(db.database)).toEqual([ACME]);
});

test("rows of a deleted webhook are removed, at most so many at once", async () => {
  await db.owner.rows("update webhook set deleted_at = now(), active_place = null where name = 'odd'");
  expect(await removeRowsOfDeleted(db.database.commits, 2)).toBe(2);
  expect(await removeRowsOfDeleted(db.database.commits, 2)).toBe(1);
  expect(await deliveries()).toEqual(STORED.slice(0, 6));
});

test("a webhook is claimed under one lease, and its version is raised for its customer only", async () => {
  const lease = { name: "webhooks", holder: "here", fence: 7n };
  const { history } = db.database;
  const others = [
    { ...lease, name: "another" },
    { ...lease, holder: "there" },
    { ...lease, fence: 8n },
  ];
  for (const { name, holder, fence } of others) {
    await db.owner.rows("truncate lease");
    const held = [name, holder, fence];
    await db.owner.rows("insert into lease (name, holder, fence, expires_at) values ($1, $2, $3, now())", held);
    expect(await claimProgress(db.database.commits, { lease, history }, [{ id: ONE, version: 1n }])).toEqual([]);
  }
  await db.owner.rows("update lease set fence = 7");
  const [claimed, ...more] = await claimProgress(db.database.commits, { lease, history }, [{ id: ONE, version: 1n }]);
  expect([claimed?.webhookId, claimed?.version, more]).toEqual([ONE, 2n, []]);
  await expect(lockProgress(db.database.commits, BETA, ONE)).rejects.toThrow();
  expect(await lockProgress(db.database.commits, ACME, ONE)).toMatchObject({ webhookId: ONE, version: 2n });
  await raiseVersion(db.database.commits, ONE);
  expect(await places()).toEqual(["one 4 3 !", "two 2 1 !", "odd 4 1 !"]);
  const known = new Map([
    [ONE, 3n],
    [TWO, 2n],
  ]);
  expect(await findStale(db.database, known)).toEqual([TWO]);
  await setPlace(db.database.commits, ONE, 2n);
  await forgetFailing(db.database.commits, ONE);
  expect(await places()).toEqual(["one 2 3", "two 2 1 !", "odd 4 1 !"]);
});

test("what was done is written of the webhooks that still have their version", async () => {
  const progress = { readTo: 5n, accepted: [], batchEnd: undefined, failingSince: undefined };
  const at = { lastFailureAt: undefined, lastSuccessAt: NOW };
  const row = { objectId: "x", status: "RETRYING", attempts: 4, nextAttemptAt: NOW, lastError: "no" } as const;
  const done = (webhookId: WebhookId, version: bigint) => ({
    ...{ webhookId, version, progress: { ...progress, ...at } },
    rows: new Map([
      [2n, undefined],
      [6n, { number: 6n, ...row }],
    ]),
  });
  const changes = [done(ONE, 1n), done(TWO, 9n)] as unknown as Parameters<typeof writeChanges>[2];
  expect(await writeChanges(db.database.commits, db.database.history, changes, [], NOW)).toEqual(new Set([ONE]));
  expect(await deliveries()).toEqual([
    ...["one 1 RETRYING 3 60", "one 3 BLOCKED 3", "one 5 UNDELIVERED 3", "one 6 RETRYING 4 0"],
    ...OF_OTHERS,
  ]);
  expect(await places()).toEqual(["one 5 1", "two 2 1 !", "odd 4 1 !"]);
});

test("attempts are the webhook's own, the latest first, up to a limit and before one of them", async () => {
  await db.owner.rows(
    `insert into webhook_attempt (webhook_id, id, message_id, number, events, at, ms, status)
     select w.id, ('0190d5a4-0000-7000-8000-00000000001' || n)::uuid, w.name, n, 1, to_timestamp($1), 5, 200
       from webhook w, generate_series(1, 3) n`,
    [NOW / 1_000],
  );
  const attempt = (number: bigint) => ({
    ...{ webhookId: ONE, id: `0190d5a4-0000-7000-8000-00000000001${number}`, messageId: "one", number },
    ...{ events: 1, at: NOW, ms: 5, status: 200, error: undefined, answer: undefined },
  });
  const list = (before: bigint | undefined, limit: number) =>
    listAttempts(db.database, ONE, { before: before === undefined ? undefined : (attempt(before).id as Uuid), limit });
  expect(await list(undefined, 2)).toEqual([attempt(3n), attempt(2n)]);
  expect(await list(3n, 9)).toEqual([attempt(2n), attempt(1n)]);
});

test("the backlog is of the webhook's own rows and of its customer's events", async () => {
  await db.owner.rows(
    `insert into event (customer_id, first_number, cut, at, count, entries)
     select customer_id::uuid, first_number, 1, to_timestamp($1 + seconds), count, '[]'
       from (values ($2, 1, 2, 1), ($2, 3, 8, 2), ($3, 1, 4, 3), ($3, 5, 20, 4)) as v (customer_id, first_number, count, seconds)`,
    [NOW / 1_000, ACME, BETA],
  );
  const [since, nextAttemptAt] = [(seconds: number) => NOW + seconds * 1_000, NOW + 60_000];
  await retryUndelivered(db.database.commits, ONE, (nextAttemptAt + 1) as Instant, 1);
  expect(await readBacklogs(db.database, [ONE, TWO])).toEqual(
    new Map([
      [ONE, { events: 9, since: since(1), nextAttemptAt }],
      [TWO, { events: 8, since: since(2), nextAttemptAt }],
    ]),
  );
  expect(await readBacklogs(db.database, [ODD])).toEqual(
    new Map([[ODD, { events: 20, since: since(4), nextAttemptAt }]]),
  );
  await giveUpRows(db.database.commits, ODD, NOW);
  await setPlace(db.database.commits, ODD, 24n);
  const none = new Map([[ODD, { events: 0, since: undefined, nextAttemptAt: undefined }]]);
  expect(await readBacklogs(db.database, [ODD])).toEqual(none);
  await db.owner.rows("delete from event");
  await setPlace(db.database.commits, ODD, 0n);
  expect(await readBacklogs(db.database, [ODD])).toEqual(none);
});
