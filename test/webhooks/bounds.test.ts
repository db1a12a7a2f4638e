/** What receivers that hang or fail may take from others. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { WebhookId } from "../../src/customers/webhooks/webhooks.ts";
import type { CustomerEvent } from "../../src/events/events.ts";
import { IdSource } from "../../src/std/id.ts";
import { pause } from "../../src/std/pause.ts";
import { createDeliveries } from "../../src/webhooks/deliveries.ts";
import { Pace } from "../../src/webhooks/dispatching/pace.ts";
import { newId } from "../support/movements.ts";
import { until } from "../support/until.ts";
import { openSite, type Receiver, type Site, upTo } from "./site.ts";

const EVENT = { number: 1n, object: { type: "profile", value: { id: "p" } } } as unknown as CustomerEvent;

let site: Site;
beforeEach(async () => {
  site = await openSite();
});
afterEach(() => site.close());

test("the hanging receivers of one customer together get a bounded number of requests", async () => {
  site.longestAnswerMs = 60_000;
  const profiles = await Promise.all(upTo(20).map(() => site.profile()));
  const receivers = await Promise.all(upTo(6).map(() => site.receiver()));
  for (const { url } of receivers) await site.webhook({ url });
  const { deliveries } = site.node();
  await site.change(...profiles);
  const count = (of: (one: Receiver) => number) => receivers.reduce((sum, one) => sum + of(one), 0);
  await until("all accept", () => count((one) => one.accepted().length) === 120);
  for (const one of receivers) one.answer = () => "nothing";
  await site.change(...profiles);
  await until("they hang", () => count((one) => one.received.length) >= 120 + 64);
  await pause(100);
  expect(count((one) => one.received.length)).toBe(120 + 64);
  expect(deliveries.report().inFlight).toBe(64);
  for (const one of receivers) {
    one.answer = () => 204;
    one.hangUp();
  }
});

test("the webhooks of one customer together get a bounded number of deliveries a second", async () => {
  const profiles = await Promise.all(upTo(20).map(() => site.profile()));
  const receivers = await Promise.all(upTo(8).map(() => site.receiver()));
  for (const { url } of receivers) await site.webhook({ url, deliveryOrder: "any" });
  await site.change(...profiles);
  const times: number[] = [];
  for (const one of receivers)
    one.answer = () => {
      times.push(performance.now());
      return 204;
    };
  const perSecond = 50;
  site.node(15_000, new Pace({ utilization: 0 }, perSecond));
  await until("all are accepted", () => times.length === 160);
  // As many as come in a tenth of a second may come at once; the first may be on its way for longer than the last.
  const others = 0.9 * (160 - (0.1 * perSecond + 2));
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan((others / perSecond) * 1_000);
});

test("all receivers that fail together get half of the requests in flight", async () => {
  const template = await site.webhook({ url: "https://acme.example" });
  const failing = await site.db.owner.rows<{ id: WebhookId; customer_id: CustomerId }>(
    `with customers as (
       insert into customer (id, name, created_at)
       select gen_random_uuid(), 'customer ' || n, now() from generate_series(1, 53) n returning id),
     webhooks as (
       insert into webhook (id, customer_id, name, url, types, body, delivery_order, deliveries_per_second, active_place,
                            created_at, updated_at, version)
       select gen_random_uuid(), id, 'webhook ' || place, 'https://acme.example', '{*}', 'thin', 'any', 100, place,
              now(), now(), 1 from customers cross join generate_series(1, 10) place
       returning id, customer_id)
     insert into webhook_progress (webhook_id, customer_id, read_to, failing_since, version)
     select id, customer_id, 0, now(), 1 from webhooks returning webhook_id as id, customer_id`,
  );
  const changed = failing.map(({ id, customer_id: customerId }) => ({
    ...{ ...template, id, customerId },
    ...({ deliveryOrder: "any", signingSecrets: [], receiverSecret: undefined } as const),
  }));
  const active = new Set(failing.map(({ id }) => id));
  const ends: (() => void)[] = [];
  let areHanging = true;
  const refused = { kind: "unanswered", error: "timeout", ms: 1 } as const;
  const deliveries = createDeliveries({
    ...{ database: site.db.another(), clock: site.clock, ids: new IdSource(), holder: newId() },
    events: {
      list: async ({ after }) => ({ events: after === 0n ? [EVENT] : [], searchedTo: 1n, isLast: true }),
      bounds: async () => ({ first: 1n, last: 1n }),
      onNews: () => () => undefined,
    },
    webhooks: {
      listActive: async (known) => ({
        active,
        changed: known.size === 0 ? changed : [],
        unreadable: [],
        hasMore: false,
      }),
      ...{ disable: async () => false, find: async () => undefined, findDeliverable: async () => undefined },
    },
    sender: { send: async () => (areHanging ? new Promise((resolve) => ends.push(() => resolve(refused))) : refused) },
    ...{ bodyOf: () => "{}", testBodyOf: () => "{}", recordDisabled: async () => undefined, log: () => undefined },
  });
  deliveries.start();
  await until("half of 1,024 are in flight", () => deliveries.report().inFlight === 512);
  await pause(200);
  expect(deliveries.report()).toMatchObject({ webhooks: 530, failing: 530, inFlight: 512 });
  areHanging = false;
  for (const end of ends) end();
  await deliveries.stop();
});

test("a receiver that never answers delays nobody else", async () => {
  site.longestAnswerMs = 60_000;
  const a = await site.profile();
  const [dead, live] = [await site.receiver(), await site.receiver()];
  const webhook = await site.webhook({ url: dead.url });
  await site.webhook({ url: live.url });
  dead.answer = () => "nothing";
  site.node();
  await site.change(a);
  await until("both are tried", () => dead.received.length === 1 && live.accepted().length === 1);
  await site.change(...upTo(30).map(() => a));
  await until("the live one has all", () => live.accepted().length === 31);
  expect([dead.received.length, (await site.progress(webhook)).isFailing]).toEqual([1, false]);
  dead.hangUp();
  await until("the dead one is failing", async () => (await site.progress(webhook)).isFailing);
});
