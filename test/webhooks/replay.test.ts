/** Deliveries that are asked for again, and webhooks that take batches. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { Webhook } from "../../src/customers/webhooks/webhook.ts";
import type { Instant } from "../../src/std/clock.ts";
import { lowestId } from "../../src/std/id.ts";
import { pause } from "../../src/std/pause.ts";
import { Retention } from "../../src/webhooks/dispatching/retention.ts";
import { newId, TESTER } from "../support/movements.ts";
import { countBlocked, untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { unwrap } from "../support/results.ts";
import { until, untilNextMillisecond } from "../support/until.ts";
import { openSite, type Site, upTo } from "./site.ts";

const DAY_MS = 86_400_000;
const NO_EVENTS = { list: () => expect.fail(), onNews: () => expect.fail() };

let site: Site;
beforeEach(async () => {
  site = await openSite();
});
afterEach(() => site.close());

test("a replay while events are delivered posts each from its number on again, with the same ids", async () => {
  const profiles = [await site.profile(), await site.profile(), await site.profile()];
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const { deliveries } = site.node();
  let isChanging = true;
  const changing = (async () => {
    while (isChanging) await site.change(...profiles);
  })();
  await until("some are delivered", () => receiver.accepted().length > 20);
  for (const from of [4, 9, 14]) {
    await until("it is reached", async () => (await site.progress(webhook)).readTo >= from);
    const before = receiver.accepted().filter((number) => number === from).length;
    // By another process than the one that delivers.
    const replayed = await site.idle.replay(site.customerId, webhook.id, { fromNumber: BigInt(from) });
    expect(replayed).toEqual({ kind: "done", value: { fromNumber: BigInt(from), events: undefined } });
    await until("it comes again", () => receiver.accepted().filter((number) => number === from).length > before);
  }
  isChanging = false;
  await changing;
  const last = await site.lastNumber();
  await until("the place is written", async () => (await site.progress(webhook)).readTo === last);
  const again = receiver.accepted();
  const lastReplay = again.slice(again.lastIndexOf(14));
  expect(new Set(lastReplay)).toEqual(new Set([...upTo(last, 14)]));
  const idsOf = new Map<number, Set<string>>();
  for (const { id, numbers } of receiver.received)
    idsOf.set(Number(numbers[0]), (idsOf.get(Number(numbers[0])) ?? new Set()).add(id));
  expect([...idsOf.values()].filter(({ size }) => size !== 1)).toEqual([]);
  expect(await site.rows(webhook)).toEqual([]);
  const ahead = await deliveries.replay(site.customerId, webhook.id, { fromNumber: BigInt(last + 2) });
  expect(ahead).toEqual({ kind: "rejected", rejection: { code: "replay_ahead", lastNumber: BigInt(last + 1) } });
});

test("a strict webhook gets batches in order, and the same batch until it is accepted", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url, deliveryOrder: "strict" });
  const first = (await site.lastNumber()) + 1;
  receiver.answer = () => 500;
  site.node();
  await site.change(a, a);
  await until("it is tried", () => receiver.received.length === 1);
  await site.change(a, a, a);
  await until("it is written", async () => (await site.rows(webhook)).length > 0);
  await site.toNextAttempt(webhook);
  await until("it is tried", () => receiver.received.length === 2);
  receiver.answer = () => 204;
  await until("it is written", async () => (await site.rows(webhook))[0]?.endsWith("2") === true);
  await site.toNextAttempt(webhook);
  const last = await site.lastNumber();
  await until("all are accepted", () => receiver.accepted().length === 5);
  expect(receiver.accepted()).toEqual(upTo(last, first));
  const [one, two, three] = receiver.received;
  expect([two, three]).toEqual([one, one]);
  await until("the place is written", async () => (await site.progress(webhook)).readTo === last);
  expect(await site.rows(webhook)).toEqual([]);
});

test("a strict webhook cannot skip a batch that is still tried", async () => {
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url, deliveryOrder: "strict" });
  receiver.answer = () => 500;
  site.node();
  await site.change(await site.profile());
  await until("it is written", async () => (await site.rows(webhook)).length > 0);
  const stored = () =>
    site.db.owner.rows("select webhook_progress.*, webhook_delivery.* from webhook_progress, webhook_delivery");
  const before = await stored();
  const last = await site.lastNumber();
  expect(await site.idle.replay(site.customerId, webhook.id, { fromNumber: BigInt(last + 1) })).toEqual({
    kind: "rejected",
    rejection: { code: "replay_ahead", lastNumber: BigInt((await site.progress(webhook)).readTo + 1) },
  });
  expect(await stored()).toEqual(before);
});

test("a strict webhook that gives up a batch is disabled, until it is enabled to retry or to skip it", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url, deliveryOrder: "strict" });
  receiver.answer = () => 500;
  const { deliveries, log } = site.node();
  const disablings = () => log.filter((event) => event.kind === "disabled").map(({ reason }) => reason);
  const enable = async (from: "WHERE_IT_STOOD" | "NOW"): Promise<void> => {
    receiver.answer = () => 204;
    unwrap(await site.webhooks.enable(site.customerId, webhook.id, deliveries.resume(from), TESTER));
  };
  /** One event that is not accepted, and one behind it. @returns the number of the first */
  const giveUp = async (): Promise<number> => {
    receiver.answer = () => 500;
    const before = receiver.received.length;
    const disabled = disablings().length;
    await site.change(a);
    const number = await site.lastNumber();
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      await until("it is tried", () => receiver.received.length === before + attempt);
      await until("it is written", async () => (await site.rows(webhook)).at(-1)?.endsWith(` ${attempt}`) === true);
      await site.toNextAttempt(webhook);
    }
    await until("it is disabled", () => disablings().length > disabled);
    await site.change(a);
    return number;
  };
  const first = await giveUp();
  expect(await site.rows(webhook)).toEqual([`${first} UNDELIVERED 10`]);
  await enable("WHERE_IT_STOOD");
  await until("both are accepted", () => receiver.accepted().length === 2);
  expect(receiver.accepted()).toEqual([first, first + 1]);

  const second = await giveUp();
  unwrap(await deliveries.replay(site.customerId, webhook.id, { fromNumber: BigInt(second + 1) }));
  await enable("WHERE_IT_STOOD");
  await until("it goes on behind it", () => receiver.accepted().length === 3);
  expect(receiver.accepted().at(-1)).toBe(second + 1);
  expect(await site.rows(webhook)).toEqual([`${second} UNDELIVERED 10`]);

  const third = await giveUp();
  await enable("NOW");
  await site.change(a);
  await until("it begins with what comes", () => receiver.accepted().length === 4);
  expect(receiver.accepted().at(-1)).toBe(third + 2);
  expect(await site.rows(webhook)).toEqual([`${second} UNDELIVERED 10`, `${third} UNDELIVERED 10`]);
  expect(disablings()).toEqual(["failing", "failing", "failing"]);
});

