import type { Queryable } from "../postgres/database.ts";

export interface DeliveryLag {
  /**
   * How long the oldest event that was not posted yet has waited, of the webhooks whose receivers accept; 0 when there is
   * none. Events that are tried again, and what waits for them, are in `open`. To those of a disabled customer nothing is posted.
   */
  readonly lagMs: number;
  /**
   * Active webhooks whose receivers have accepted nothing since they began to fail, and for how long the first of them. Those of
   * which nothing is tried again, and nothing was tried for two days, are not known to fail any more.
   */
  readonly failing: number;
  readonly failingMs: number;
  /** By status, up to `MOST_COUNTED` in all. */
  readonly open: Readonly<Record<"RETRYING" | "BLOCKED" | "UNDELIVERED", number>>;
}

const MOST_COUNTED = 100_000;

/** An index probe for each active webhook, and a scan of what is open, which is limited. */
export async function readDeliveryLag(database: Queryable): Promise<DeliveryLag> {
  const [places] = await database.rows<{ lag: number | null; failing: number; failing_for: number | null }>(
    `select (extract(epoch from clock_timestamp() - min(e.at)) * 1000)::float8 as lag,
            count(f.since)::int as failing,
            (extract(epoch from clock_timestamp() - min(f.since)) * 1000)::float8 as failing_for
       from webhook w
            join webhook_progress p on p.webhook_id = w.id
            join customer c on c.id = w.customer_id and c.disabled_at is null
            left join lateral (select at, first_number + count as behind from event
                                where customer_id = w.customer_id and first_number <= p.read_to + 1
                                order by first_number desc limit 1) e
                   on e.behind > p.read_to + 1 and p.failing_since is null
            left join lateral (select p.failing_since as since
                                where p.last_failure_at > clock_timestamp() - interval '2 days'
                                   or exists (select from webhook_delivery
                                               where webhook_id = w.id and status <> 'UNDELIVERED')) f on true
      where w.active_place is not null`,
  );
  const open = await database.rows<{ status: keyof DeliveryLag["open"]; count: number }>(
    `select status, count(*)::int as count from (select status from webhook_delivery limit ${MOST_COUNTED}) d group by status`,
  );
  return {
    lagMs: Math.max(0, places?.lag ?? 0),
    failing: places?.failing ?? 0,
    failingMs: Math.max(0, places?.failing_for ?? 0),
    open: {
      ...{ RETRYING: 0, BLOCKED: 0, UNDELIVERED: 0 },
      ...Object.fromEntries(open.map(({ status, count }) => [status, count])),
    },
  };
}
