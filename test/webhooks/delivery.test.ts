/** What receivers get, whatever they answer. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { pause } from "../../src/std/pause.ts";
import { Pace } from "../../src/webhooks/dispatching/pace.ts";
import { newId, TESTER } from "../support/movements.ts";
import { openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { unwrap } from "../support/results.ts";
import { until } from "../support/until.ts";
import { openSite, type Site, upTo } from "./site.ts";

const HOUR_MS = 3_600_000;

let site: Site;
beforeEach(async () => {
  site = await openSite();
});
afterEach(() => site.close());

test("events are posted once each, in the order of each object, and the place follows", async () => {
  const [a, b] = [await site.profile(), await site.profile()];
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const first = (await site.lastNumber()) + 1;
  site.node();
  await site.change(a, b, a, b, a, b);
  await until("all are accepted", () => receiver.accepted().length === 6);
  await site.change(...upTo(40).map((n) => (n % 3 === 0 ? a : b)));
  await until("all are accepted", () => receiver.accepted().length === 46);
  const last = await site.lastNumber();
  await until("the place is written", async () => (await site.progress(webhook)).readTo === last);
  expect(await site.rows(webhook)).toEqual([]);
  expect(receiver.accepted().sort((x, y) => x - y)).toEqual(upTo(last, first));
  for (const profile of [a, b]) {
    const numbers = receiver.received.filter(({ objects }) => objects[0] === profile).map(({ numbers }) => numbers[0]);
    expect(numbers).toEqual([...numbers].sort((x, y) => Number(x) - Number(y)));
  }
  const attempts = await site.db.database.rows("select from webhook_attempt where error is null and status = 204");
  expect(attempts).toHaveLength(46);
});

test("an object whose event fails blocks only itself, and goes on in order", async () => {
  const [a, b] = [await site.profile(), await site.profile()];
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const first = (await site.lastNumber()) + 1;
  receiver.answer = ({ objects }) => (objects[0] === a ? 500 : 204);
  const { deliveries } = site.node();
  await site.change(a, a, a, b, b, b);
  const last = await site.lastNumber();
  await until("the others are accepted", () => receiver.accepted().length === 3);
  await until("the place is written", async () => (await site.progress(webhook)).readTo === last);
  expect(await site.rows(webhook)).toEqual([`${first} RETRYING 1`, `${first + 1} BLOCKED 0`, `${first + 2} BLOCKED 0`]);
  // It is not given up yet.
  expect(await deliveries.countUndelivered(site.customerId, [BigInt(first)])).toEqual(new Map());
  receiver.answer = () => 204;
  site.clock.aheadMs += 60_000;
  await until("all are accepted", () => receiver.accepted().length === 6);
  await until("no row is left", async () => (await site.rows(webhook)).length === 0);
  expect(receiver.accepted().slice(3)).toEqual([first, first + 1, first + 2]);
  expect(await site.progress(webhook)).toEqual({ readTo: last, isFailing: false });
});

test("after ten attempts an event is undelivered, is counted, and is delivered when somebody asks", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  receiver.answer = () => 500;
  const { deliveries } = site.node();
  await site.change(a, a);
  const last = await site.lastNumber();
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    await until("it is tried", () => receiver.received.length === attempt);
    await until("it is written", async () => (await site.rows(webhook))[0]?.endsWith(` ${attempt}`) === true);
    if (attempt === 9) receiver.answer = ({ numbers }) => (numbers[0] === last ? 204 : 500);
    await site.toNextAttempt(webhook);
  }
  await until("its object goes on", async () => receiver.accepted().length === 1);
  await until("it is written", async () => (await site.rows(webhook)).length === 1);
  expect(await site.rows(webhook)).toEqual([`${last - 1} UNDELIVERED 10`]);
  expect(await deliveries.countUndelivered(site.customerId, [BigInt(last - 1), BigInt(last)])).toEqual(
    new Map([[BigInt(last - 1), 1]]),
  );
  expect(await deliveries.countUndelivered(newId() as CustomerId, [BigInt(last - 1)])).toEqual(new Map());
  receiver.answer = () => 500;
  const replayed = await deliveries.replay(site.customerId, webhook.id, { onlyUndelivered: true });
  expect(replayed).toEqual({ kind: "done", value: { fromNumber: undefined, events: 1 } });
  await until(
    "it is tried as for the first time",
    async () => (await site.rows(webhook))[0] === `${last - 1} RETRYING 1`,
  );
  receiver.answer = () => 204;
  await site.toNextAttempt(webhook);
  await until("it is accepted", () => receiver.accepted().length === 2);
  await until("no row is left", async () => (await site.rows(webhook)).length === 0);
  expect(receiver.accepted()).toEqual([last, last - 1]);
});

test("a receiver is left alone for as long as it asks, at most an hour", async () => {
  const [a, b] = [await site.profile(), await site.profile()];
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  receiver.answer = () => ({ status: 429, headers: { "retry-after": "7200" } });
  site.node();
  await site.change(a);
  await until("it is written", async () => (await site.rows(webhook)).length === 1);
  receiver.answer = () => 204;
  site.clock.aheadMs += 0.9 * HOUR_MS;
  await site.change(b);
  const second = await site.receiver();
  await site.webhook({ url: second.url });
  await site.change(b);
  await until("another webhook is sent to", () => second.accepted().length === 1);
  expect(receiver.received).toHaveLength(1);
  site.clock.aheadMs += 0.2 * HOUR_MS;
  await until("all are accepted", () => receiver.accepted().length === 3);
});

test("the first KiB of what a receiver answers is kept, text or not", async () => {
  const profile = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const bodies = [1_023, 1_024, 1_025, 15_000].map((length) => Buffer.alloc(length, "answer \0\xff", "latin1"));
  const next = bodies.values();
  receiver.answer = () => ({ status: 200, body: next.next().value ?? Buffer.of() });
  site.node();
  await site.change(...bodies.map(() => profile));
  const last = await site.lastNumber();
  await until("the place is written", async () => (await site.progress(webhook)).readTo === last);
  const attempts = await site.db.database.rows<{ answer: Buffer }>(
    "select answer from webhook_attempt order by number",
  );
  expect(attempts.map(({ answer }) => answer)).toEqual(bodies.map((body) => body.subarray(0, 1_024)));
  expect(receiver.received).toHaveLength(bodies.length);
});

test("410 disables at once, and the webhook keeps its place until it is enabled", async () => {
  const [a, b] = [await site.profile(), await site.profile()];
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  receiver.answer = () => 410;
  const { deliveries, log } = site.node();
  await site.change(a);
  const first = await site.lastNumber();
  await until("it is disabled", () => log.some(({ kind }) => kind === "disabled"));
  expect(await site.webhooks.find(site.customerId, webhook.id)).toMatchObject({
    status: "DISABLED",
    disabledReason: "gone",
  });
  await site.change(b, b);
  receiver.answer = () => 204;
  const enabled = await site.webhooks.enable(site.customerId, webhook.id, deliveries.resume("WHERE_IT_STOOD"), TESTER);
  expect(enabled.kind).toBe("done");
  await until("all are accepted", () => receiver.accepted().length === 3);
  expect(receiver.received.map(({ numbers }) => numbers[0]).sort()).toEqual([first, first, first + 1, first + 2]);
});

test("a webhook that is enabled from now on lists what it did not deliver", async () => {
  const [a, b] = [await site.profile(), await site.profile()];
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  receiver.answer = () => 410;
  const { deliveries, log } = site.node();
  await site.change(a, a);
  const first = (await site.lastNumber()) - 1;
  await until("it is disabled", () => log.some(({ kind }) => kind === "disabled"));
  await site.change(b);
  receiver.answer = () => 204;
  await site.webhooks.enable(site.customerId, webhook.id, deliveries.resume("NOW"), TESTER);
  await site.change(b);
  await until("the new one is accepted", () => receiver.accepted().length === 1);
  expect(receiver.accepted()).toEqual([first + 3]);
  expect((await site.rows(webhook))[0]).toBe(`${first} UNDELIVERED 1`);
});

/** Of those that are tried again. */
const attemptsOf = (rows: readonly string[]): number[] =>
  rows.filter((row) => row.includes(" RETRYING ")).map((row) => Number(row.split(" ").at(-1)));

