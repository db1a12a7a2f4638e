/** Deliveries that are asked for again, and webhooks that take batches. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { pause } from "../../src/std/pause.ts";
import { expectBooksBalance } from "../support/books.ts";
import { unwrap } from "../support/results.ts";
import { until } from "../support/until.ts";
import { openSite, type Site, upTo } from "./site.ts";

let site: Site;
beforeEach(async () => {
  site = await openSite();
});
afterEach(async () => {
  await expectBooksBalance(site.db.database);
  await site.close();
});

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

test("a strict webhook stops at a batch that it could not deliver, until somebody retries or skips it", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url, deliveryOrder: "strict" });
  receiver.answer = () => 500;
  const { deliveries } = site.node();
  await site.change(a);
  const first = await site.lastNumber();
  const giveUp = async (attempts: number): Promise<void> => {
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      await until("it is tried", () => receiver.received.length === attempts + attempt);
      await until("it is written", async () => (await site.rows(webhook))[0]?.endsWith(` ${attempt}`) === true);
      await site.toNextAttempt(webhook);
    }
  };
  await giveUp(0);
  await site.change(a);
  expect(await site.rows(webhook)).toEqual([`${first} UNDELIVERED 10`]);
  receiver.answer = () => 204;
  unwrap(await deliveries.replay(site.customerId, webhook.id, { onlyUndelivered: true }));
  await until("both are accepted", () => receiver.accepted().length === 2);
  expect(receiver.accepted()).toEqual([first, first + 1]);

  receiver.answer = () => 500;
  await site.change(a);
  await giveUp(receiver.received.length);
  await site.change(a);
  receiver.answer = () => 204;
  unwrap(await deliveries.replay(site.customerId, webhook.id, { fromNumber: BigInt(first + 3) }));
  await until("it goes on behind it", () => receiver.accepted().length === 3);
  expect(receiver.accepted().at(-1)).toBe(first + 3);
  expect(await site.rows(webhook)).toEqual([`${first + 2} UNDELIVERED 10`]);
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

test("of the attempts of tests the last thousand are kept", async () => {
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  await site.db.owner.rows(
    `insert into webhook_attempt (webhook_id, id, message_id, events, at, ms, status)
     select $1, ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 'a test', 1, now(), 1, 200 from generate_series(1, 1200) i`,
    [webhook.id],
  );
  unwrap(await site.idle.test(site.customerId, webhook.id));
  const [row] = await site.db.owner.rows<{ count: string }>(
    "select count(*) from webhook_attempt where webhook_id = $1",
    [webhook.id],
  );
  expect(row).toEqual({ count: "1000" });
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
