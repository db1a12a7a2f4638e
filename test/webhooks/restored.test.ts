/** The database is set back under a process that delivers, as by a snapshot of its disk, and is there again within seconds. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Webhook } from "../../src/customers/webhooks/webhook.ts";
import { openMaker } from "../support/events.ts";
import { gate } from "../support/gate.ts";
import { until } from "../support/until.ts";
import { openSite, type Site, upTo } from "./site.ts";

let site: Site;
beforeEach(async () => {
  site = await openSite();
});
afterEach(() => site.close());

const hasRead = (webhook: Webhook, number: number) =>
  until(`its place is ${number}`, async () => (await site.progress(webhook)).readTo === number);

/** To this event, with what is committed meanwhile waiting for it. The events after it are published anew, when somebody does. */
async function setBack(last: number): Promise<void> {
  await site.db.owner.transaction(async (server) => {
    await server.rows("delete from event_cut where cut > (select max(cut) from event where first_number <= $1)", [
      last,
    ]);
    await server.rows("delete from event where first_number > $1", [last]);
    await server.rows("update webhook_progress set read_to = $1, accepted_behind = '{}'", [last]);
    // What names the history, as a dump is loaded in place of what is there.
    await server.rows("create table copy (like migration including all)");
    await server.rows("insert into copy select * from migration");
    await server.rows("drop table migration");
    await server.rows("alter table copy rename to migration");
    await server.rows("grant select on migration to public");
    await server.rows(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
  });
}

test("what a process has delivered since is not written into the restored database: what has its numbers there is posted", async () => {
  const profile = await site.profile();
  const receiver = await site.receiver();
  const webhook = await site.webhook({ url: receiver.url });
  const node = site.node();
  await site.change(profile, profile);
  const backup = await site.lastNumber();
  await hasRead(webhook, backup);
  await site.change(profile, profile, profile);
  await hasRead(webhook, backup + 3);
  // Its answer, and what is written of it, come after the restore.
  const answering = gate();
  receiver.answer = () => answering.opened.then(() => 204);
  await site.change(profile);
  await until("it is posted", () => receiver.received.at(-1)?.numbers[0] === backup + 4);
  await setBack(backup);
  receiver.answer = () => 204;
  const before = receiver.accepted().length;
  answering.open();
  await until("it begins anew", () => node.log.filter(({ kind }) => kind === "leading").length === 2);
  expect(await site.progress(webhook)).toEqual({ readTo: backup, isFailing: false });
  const publish = await openMaker(site.db.database);
  await publish();
  await hasRead(webhook, backup + 4);
  expect(receiver.accepted().slice(before)).toEqual([backup + 4, ...upTo(backup + 4, backup + 1)]);
  expect(node.log.filter(({ kind }) => kind === "returned")).toEqual([]);
});

test("a place that is behind the last event is set to it, also of a strict webhook, unless events are missing", async () => {
  const profile = await site.profile();
  const receiver = await site.receiver();
  const webhooks = [
    await site.webhook({ url: receiver.url }),
    await site.webhook({ url: receiver.url, deliveryOrder: "strict" }),
  ];
  const last = await site.lastNumber();
  const { owner } = site.db;
  const [cut] = await owner.rows<{ cut: string }>("select max(cut) as cut from event_cut where events > 0");
  const events = (change: number) =>
    owner.rows("update event_cut set events = events + $2 where cut = $1", [cut?.cut, change]);
  await owner.rows("update webhook_progress set read_to = $1, accepted_behind = $2", [last + 5, [last + 7]]);
  // As if the last cut had had one more event.
  await events(1);
  const cautious = site.node();
  await until("it delivers", () => cautious.deliveries.report().webhooks === 2);
  await cautious.kill();
  const places = () => Promise.all(webhooks.map(async (webhook) => (await site.progress(webhook)).readTo));
  expect(await places()).toEqual([last + 5, last + 5]);
  await events(-1);
  const node = site.node();
  await until("it delivers", () => node.deliveries.report().webhooks === 2);
  expect(await places()).toEqual([last, last]);
  const returned = node.log.flatMap((event) => (event.kind === "returned" ? [event] : []));
  expect(returned.sort((a, b) => (a.webhookId < b.webhookId ? -1 : 1))).toEqual(
    webhooks.map(({ id }) => ({ kind: "returned", webhookId: id, from: BigInt(last + 5), to: BigInt(last) })),
  );
  await site.change(profile, profile);
  for (const webhook of webhooks) await hasRead(webhook, last + 2);
  expect(receiver.accepted().sort((a, b) => a - b)).toEqual([last + 1, last + 1, last + 2, last + 2]);
});
