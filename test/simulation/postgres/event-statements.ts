/** The publisher's part of `known-statements.ts`. What it needs only after years, or never, is unknown here. */

import { HISTORY } from "../../../src/postgres/history.ts";
import { insertRow } from "./row-statements.ts";
import type { Run, Statement } from "./statement.ts";
import { pick, type Row } from "./tables.ts";

const CUT = "cut, at, events, slots, heads, market_readers, digest";

const time = (value: unknown): number => (value instanceof Date ? value.getTime() : Number(value));

const numbered = (rows: Row[], column: string): Row[] =>
  rows.sort((a, b) => (BigInt(String(a[column])) < BigInt(String(b[column])) ? -1 : 1));

const lastCut = ({ tables }: Run): Row | undefined => numbered(tables.rows("event_cut"), "cut").at(-1);

/** Rows of a table that batches of a slot added: behind one, up to and with another. */
function addedRows({ tables }: Run, table: string, [slot, after, until]: readonly unknown[], column = "batch"): Row[] {
  const isWithin = (n: bigint): boolean => n > BigInt(String(after)) && n <= BigInt(String(until));
  return tables.rows(table).filter((row) => row.slot === slot && isWithin(BigInt(String(row[column]))));
}

const eventsOf = ({ tables }: Run, customer: unknown): Row[] =>
  numbered(
    tables.rows("event").filter((row) => row.customer_id === customer),
    "first_number",
  );

const countOfCut = ({ tables }: Run, cut: unknown): number =>
  tables
    .rows("event")
    .filter((row) => row.cut === cut)
    .reduce((sum, { count }) => sum + Number(count), 0);