test("a test is posted at once, and is among the attempts", async () => {
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const attempt = unwrap(await site.idle.test(site.customerId, webhook.id));
  expect(attempt).toMatchObject({ number: undefined, events: 1, status: 204, error: undefined });
  receiver.answer = () => 302;
  const refused = unwrap(await site.idle.test(site.customerId, webhook.id));
  expect(refused).toMatchObject({ status: 302, error: "answered 302", answer: Buffer.from("no") });
  const page = { before: undefined, limit: 10 };
  expect(unwrap(await site.idle.listAttempts(site.customerId, webhook.id, page))).toEqual([refused, attempt]);
});

const TOO_MANY_ATTEMPTS = `insert into webhook_attempt (webhook_id, id, message_id, events, at, ms, status)
  select $1, (left($2, 24) || lpad(i::text, 12, '0'))::uuid, 'old', 1, now(), 1, 200 from generate_series(1, 1200) i`;

async function attemptsOf(webhook: Webhook): Promise<unknown> {
  return site.db.owner.rows("select count(*)::int as count from webhook_attempt where webhook_id = $1", [webhook.id]);
}

test("the last thousand attempts are kept, however often a replay lets deliveries begin anew", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  await site.db.owner.rows(TOO_MANY_ATTEMPTS, [webhook.id, lowestId(Date.now() as Instant)]);
  site.node();
  await site.change(a);
  await until("it is accepted", () => receiver.accepted().length === 1);
  const last = BigInt(await site.lastNumber());
  unwrap(await site.idle.replay(site.customerId, webhook.id, { fromNumber: last }));
  await until("it comes again", () => receiver.accepted().length === 2);
  await until("a thousand are left, and perhaps the second", async () => {
    const [{ count } = { count: 0 }] = (await attemptsOf(webhook)) as { count: number }[];
    return count <= 1_001;
  });
});

