/** What waits to be delivered, as customers and operators see it. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Instant } from "../../src/std/clock.ts";
import { until } from "../support/until.ts";
import { openSite, type Site } from "./site.ts";

let site: Site;
beforeEach(async () => {
  site = await openSite();
});
afterEach(() => site.close());

const madeAt = async (number: number): Promise<Instant | undefined> => {
  const [row] = await site.db.database.rows<{ at: Instant }>(
    "select at from event where customer_id = $1 and first_number <= $2 order by first_number desc limit 1",
    [site.customerId, number],
  );
  return row?.at;
};

test("it is what was not read yet, and then what failed and what waits for that", async () => {
  const [a, b] = [await site.profile(), await site.profile()];
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const backlog = async () => (await site.idle.readBacklogs([webhook.id])).get(webhook.id);
  const nothing = { events: 0, since: undefined, nextAttemptAt: undefined };
  expect(await backlog()).toEqual(nothing);
  const first = (await site.lastNumber()) + 1;
  await site.change(b, a, a);
  expect(await backlog()).toEqual({ events: 3, since: await madeAt(first), nextAttemptAt: undefined });
  receiver.answer = ({ objects }) => (objects[0] === a ? 500 : 204);
  site.node();
  await until("it is written", async () => (await site.rows(webhook)).length === 2);
  const [row] = await site.db.database.rows<{ next_attempt_at: Instant }>(
    "select next_attempt_at from webhook_delivery where status = 'RETRYING'",
  );
  expect(await backlog()).toEqual({
    events: 2,
    since: await madeAt(first + 1),
    nextAttemptAt: row?.next_attempt_at,
  });
  receiver.answer = () => 204;
  await site.toNextAttempt(webhook);
  await until("it is delivered", async () => (await site.rows(webhook)).length === 0);
  expect(await backlog()).toEqual(nothing);
});

test("a batch that is tried again counts once, and what was given up does not", async () => {
  const a = await site.profile();
  const receiver = await site.receiver();
  receiver.answer = () => 500;
  const strict = await site.webhook({ url: receiver.url, deliveryOrder: "strict" });
  const given = await site.webhook({ url: receiver.url });
  const backlogs = async () => {
    const found = await site.idle.readBacklogs([strict.id, given.id]);
    return [strict, given].map(({ id }) => found.get(id)?.events);
  };
  site.node();
  await site.change(a, a);
  await until("both have failed", async () => (await site.rows(strict)).length + (await site.rows(given)).length === 4);
  expect(await backlogs()).toEqual([2, 2]);
  await site.db.database.rows(
    "update webhook_delivery set status = 'UNDELIVERED', next_attempt_at = null where webhook_id = $1",
    [given.id],
  );
  expect(await backlogs()).toEqual([2, 0]);
});