export const eventStatements: Readonly<Record<string, Statement>> = {
  // ledger/stored-batches.ts
  [`with recursive slots(slot) as (
       select min(slot) from batch
       union all
       select (select min(batch.slot) from batch where batch.slot > slots.slot) from slots where slots.slot is not null)
     select slots.slot, head.n, head.hash
       from slots cross join lateral (select n, hash from batch where batch.slot = slots.slot order by n desc limit 1) head
      order by slots.slot`]: ({ tables }) => {
    const heads = new Map(numbered(tables.rows("batch"), "n").map((row) => [Number(row.slot), row]));
    return [...heads].sort(([a], [b]) => a - b).map(([, row]) => pick(row, "slot, n, hash"));
  },

  // events/store.ts
  [`select ${CUT} from event_cut order by cut desc limit 1`]: (run) => {
    const cut = lastCut(run);
    return cut === undefined ? [] : [pick(cut, CUT)];
  },
  "select first_cut from event_retention": () => [{ first_cut: "1" }],
  "select max(cut) as cut from event_cut": (run) => [{ cut: lastCut(run)?.cut ?? null }],
  "select at >= $2 as later from event_cut where cut = $1": ({ tables }, [cut, at]) => {
    const row = tables.get("event_cut", String(cut));
    return row === undefined ? [] : [{ later: Number(row.at) >= time(at) }];
  },
  [`select c.customer_id, e.first_number + e.count - 1 as last
       from unnest($1::uuid[]) as c(customer_id)
            cross join lateral (select first_number, count from event
                                 where customer_id = c.customer_id order by first_number desc limit 1) e`]: (
    run,
    [customers],
  ) =>
    (customers as string[]).flatMap((customer_id) => {
      const row = eventsOf(run, customer_id).at(-1);
      return row === undefined ? [] : [{ customer_id, last: String(Number(row.first_number) + Number(row.count) - 1) }];
    }),
  [`select coalesce(bool_and(e.events = (select coalesce(sum(count), 0) from event where cut = e.cut)), true) as whole
       from event_retention r
            cross join lateral ((select cut, events from event_cut
                                  where cut >= r.first_cut and events > 0 order by cut limit 1)
                                union all
                                (select cut, events from event_cut
                                  where cut >= r.first_cut and events > 0 order by cut desc limit 1)) e`]: (run) => {
    const cuts = numbered(run.tables.rows("event_cut"), "cut").filter(({ events }) => Number(events) > 0);
    const ends = [...cuts.slice(0, 1), ...cuts.slice(-1)];
    return [{ whole: ends.every(({ cut, events }) => countOfCut(run, cut) === Number(events)) }];
  },
  [`select o.place, e.entries::text as entries
       from unnest($1::uuid[], $2::uuid[]) with ordinality as o(customer_id, object_id, place)
            cross join lateral (select entries from event
                                 where customer_id = o.customer_id and object_id = o.object_id and cut < $3
                                 order by first_number desc limit 1) e`]: (run, [customers, objects, before]) =>
    (customers as string[]).flatMap((customer, i) => {
      const own = eventsOf(run, customer).filter((row) => row.object_id === (objects as string[])[i]);
      const row = own.filter(({ cut }) => BigInt(String(cut)) < BigInt(String(before))).at(-1);
      return row === undefined ? [] : [{ place: String(i + 1), entries: row.entries }];
    }),
  [`with written as (
         insert into event_cut (cut, at, events, slots, heads, market_readers, digest, fence)
         select $1::bigint, $2, $3, $4::smallint[], $5::bigint[], $15::json, $6, $7::bigint
          where exists (select from lease where name = $8 and fence = $7::bigint and holder = $9)
            and ($1::bigint = 1 or exists (select from event_cut where cut = $1::bigint - 1))
            and ${HISTORY} = $16
         returning cut, at),
       added as (
         insert into event (customer_id, first_number, cut, at, object_id, count, entries)
         select e.customer_id, e.first_number, written.cut, written.at, e.object_id, e.count, e.entries
           from written cross join unnest($10::uuid[], $11::bigint[], $12::uuid[], $13::int[], $14::json[])
                as e(customer_id, first_number, object_id, count, entries))
       select from written`]: writeCut,

  // events/chain-store.ts
  "select n, at, changes::text as changes from batch where slot = $1 and n > $2 and n <= $3 order by n": (run, range) =>
    numbered(addedRows(run, "batch", range, "n"), "n").map((row) => pick(row, "n, at, changes")),
  [`select batch, id, type, to_customer_id as to, case when from_profile_id is not null then customer_id end as from
       from transfer where slot = $1 and batch > $2 and batch <= $3 and has_steps is null`]: (run, range) =>
    addedRows(run, "transfer", range)
      .filter(({ has_steps }) => has_steps === null)
      .map((row) => ({
        ...pick(row, "batch, id, type"),
        to: row.to_customer_id,
        from: row.from_profile_id === null ? null : row.customer_id,
      })),
  "select batch, id, customer_id from execution where slot = $1 and batch > $2 and batch <= $3": (run, range) =>
    addedRows(run, "execution", range).map((row) => pick(row, "batch, id, customer_id")),
  [`select t.id, t.type from transfer t join unnest($1::uuid[], $2::uuid[]) as k(customer_id, id)
         on t.customer_id = k.customer_id and t.id = k.id`]: ({ tables }, [customers, ids]) =>
    (customers as string[]).flatMap((customer, i) => {
      const row = tables.get("transfer", `${customer}/${(ids as string[])[i]}`);
      return row === undefined ? [] : [pick(row, "id, type")];
    }),
  [`select market, customer_id from booked_order where market = any($1::text[])
      union select market, customer_id from pending_order where market = any($1::text[])
      order by market, customer_id`]: ({ tables }, [markets]) => {
    const open = [...tables.rows("booked_order"), ...tables.rows("pending_order")];
    const found = open.filter(({ market }) => (markets as unknown[]).includes(market));
    const pairs = [...new Set(found.map(({ market, customer_id }) => `${market} ${customer_id}`))].sort();
    return pairs.map((pair) => {
      const [market, customer_id] = pair.split(" ");
      return { market, customer_id };
    });
  },
  "select id, customer_id from profile where id = any($1::uuid[])": ({ tables }, [ids]) =>
    [...new Set(ids as string[])].flatMap((id) => {
      const row = tables.get("profile", id);
      return row === undefined ? [] : [pick(row, "id, customer_id")];
    }),
};

/** The conditions are those of the statement's start; of two that insert the same cut, the second one waits and fails. */
async function writeCut(run: Run, values: readonly unknown[]): Promise<Row[]> {
  const [cut, at, events, slots, heads, digest, fence, name, holder] = values;
  const lease = run.tables.get("lease", String(name));
  const isHeld = lease?.fence === String(fence) && lease.holder === holder;
  const number = BigInt(String(cut));
  const hasPrevious = number === 1n || run.tables.get("event_cut", String(number - 1n)) !== undefined;
  if (!isHeld || !hasPrevious || values[15] !== run.history) return [];
  const readers = values[14] === null ? null : JSON.parse(String(values[14]));
  const row = { cut: String(cut), at: time(at), events, slots, heads: (heads as unknown[]).map(String), digest };
  await insertRow(run, "event_cut", { ...row, market_readers: readers, fence: String(fence) }, false);
  const [customers, firsts, objects, counts, entries] = values.slice(9, 14) as unknown[][];
  for (const [i, customer_id] of (customers ?? []).entries()) {
    const event = { customer_id, first_number: String(firsts?.[i]), object_id: objects?.[i], count: counts?.[i] };
    await insertRow(run, "event", { ...event, cut: String(cut), at: time(at), entries: entries?.[i] }, false);
  }
  return [{}];
}