test("five days without one acceptance disable, and begin anew when the webhook is enabled", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  receiver.answer = () => 500;
  const { deliveries, log } = site.node();
  const isDisabled = (): boolean => log.some(({ kind }) => kind === "disabled");
  await site.change(a, await site.profile());
  // Written, each time: attempts that are two days apart would begin the five anew.
  const areTried = async (attempts: number): Promise<boolean> => {
    const rows = (await site.rows(webhook)).filter((row) => row.endsWith(` RETRYING ${attempts}`));
    return rows.length === 2;
  };
  await until("both are tried", () => areTried(1));
  for (let attempts = 2; attempts < 8 && !isDisabled(); attempts += 1) {
    site.clock.aheadMs += 25 * HOUR_MS;
    await until("both are tried again", async () => isDisabled() || (await areTried(attempts)));
  }
  await until("it is disabled", isDisabled);
  expect(log.find(({ kind }) => kind === "disabled")).toMatchObject({ reason: "failing" });
  const resume = deliveries.resume("WHERE_IT_STOOD");
  const retrying = attemptsOf(await site.rows(webhook));
  unwrap(await site.webhooks.enable(site.customerId, webhook.id, resume, TESTER));
  // Written: an attempt that fails after the clock has gone on is repeated that much later. As the first, but for what was due.
  await until("both are tried again", async () => {
    const now = attemptsOf(await site.rows(webhook));
    return retrying.every((attempts, place) => now[place] === 1 || (now[place] ?? 0) > attempts);
  });
  receiver.answer = () => 204;
  site.clock.aheadMs += 25 * HOUR_MS;
  await until("both are accepted", () => receiver.accepted().length >= 2);
  expect(log.filter(({ kind }) => kind === "disabled")).toHaveLength(1);
});