/** Rows for the events 1 to `count`, each with the status that SQL says of its number `n`. */
async function insertOpen({ id }: { readonly id: string }, count: number, status: string): Promise<void> {
  await site.db.owner.rows(
    `insert into webhook_delivery (webhook_id, number, customer_id, object_id, status, attempts, next_attempt_at,
                                   created_at, updated_at)
     select $1, n, $2, 'x', status, 1, case status when 'RETRYING' then now() end, now(), now()
       from (select n, ${status} as status from generate_series(1, $3::int) n) as made`,
    [id, site.customerId, count],
  );
}

test("a replay of what was not delivered takes the first of what was given up, until a thousand are open", async () => {
  const webhook = await site.webhook({ url: "https://acme.example" });
  await insertOpen(webhook, 1_200, "case n % 4 when 0 then 'RETRYING' else 'UNDELIVERED' end");
  const replayed = unwrap(await site.idle.replay(site.customerId, webhook.id, { onlyUndelivered: true }));
  expect(replayed).toEqual({ fromNumber: undefined, events: 1_000 });
  const givenUp = upTo(1_200).filter((number) => number % 4 !== 0);
  const left = (await site.rows(webhook)).filter((row) => row.includes("UNDELIVERED"));
  expect(left).toEqual(givenUp.slice(700).map((number) => `${number} UNDELIVERED 1`));
});

test("a replay from a time begins with the first event of that time, or behind the last one", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const { deliveries } = site.node();
  await site.change(a);
  await untilNextMillisecond();
  await site.change(a);
  const last = await site.lastNumber();
  await until("the place is written", async () => (await site.progress(webhook)).readTo === last);
  const [cut] = await site.db.owner.rows<{ at: Instant }>("select max(at) as at from event_cut");
  const from = async (fromTime: number) =>
    unwrap(await deliveries.replay(site.customerId, webhook.id, { fromTime: fromTime as Instant })).fromNumber;
  expect(await from((cut?.at ?? 0) + 1)).toBe(BigInt(last + 1));
  expect(await from(cut?.at ?? 0)).toBe(BigInt(last));
  await until("it comes again", () => receiver.accepted().length === 3);
  expect(receiver.accepted()).toEqual([last - 1, last, last]);
  // There is no event before the first.
  expect(unwrap(await deliveries.replay(site.customerId, webhook.id, { fromNumber: 0n })).fromNumber).toBe(1n);
});

test("a replay from a time that a webhook has not reached leaves nothing out", async () => {
  const a = await site.profile();
  const webhook = await site.webhook({ url: "https://acme.example" });
  const { readTo } = await site.progress(webhook);
  for (const _ of [1, 2, 3]) await site.change(a);
  expect(await site.lastNumber()).toBeGreaterThan(readTo);
  const fromTime = (Date.now() + 60_000) as Instant;
  const { fromNumber } = unwrap(await site.idle.replay(site.customerId, webhook.id, { fromTime }));
  expect([fromNumber, (await site.progress(webhook)).readTo]).toEqual([BigInt(readTo + 1), readTo]);
});

