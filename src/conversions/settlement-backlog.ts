import type { Queryable } from "../postgres/database.ts";

/** The settlement backlog of all nodes. */
export interface SettlementBacklog {
  /** At most 10,000. */
  readonly count: number;
  /** How long the oldest has been due; 0 if none is. */
  readonly lagMs: number;
}

export async function readSettlementBacklog(database: Queryable, delayMs: number): Promise<SettlementBacklog> {
  const [row] = await database.rows<{ count: number; lag: number | null }>(
    `select count(*)::int as count,
            (extract(epoch from clock_timestamp() - min(created_at)) * 1000 - $1)::float8 as lag
       from (select created_at from conversion
              where status = 'CREATED' and created_at <= clock_timestamp() - $1 * interval '1 millisecond'
              order by created_at limit 10000) due`,
    [delayMs],
  );
  return { count: row?.count ?? 0, lagMs: Math.max(0, row?.lag ?? 0) };
}
