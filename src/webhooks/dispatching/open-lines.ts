/** Takes webhooks over from the process that delivered to them before. */
import type { DeliverableWebhook } from "../../customers/webhooks/webhook.ts";
import type { Lease } from "../../postgres/leases.ts";
import { must } from "../../std/assert.ts";
import { withinSchedule } from "../queues/retry-schedule.ts";
import { claimProgress, readOpenRows, removeRowsBehindPlace } from "../store.ts";
import { Line } from "./line.ts";
import type { DispatcherOptions } from "./options.ts";

/**
 * Those that have changed since their settings were read are left to the next look, which reads the new ones.
 * @returns nothing if the lease is no longer this one
 */
export async function openLines(
  { database, clock }: Pick<DispatcherOptions, "database" | "clock">,
  lease: Lease,
  webhooks: readonly DeliverableWebhook[],
): Promise<Line[]> {
  const byId = new Map(webhooks.map((webhook) => [webhook.id, webhook]));
  const keepBehind = webhooks.filter(({ deliveryOrder }) => deliveryOrder === "strict").map(({ id }) => id);
  const { progress, rows } = await database.transaction(async (transaction) => {
    const claimed = await claimProgress(transaction, lease, webhooks);
    const claimedIds = claimed.map(({ webhookId }) => webhookId);
    await removeRowsBehindPlace(
      transaction,
      claimedIds.filter((id) => !keepBehind.includes(id)),
    );
    return { progress: claimed, rows: await readOpenRows(transaction, claimedIds) };
  });
  return progress.map((stored) => {
    const webhook = must(byId.get(stored.webhookId), "it was asked for");
    const now = clock.now();
    const open = (rows.get(stored.webhookId) ?? []).map((row) => withinSchedule(row, now));
    return new Line(webhook, stored.version, { now, random: Math.random, stored, rows: open });
  });
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
