/** What waits to be delivered to a webhook, for its customer and the operator. */
import type { WebhookId } from "../customers/webhooks/webhook.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";

export interface Backlog {
  /** Those that are tried again, that wait for an earlier one of their object, and that were not read yet, of any type. */
  readonly events: number;
  /** When the first of them was made; undefined: there is none. */
  readonly since: Instant | undefined;
  /** When the next of those is due that were tried already; undefined: there is none. */
  readonly nextAttemptAt: Instant | undefined;
}

/** Some index probes for each, and a scan of its open rows, which are limited. */
export async function readBacklogs(
  database: Queryable,
  ids: readonly WebhookId[],
): Promise<ReadonlyMap<WebhookId, Backlog>> {
  const rows = await database.rows<{
    webhook_id: WebhookId;
    events: string;
    since: Instant | null;
    next_attempt_at: Instant | null;
  }>(BACKLOGS, [ids]);
  return new Map(
    rows.map((row) => {
      const { events, since, next_attempt_at: nextAttemptAt } = row;
      return [
        row.webhook_id,
        { events: Number(events), since: since ?? undefined, nextAttemptAt: nextAttemptAt ?? undefined },
      ];
    }),
  );
}

// Rows behind the place are of events that are counted as not read.
const BACKLOGS = `select p.webhook_id, open.next_attempt_at, waiting.events, first.at as since
  from webhook_progress p
       cross join lateral (
         select count(*) filter (where d.number <= p.read_to) as count, min(d.number) as number,
                min(d.next_attempt_at) as next_attempt_at
           from webhook_delivery d where d.webhook_id = p.webhook_id and d.status <> 'UNDELIVERED') open
       cross join lateral (
         select coalesce(max(number), 0) as number
           from (select first_number + count - 1 as number from event where customer_id = p.customer_id
                  order by first_number desc limit 1) e) last
       cross join lateral (
         select open.count + greatest(0, last.number - p.read_to - cardinality(p.accepted_behind)) as events,
                least(open.number, p.read_to + 1) as number) waiting
       left join lateral (
         select at from event
          where customer_id = p.customer_id and first_number <= waiting.number and waiting.events > 0
          order by first_number desc limit 1) first on true
 where p.webhook_id = any($1::uuid[])`;
