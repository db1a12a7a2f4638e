/** What is done to one webhook of a customer changes no other one. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { readActiveVersions } from "../../src/customers/webhooks/store.ts";
import type { Webhook } from "../../src/customers/webhooks/webhook.ts";
import type { Instant } from "../../src/std/clock.ts";
import { lowestId } from "../../src/std/id.ts";
import { newId, TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import { openSite, type Site } from "./site.ts";

let site: Site;
let webhook: Webhook;
let other: Webhook;
beforeEach(async () => {
  site = await openSite();
  webhook = await site.webhook({ url: (await site.receiver()).url });
  other = await site.webhook({ url: webhook.url });
  await site.db.owner.rows(FAILED_DELIVERIES, [webhook.id, site.customerId, STATUSES]);
  await site.db.owner.rows(FAILED_DELIVERIES, [other.id, site.customerId, STATUSES.toReversed()]);
  await site.db.owner.rows("update webhook_progress set read_to = 4, failing_since = now(), last_failure_at = now()");
});
afterEach(() => site.close());

/** Of the events 1 to 5. The fourth is blocked for one webhook, and given up by the other. */
const STATUSES = ["RETRYING", "UNDELIVERED", "RETRYING", "BLOCKED", "UNDELIVERED"];

const FAILED_DELIVERIES = `insert into webhook_delivery
  (webhook_id, number, customer_id, object_id, status, attempts, next_attempt_at, created_at, updated_at)
  select $1, number, $2, 'x', status, 1, case status when 'RETRYING' then now() + interval '1 hour' end, now(), now()
    from unnest($3::text[]) with ordinality made(status, number)`;

/** All that is stored of the deliveries of a webhook. */
async function stored({ id }: Webhook): Promise<unknown> {
  const { owner } = site.db;
  return [
    await owner.rows("select * from webhook_progress where webhook_id = $1", [id]),
    await owner.rows("select * from webhook_delivery where webhook_id = $1 order by number", [id]),
  ];
}

test.each([
  ["replayed from a number on", () => site.idle.replay(site.customerId, webhook.id, { fromNumber: 2n })],
  ["asked for what it did not deliver", () => site.idle.replay(site.customerId, webhook.id, { onlyUndelivered: true })],
  ["enabled where it stood", () => enableAgain("WHERE_IT_STOOD")],
  ["enabled from now on", () => enableAgain("NOW")],
])("a webhook that is %s leaves the deliveries of the others as they are", async (_, act) => {
  const before = { itself: await stored(webhook), other: await stored(other) };
  unwrap<unknown>(await act());
  expect(await stored(other)).toEqual(before.other);
  expect(await stored(webhook)).not.toEqual(before.itself);
});

async function enableAgain(from: "WHERE_IT_STOOD" | "NOW") {
  unwrap(await site.webhooks.disableBy(TESTER, site.customerId, webhook.id));
  return site.webhooks.enable(site.customerId, webhook.id, site.idle.resume(from), TESTER);
}

test("a webhook tries again what itself has given up", async () => {
  const replayed = await site.idle.replay(site.customerId, webhook.id, { onlyUndelivered: true });
  expect(unwrap(replayed)).toEqual({ fromNumber: undefined, events: 4 });
  expect(await site.rows(webhook)).toEqual([
    "1 RETRYING 0",
    "2 RETRYING 0",
    "3 RETRYING 0",
    "4 BLOCKED 1",
    "5 RETRYING 0",
  ]);
});

test("the last thousand attempts of a webhook are kept, however many the others have made since", async () => {
  const idOf = (at: number, i: number) => `${lowestId(at as Instant).slice(0, 24)}${String(i).padStart(12, "0")}`;
  const insert = (of: Webhook, count: number, at: number) =>
    site.db.owner.rows(
      `insert into webhook_attempt (webhook_id, id, message_id, events, at, ms, status)
       select $1, (left($2, 24) || lpad(i::text, 12, '0'))::uuid, 'old', 1, now(), 1, 200 from generate_series(1, $3) i`,
      [of.id, idOf(at, 0), count],
    );
  const now = Date.now();
  await insert(webhook, 1_100, now - 2_000);
  await insert(other, 1_100, now - 1_000);
  const attempt = unwrap(await site.idle.test(site.customerId, webhook.id));
  const counts = await site.db.owner.rows(
    "select webhook_id as id, count(*)::int as count from webhook_attempt group by webhook_id order by count",
  );
  expect(counts).toEqual([
    { id: webhook.id, count: 1_000 },
    { id: other.id, count: 1_100 },
  ]);
  const page = { before: undefined, limit: 2 };
  const listed = unwrap(await site.idle.listAttempts(site.customerId, webhook.id, page));
  expect(listed.map(({ id }) => id)).toEqual([attempt.id, idOf(now - 2_000, 1_100)]);
});

test("a change of a webhook changes no settings and no secrets of the others, and is its next version", async () => {
  const { customerId, webhooks, clock } = site;
  const access = { receiverAccess: { kind: "api_key", header: "X-Api-Key" }, receiverSecret: "open sesame" } as const;
  const settingsOf = ({ id: _, ...settings }: Webhook) => ({ ...settings, receiverSecret: undefined });
  for (const one of [webhook, other])
    unwrap(await webhooks.update(customerId, one.id, { ...settingsOf(one), ...access }, TESTER));
  const rowsOf = async ({ id }: Webhook) => [
    await site.db.owner.rows("select * from webhook where id = $1", [id]),
    await site.db.owner.rows("select * from webhook_secret where webhook_id = $1 order by id", [id]),
  ];
  const versionOf = async () => {
    const [row] = await site.db.owner.rows<{ version: string; updated_at: Instant }>(
      "select version, updated_at from webhook where id = $1",
      [webhook.id],
    );
    return { version: Number(row?.version), updatedAt: row?.updated_at ?? 0 };
  };
  const before = await rowsOf(other);
  expect(before[1]).toHaveLength(3);
  for (const act of [
    () => webhooks.update(customerId, webhook.id, settingsOf(webhook), TESTER),
    () => webhooks.rotateSecret(customerId, webhook.id, 60_000, TESTER),
    () => webhooks.disableBy(TESTER, customerId, webhook.id),
    () => webhooks.enable(customerId, webhook.id, site.idle.resume("NOW"), TESTER),
    () => webhooks.delete(customerId, webhook.id, TESTER),
  ]) {
    const { version, updatedAt } = await versionOf();
    clock.aheadMs += 1_000;
    unwrap<unknown>(await act());
    const changed = await versionOf();
    expect(changed.version).toBe(version + 1);
    expect(changed.updatedAt).toBeGreaterThanOrEqual(updatedAt + 1_000);
    expect(await rowsOf(other)).toEqual(before);
  }
});

test("a customer that is disabled stops its own webhooks, and no others", async () => {
  const { customers, db, customerId } = site;
  const another = newId() as CustomerId;
  unwrap(await customers.ensure(another, "Another", TESTER));
  unwrap(await customers.disable(another, TESTER));
  const both = [webhook, other].map(({ id, version }) => [id, version] as const);
  expect(await readActiveVersions(db.database)).toEqual(new Map(both));
  unwrap(await customers.disable(customerId, TESTER));
  expect(await readActiveVersions(db.database)).toEqual(new Map());
});