test("which events a webhook has lost for their age is logged, from the first to the last", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const first = BigInt(await site.lastNumber()) + 1n;
  for (const _ of [1, 2, 3]) await site.change(a);
  await site.db.owner.rows("update event_retention set first_cut = (select max(cut) from event_cut)");
  const { log } = site.node();
  await until("the last one is accepted", () => receiver.accepted().length === 1);
  expect(receiver.accepted()).toEqual([Number(first) + 2]);
  // Beside the deliveries, which do not wait for it.
  await until("it is logged", () => log.some(({ kind }) => kind === "expired"));
  expect(log.filter(({ kind }) => kind === "expired")).toEqual([
    { kind: "expired", webhookId: webhook.id, from: first, to: first + 1n },
  ]);
});

test("what is 30 days old, of a deleted webhook, or of events that are no longer kept is removed, and nothing else", async () => {
  const now = Date.parse("2026-11-21T09:30:00Z");
  const { db, customerId, webhooks } = site;
  const url = "https://acme.example";
  const [kept, disabled, deleted] = [
    await site.webhook({ url }),
    await site.webhook({ url }),
    await site.webhook({ url }),
  ];
  const other = newId() as CustomerId;
  unwrap(await site.customers.ensure(other, "Borealis", TESTER));
  const { id: _, customerId: __, ...settings } = kept;
  const request = { ...settings, receiverSecret: undefined };
  const theirs = unwrap(await webhooks.create(other, request, site.idle.begin, TESTER)).webhook;
  for (const age of [30 * DAY_MS + 1, 30 * DAY_MS - 1])
    await db.owner.rows(
      "insert into webhook_attempt (webhook_id, id, message_id, events, at, ms, status) values ($1, $2, 'm', 1, $3, 1, 200)",
      [kept.id, lowestId((now - age) as Instant), new Date(now - age)],
    );
  for (const [{ id, customerId: customer }, number, status] of [
    [kept, 4, "UNDELIVERED"],
    [kept, 5, "UNDELIVERED"],
    [disabled, 4, "RETRYING"],
    [deleted, 5, "UNDELIVERED"],
    [theirs, 4, "UNDELIVERED"],
  ] as const)
    await db.owner.rows(
      `insert into webhook_delivery (webhook_id, number, customer_id, object_id, status, attempts, next_attempt_at,
                                     created_at, updated_at)
       values ($1, $2, $3, 'x', $4, 1, case $4 when 'RETRYING' then now() end, now(), now())`,
      [id, number, customer, status],
    );
  unwrap(await webhooks.disableBy(TESTER, customerId, disabled.id));
  unwrap(await webhooks.delete(customerId, deleted.id, TESTER));
  const bounds = async (customer: CustomerId) => ({ first: customer === other ? 4n : 5n, last: 9n });
  const clock = { now: () => now as Instant, fault: undefined };
  let elapsedMs = 0;
  const retention = new Retention({
    database: db.database,
    clock,
    elapsedMs: () => elapsedMs,
    events: { ...NO_EVENTS, bounds },
  });
  await retention.run();
  elapsedMs += 3_600_000;
  await retention.run();
  expect(await db.owner.rows("select at from webhook_attempt")).toEqual([{ at: now - 30 * DAY_MS + 1 }]);
  expect(await Promise.all([kept, disabled, deleted, theirs].map(site.rows))).toEqual([
    ["5 UNDELIVERED 1"],
    ["4 RETRYING 1"],
    [],
    ["4 UNDELIVERED 1"],
  ]);
});

test("what is in flight when a process stops is waited for, and nobody posts it again", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const answers: ((status: number) => void)[] = [];
  receiver.answer = () => new Promise((resolve) => void answers.push(resolve));
  const { deliveries } = site.node();
  await site.change(a);
  await until("it is in flight", () => answers.length === 1);
  const stopping = deliveries.stop();
  setTimeout(() => answers[0]?.(204), 100);
  await stopping;
  expect(receiver.accepted()).toEqual([await site.lastNumber()]);
  expect((await site.progress(webhook)).readTo).toBe(await site.lastNumber());
});

