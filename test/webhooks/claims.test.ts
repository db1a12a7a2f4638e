/** Who delivers: what is written of webhooks that another process has claimed since. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Webhook } from "../../src/customers/webhooks/webhook.ts";
import { takeLease } from "../../src/postgres/leases.ts";
import type { Instant } from "../../src/std/clock.ts";
import type { Uuid } from "../../src/std/id.ts";
import type { Attempt } from "../../src/webhooks/attempt.ts";
import { WEBHOOKS_LEASE } from "../../src/webhooks/deliveries.ts";
import type { OpenRow } from "../../src/webhooks/queues/delivery-queue.ts";
import { claimProgress, type StoredProgress, writeChanges } from "../../src/webhooks/store.ts";
import { newId, TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import { openSite, type Site } from "./site.ts";

const T0 = Date.parse("2026-11-21T09:30:00Z") as Instant;
const T1 = (T0 + 60_000) as Instant;
const T2 = (T0 + 120_000) as Instant;
const T3 = (T0 + 180_000) as Instant;

let site: Site;
let webhook: Webhook;
let other: Webhook;
beforeEach(async () => {
  site = await openSite();
  webhook = await site.webhook({ url: "https://acme.example" });
  other = await site.webhook({ url: "https://acme.example" });
});
afterEach(() => site.close());

const UNTRIED = { readTo: 0n, accepted: [], batchEnd: undefined };
const NEVER = { failingSince: undefined, lastFailureAt: undefined, lastSuccessAt: undefined };
const TRIED = { readTo: 3n, accepted: [5n, 7n], batchEnd: 9n, failingSince: T1, lastFailureAt: T2, lastSuccessAt: T0 };

const RETRYING: OpenRow = {
  ...{ number: 1n, objectId: "x", status: "RETRYING", attempts: 1 },
  ...{ nextAttemptAt: T3, lastError: "answered 500" },
};
const GIVEN_UP: OpenRow = {
  ...RETRYING,
  status: "UNDELIVERED",
  attempts: 10,
  nextAttemptAt: undefined,
  lastError: "gone",
};

const changesOf = (
  { id }: Webhook,
  version: bigint,
  rows: readonly [bigint, OpenRow | undefined][],
  progress = TRIED,
) => ({
  ...{ webhookId: id, version, progress },
  rows: new Map(rows),
});

/** The holder's version of both webhooks is 2. */
async function claimBoth(): Promise<void> {
  const { database } = site.db;
  const lease = await takeLease(database, WEBHOOKS_LEASE, newId(), 15_000);
  if (lease === undefined) throw new Error("nobody else has the lease");
  const claimed = await claimProgress(database, { lease, history: database.history }, [webhook, other]);
  expect(claimed.map(({ version }) => version)).toEqual([2n, 2n]);
}

async function progressOf({ id }: Webhook): Promise<Omit<StoredProgress, "webhookId" | "customerId">> {
  const [row] = await site.db.owner.rows<Record<string, never>>(
    "select * from webhook_progress where webhook_id = $1",
    [id],
  );
  return {
    readTo: BigInt(row?.read_to ?? -1),
    accepted: ((row?.accepted_behind ?? []) as string[]).map(BigInt),
    batchEnd: row?.batch_end == null ? undefined : BigInt(row.batch_end),
    failingSince: row?.failing_since ?? undefined,
    lastFailureAt: row?.last_failure_at ?? undefined,
    lastSuccessAt: row?.last_success_at ?? undefined,
    version: BigInt(row?.version ?? -1),
  };
}

test("only the holder of the lease claims a webhook, in the history in which it took it", async () => {
  const { database } = site.db;
  const lease = await takeLease(database, WEBHOOKS_LEASE, newId(), 15_000);
  if (lease === undefined) throw new Error("nobody else has the lease");
  const { history } = database;
  for (const wrong of [{ name: "engine" }, { fence: lease.fence + 1n }, { holder: newId() }])
    expect(await claimProgress(database, { lease: { ...lease, ...wrong }, history }, [webhook])).toEqual([]);
  expect(await claimProgress(database, { lease, history: "another" }, [webhook])).toEqual([]);
  expect(await claimProgress(database, { lease, history }, [webhook])).toEqual([
    { webhookId: webhook.id, customerId: site.customerId, ...UNTRIED, ...NEVER, version: 2n },
  ]);
  expect(await progressOf(webhook)).toEqual({ ...UNTRIED, ...NEVER, version: 2n });
  expect(await progressOf(other)).toEqual({ ...UNTRIED, ...NEVER, version: 1n });
});

