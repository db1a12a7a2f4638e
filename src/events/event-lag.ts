import type { Queryable } from "../postgres/database.ts";

/** How long the oldest batch behind the last cut has waited for its events; 0 when there is none. An index probe per slot. */
export async function readEventLag(database: Queryable): Promise<number> {
  const [row] = await database.rows<{ lag: number | null }>(
    `with recursive slots(slot) as (
       select min(slot) from batch
       union all
       select (select min(batch.slot) from batch where batch.slot > slots.slot) from slots where slots.slot is not null),
     published as (
       select t.slot, t.n
         from (select slots, heads from event_cut order by cut desc limit 1) last,
              unnest(last.slots, last.heads) as t(slot, n))
     select (extract(epoch from clock_timestamp() - min(b.at)) * 1000)::float8 as lag
       from slots left join published using (slot)
            join batch b on b.slot = slots.slot and b.n = coalesce(published.n + 1, 0)`,
  );
  return Math.max(0, row?.lag ?? 0);
}