test("a customer that is disabled is not posted to, and goes on where it stood", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  await site.webhook({ url: receiver.url });
  const { deliveries } = site.node();
  await site.change(a);
  await until("it is accepted", () => receiver.accepted().length === 1);
  unwrap(await site.customers.disable(site.customerId, TESTER));
  await until("nothing is delivered to", () => deliveries.report().webhooks === 0);
  await site.change(a, a);
  await pause(100);
  expect(receiver.received).toHaveLength(1);
  unwrap(await site.customers.enable(site.customerId, TESTER));
  await until("all are accepted", () => receiver.accepted().length === 3);
});

test("a change of a webhook takes effect, without an event lost or repeated", async () => {
  const a = await site.profile();
  const [former, next] = [await site.receiver(), await site.receiver()];
  const webhook = await site.webhook({ url: former.url });
  site.node();
  await site.change(a, a);
  await until("they are accepted", () => former.accepted().length === 2);
  const changed = { ...webhook, url: next.url, receiverSecret: undefined };
  unwrap(await site.webhooks.update(site.customerId, webhook.id, changed, TESTER));
  await until("the next ones go to the new address", async () => {
    await site.change(a);
    return next.accepted().length > 0;
  });
  const last = await site.lastNumber();
  await until("all are accepted", () => next.accepted().at(-1) === last);
  const all = [...former.accepted(), ...next.accepted()];
  expect(all).toEqual(upTo(last, all[0]));
});

test("a webhook that was changed goes on once what it has accepted is written", async () => {
  const a = await site.profile();
  const [former, next] = [await site.receiver(), await site.receiver()];
  const [other, added] = [await site.receiver(), await site.receiver()];
  const webhook = await site.webhook({ url: former.url });
  const slow = await site.webhook({ url: other.url });
  const { deliveries } = site.node();
  await until("both are open", () => deliveries.report().webhooks === 2);
  const session = await openTransaction(site.db.owner);
  await session.query("select from webhook_progress where webhook_id = $1 for update", [slow.id]);
  await site.change(a);
  await untilBlocked(site.db);
  await site.change(a);
  await until("both are accepted", () => former.accepted().length === 2);
  const changed = { ...webhook, url: next.url, receiverSecret: undefined };
  unwrap(await site.webhooks.update(site.customerId, webhook.id, changed, TESTER));
  await site.webhook({ url: added.url });
  await until("it was looked which webhooks there are", async () => {
    await site.change(a);
    return added.received.length > 0;
  });
  await session.query("rollback");
  await session.end();
  const last = await site.lastNumber();
  await until("all are accepted", () => next.accepted().at(-1) === last);
  const all = [...former.accepted(), ...next.accepted()];
  expect(all).toEqual(upTo(last, all[0]));
});

