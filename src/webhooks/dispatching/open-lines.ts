/** Takes webhooks over from the process that delivered to them before. */
import type { DeliverableWebhook, WebhookId } from "../../customers/webhooks/webhook.ts";
import { hasEndsOfLog } from "../../events/events.ts";
import type { Queryable } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import { withinSchedule } from "../queues/retry-schedule.ts";
import {
  type Claimant,
  claimProgress,
  findBeyondEvents,
  readOpenRows,
  removeRowsBehindPlace,
  setPlace,
} from "../store.ts";
import { Line } from "./line.ts";
import type { DispatcherOptions } from "./options.ts";

/**
 * Those that have changed since their settings were read are left to the next look, which reads the new ones.
 * @returns nothing if the lease is no longer this one, or another history has begun
 */
export async function openLines(
  { database, clock, log }: Pick<DispatcherOptions, "database" | "clock" | "log">,
  claimant: Claimant,
  webhooks: readonly DeliverableWebhook[],
): Promise<Line[]> {
  const byId = new Map(webhooks.map((webhook) => [webhook.id, webhook]));
  const keepBehind = webhooks.filter(({ deliveryOrder }) => deliveryOrder === "strict").map(({ id }) => id);
  const { progress, rows, returned } = await database.transaction(async (transaction) => {
    const claimed = await claimProgress(transaction, claimant, webhooks);
    const claimedIds = claimed.map(({ webhookId }) => webhookId);
    const places = await returnToEvents(transaction, claimedIds);
    await removeRowsBehindPlace(
      transaction,
      claimedIds.filter((id) => places.has(id) || !keepBehind.includes(id)),
    );
    return { progress: claimed, rows: await readOpenRows(transaction, claimedIds), returned: places };
  });
  return progress.map((claimed) => {
    const readTo = returned.get(claimed.webhookId);
    const stored = readTo === undefined ? claimed : { ...claimed, readTo, accepted: [], batchEnd: undefined };
    if (readTo !== undefined) log({ kind: "returned", webhookId: claimed.webhookId, from: claimed.readTo, to: readTo });
    const webhook = must(byId.get(stored.webhookId), "it was asked for");
    const now = clock.now();
    const open = (rows.get(stored.webhookId) ?? []).map((row) => withinSchedule(row, now));
    return new Line(webhook, stored.version, { now, random: Math.random, stored, rows: open });
  });
}

/**
 * A place behind the last event, as of a database that was put together by hand, would skip what happens next. Events that are
 * missing from the table, which the publisher reports, will have their numbers again: then a place stays.
 * @returns where they are now
 */
async function returnToEvents(transaction: Queryable, ids: readonly WebhookId[]): Promise<Map<WebhookId, bigint>> {
  const beyond = await findBeyondEvents(transaction, ids);
  if (beyond.size === 0 || !(await hasEndsOfLog(transaction))) return new Map();
  for (const [id, place] of beyond) await setPlace(transaction, id, place);
  return beyond;
}

/** Of a webhook that was disabled for as long as events are kept. */
export async function reportExpired(
  { events, log }: Pick<DispatcherOptions, "events" | "log">,
  { webhook: { id, customerId }, openedAt: readTo }: Line,
): Promise<void> {
  const page = await events.list({ customerId, after: readTo, limit: 1 });
  const first = page.events[0]?.number ?? readTo + 1n;
  if (first > readTo + 1n) log({ kind: "expired", webhookId: id, from: readTo + 1n, to: first - 1n });
}