test("a webhook that was changed, disabled or deleted since its settings were read is not claimed with them", async () => {
  const { database } = site.db;
  const lease = await takeLease(database, WEBHOOKS_LEASE, newId(), 15_000);
  if (lease === undefined) throw new Error("nobody else has the lease");
  const disabled = await site.webhook({ url: "https://acme.example" });
  const deleted = await site.webhook({ url: "https://acme.example" });
  const moved = { ...webhook, url: "https://elsewhere.example", receiverSecret: undefined };
  unwrap(await site.webhooks.update(site.customerId, webhook.id, moved, TESTER));
  unwrap(await site.webhooks.disableBy(TESTER, site.customerId, disabled.id));
  unwrap(await site.webhooks.delete(site.customerId, deleted.id, TESTER));
  // The version alone does not say that one is active.
  const asDisabled = unwrap(await site.webhooks.disableBy(TESTER, site.customerId, disabled.id));
  const claimant = { lease, history: database.history };
  const claimed = await claimProgress(database, claimant, [webhook, disabled, asDisabled, deleted, other]);
  expect(claimed.map(({ webhookId }) => webhookId)).toEqual([other.id]);
  expect((await progressOf(webhook)).version).toBe(1n);
  const now = await site.webhooks.find(site.customerId, webhook.id);
  expect(await claimProgress(database, claimant, now === undefined ? [] : [now])).toHaveLength(1);
});

test("of a webhook that was claimed since only the attempts are written", async () => {
  await claimBoth();
  const { database, owner } = site.db;
  const keep = changesOf(other, 2n, [[1n, RETRYING]]);
  expect(
    await writeChanges(database, database.history, [changesOf(webhook, 2n, [[1n, RETRYING]]), keep], [], T0),
  ).toEqual(new Set([webhook.id, other.id]));
  const id = newId() as Uuid;
  const tried: Attempt = {
    ...{ webhookId: webhook.id, id, messageId: "m", number: 1n, events: 1, at: T0, ms: 3, status: 500 },
    ...{ error: "answered 500", answer: undefined },
  };
  const late = { ...TRIED, readTo: 4n };
  const stale = changesOf(
    webhook,
    1n,
    [
      [1n, undefined],
      [2n, { ...RETRYING, number: 2n }],
    ],
    late,
  );
  expect(await writeChanges(database, database.history, [stale, { ...keep, rows: new Map() }], [tried], T1)).toEqual(
    new Set([other.id]),
  );
  expect(await progressOf(webhook)).toEqual({ ...TRIED, version: 2n });
  expect(await site.rows(webhook)).toEqual(["1 RETRYING 1"]);
  expect(await owner.rows("select webhook_id, id from webhook_attempt")).toEqual([{ webhook_id: webhook.id, id }]);
});

test("in another history, as of a restored database that has the same versions, only the attempts are written", async () => {
  await claimBoth();
  const { database, owner } = site.db;
  const id = newId() as Uuid;
  const tried: Attempt = {
    ...{ webhookId: webhook.id, id, messageId: "m", number: 1n, events: 1, at: T0, ms: 3, status: 204 },
    ...{ error: undefined, answer: undefined },
  };
  const changes = [changesOf(webhook, 2n, [[1n, RETRYING]])];
  expect(await writeChanges(database, "another", changes, [tried], T0)).toEqual(new Set());
  expect(await progressOf(webhook)).toEqual({ ...UNTRIED, ...NEVER, version: 2n });
  expect(await site.rows(webhook)).toEqual([]);
  expect(await owner.rows("select webhook_id, id from webhook_attempt")).toEqual([{ webhook_id: webhook.id, id }]);
});

test("what was done is written as a whole: the place, what is open, and what is no longer", async () => {
  await claimBoth();
  const { database, owner } = site.db;
  const open = [1n, 2n, 3n].map((number): [bigint, OpenRow] => [number, { ...RETRYING, number }]);
  const both = [webhook, other].map((one) => changesOf(one, 2n, open));
  await writeChanges(database, database.history, both, [], T0);
  await writeChanges(
    database,
    database.history,
    [
      changesOf(webhook, 2n, [
        [1n, undefined],
        [2n, { ...GIVEN_UP, number: 2n }],
      ]),
    ],
    [],
    T1,
  );
  expect(await progressOf(webhook)).toEqual({ ...TRIED, version: 2n });
  const rows = (of: Webhook) =>
    owner.rows(
      `select number::int, customer_id, object_id, status, attempts, next_attempt_at, last_error, created_at, updated_at
         from webhook_delivery where webhook_id = $1 order by number`,
      [of.id],
    );
  const made = { customer_id: site.customerId, object_id: "x", created_at: T0 };
  const retrying = {
    ...made,
    status: "RETRYING",
    attempts: 1,
    next_attempt_at: T3,
    last_error: "answered 500",
    updated_at: T0,
  };
  expect(await rows(webhook)).toEqual([
    {
      ...made,
      number: 2,
      status: "UNDELIVERED",
      attempts: 10,
      next_attempt_at: null,
      last_error: "gone",
      updated_at: T1,
    },
    { ...retrying, number: 3 },
  ]);
  expect(await rows(other)).toEqual([1, 2, 3].map((number) => ({ ...retrying, number })));
});