test("nothing is sent while what was delivered cannot be written", async () => {
  const profiles = await Promise.all(upTo(20).map(() => site.profile()));
  const receiver = await site.receiver();
  await site.webhook({ url: receiver.url });
  const { log } = site.node();
  await site.change(...profiles);
  await until("all are accepted", () => receiver.accepted().length === 20);
  const attempts = () => site.db.database.rows("select from webhook_attempt");
  await until("that is written", async () => (await attempts()).length === 20);
  await site.db.owner.rows("alter table webhook_attempt rename to away");
  await site.change(...profiles.slice(0, 1));
  await until("a write has failed", () => log.some(({ kind }) => kind === "failed"));
  expect(receiver.accepted()).toHaveLength(21);
  await site.change(...profiles);
  await pause(200);
  expect(receiver.accepted()).toHaveLength(21);
  await site.db.owner.rows("alter table away rename to webhook_attempt");
  await until("all are accepted", () => receiver.accepted().length === 41);
  expect(new Set(receiver.accepted()).size).toBe(41);
});

test("nothing is sent while the clock has a fault", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  await site.webhook({ url: receiver.url });
  site.node();
  await site.change(a);
  await until("it is accepted", () => receiver.accepted().length === 1);
  site.clock.fault = "the clock is four days ahead";
  site.clock.aheadMs += 96 * HOUR_MS;
  await site.change(a, a);
  await pause(200);
  expect(receiver.received).toHaveLength(1);
  site.clock.aheadMs -= 96 * HOUR_MS;
  site.clock.fault = undefined;
  await until("all are accepted", () => receiver.accepted().length === 3);
});

test("a process that dies repeats what was in flight, and nothing that was accepted behind it", async () => {
  const profiles = await Promise.all(upTo(16).map(() => site.profile()));
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const first = (await site.lastNumber()) + 1;
  const node = site.node();
  await site.change(...profiles);
  await until("all accept, so that it gets many at once", () => receiver.accepted().length === 16);
  const slow = new Set<unknown>(profiles.filter((_, place) => place % 2 === 0));
  receiver.answer = ({ objects }) => (slow.has(objects[0]) ? "nothing" : 204);
  await site.change(...profiles);
  await until("all are in flight or accepted", () => receiver.received.length === 32);
  await until("what was accepted is written", async () => {
    const attempts = await site.db.database.rows("select from webhook_attempt where error is null");
    return attempts.length === 24;
  });
  await node.kill();
  receiver.answer = () => 204;
  site.node();
  await until("the rest is accepted", () => receiver.accepted().length >= 32);
  const last = await site.lastNumber();
  await until("the place is written", async () => (await site.progress(webhook)).readTo === last);
  expect(receiver.accepted().sort((x, y) => x - y)).toEqual(upTo(last, first));
  expect(receiver.received).toHaveLength(32 + 8);
  expect(await site.rows(webhook)).toEqual([]);
});

test("a process that was stopped looks whose its webhooks are before it sends", async () => {
  const profiles = await Promise.all(upTo(3).map(() => site.profile()));
  const receiver = await site.receiver();
  await site.webhook({ url: receiver.url, deliveryOrder: "any" });
  const first = (await site.lastNumber()) + 1;
  await site.change(...profiles);
  const intervalMs = 2_000;
  site.node(15_000, new Pace({ utilization: 0 }, 1_000 / intervalMs));
  await until("the first is accepted, and written", async () => {
    const attempts = await site.db.database.rows("select from webhook_attempt");
    return attempts.length === 1;
  });
  // Somebody has taken it over.
  await site.db.owner.rows("update webhook_progress set version = version + 1");
  expect(receiver.accepted()).toEqual([first]);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, intervalMs + 100);
  await until("all are accepted", () => receiver.accepted().length >= 3);
  expect(receiver.accepted()).toEqual([first, first + 1, first + 2]);
});

test("tries of a strict webhook that somebody asks for are none of those after which it gives up", async () => {
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url, deliveryOrder: "strict" });
  const { deliveries } = site.node();
  receiver.answer = () => 500;
  await site.change(await site.profile());
  const countAttempts = async () =>
    (await site.db.owner.rows("select from webhook_attempt where webhook_id = $1", [webhook.id])).length;
  // One more than the schedule has.
  for (let tried = 1; tried <= 11; tried += 1) {
    await until("it is written", async () => (await countAttempts()) >= tried);
    expect((await site.rows(webhook))[0]).toMatch(/ RETRYING [01]$/);
    unwrap(await deliveries.replay(site.customerId, webhook.id, { onlyUndelivered: true }));
  }
  receiver.answer = () => 204;
  await until("it is accepted", async () => (await site.rows(webhook)).length === 0);
});