test("few tests of a customer are sent at once, however long its receiver takes", async () => {
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  receiver.answer = () => "nothing";
  const tests = Promise.allSettled(upTo(10).map(() => site.idle.test(site.customerId, webhook.id)));
  await until("some are sent", () => receiver.received.length > 0);
  await pause(300);
  expect(receiver.received.length).toBeLessThanOrEqual(4);
  receiver.answer = () => 204;
  await tests;
});

test("replays of a customer that wait for one another leave connections for everybody else", async () => {
  const webhook = await site.webhook({ url: "https://acme.example" });
  const { database, owner } = site.db;
  const replay = () => site.idle.replay(site.customerId, webhook.id, { onlyUndelivered: true });
  let replays: ReturnType<typeof replay>[] = [];
  await owner.transaction(async (transaction) => {
    await transaction.rows("select from webhook_progress where webhook_id = $1 for update", [webhook.id]);
    replays = Array.from({ length: 20 }, replay);
    await untilBlocked(site.db);
    // More than there are connections: each comes behind a replay that would have taken its.
    await Promise.all(upTo(20).map(() => database.rows("select")));
    expect(await countBlocked(site.db)).toBe(1);
  });
  for (const replayed of await Promise.all(replays)) expect(unwrap(replayed).events).toBe(0);
});

test("a webhook is enabled while what was delivered to it is being written", async () => {
  const webhook = await site.webhook({ url: "https://acme.example" });
  unwrap(await site.webhooks.disableBy(TESTER, site.customerId, webhook.id));
  const { enabling } = await site.db.owner.transaction(async (transaction) => {
    await transaction.rows("update webhook_progress set last_success_at = now() where webhook_id = $1", [webhook.id]);
    const enabling = site.webhooks.enable(site.customerId, webhook.id, site.idle.resume("NOW"), TESTER);
    await untilBlocked(site.db);
    // Refers to the webhook, which is being enabled.
    await transaction.rows(
      `insert into webhook_attempt (webhook_id, id, message_id, number, events, at, ms, status)
       values ($1, $2, 'msg', 1, 1, now(), 1, 204)`,
      [webhook.id, newId()],
    );
    return { enabling };
  });
  expect(unwrap(await enabling).status).toBe("ACTIVE");
});

test("of what is given up no more is tried again than there is room for", async () => {
  const webhook = await site.webhook({ url: "https://acme.example" });
  await insertOpen(webhook, 1_002, "case n when 1002 then 'UNDELIVERED' else 'RETRYING' end");
  const replayed = await site.idle.replay(site.customerId, webhook.id, { onlyUndelivered: true });
  expect(replayed).toEqual({ kind: "done", value: { fromNumber: undefined, events: 1_001 } });
  expect((await site.rows(webhook)).at(-1)).toBe("1002 UNDELIVERED 1");
});

test("what is due already is not written again by a replay", async () => {
  const webhook = await site.webhook({ url: "https://acme.example" });
  const { owner } = site.db;
  await owner.rows(
    `insert into webhook_delivery (webhook_id, number, customer_id, object_id, status, attempts, next_attempt_at,
                                   created_at, updated_at)
     select $1, number, $2, 'x', 'RETRYING', 1, now() + interval '1 hour', now(), now() from generate_series(1, 3) number`,
    [webhook.id, site.customerId],
  );
  const rows = () => owner.rows("select number, xmin::text, next_attempt_at from webhook_delivery order by number");
  const replay = async () => unwrap(await site.idle.replay(site.customerId, webhook.id, { onlyUndelivered: true }));
  const later = await rows();
  expect(await replay()).toEqual({ fromNumber: undefined, events: 3 });
  const due = await rows();
  expect(due).not.toEqual(later);
  site.clock.aheadMs = 1;
  expect(await replay()).toEqual({ fromNumber: undefined, events: 3 });
  expect(await rows()).toEqual(due);
});
