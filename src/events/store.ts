/** The SQL of cuts and of the rows of events. */
import type { CustomerId } from "../customers/customer-id.ts";
import type { SqlRecord } from "../ledger/tables.ts";
import { type Queryable, serverError, sqlTime } from "../postgres/database.ts";
import { HISTORY } from "../postgres/history.ts";
import type { Lease } from "../postgres/leases.ts";
import { IS_BETWEEN_PLACES, type Places } from "../postgres/physical-order.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import { type EventRow, readEntries } from "./event-rows.ts";
import { LAST_TYPES } from "./event-types.ts";
import { type MarketReaders, type ObjectVersion, objectKey, type State } from "./facts.ts";
import type { Heads } from "./publishing/event-batch.ts";

// Cuts ---------------------------------------------------------------------------------------------------------------

export interface Cut {
  readonly number: bigint;
  readonly at: Instant;
  readonly events: number;
  readonly heads: Heads;
  readonly marketReaders: MarketReaders;
  readonly digest: Buffer;
}

interface CutRecord {
  readonly cut: string;
  readonly at: Instant;
  readonly events: number;
  readonly slots: readonly number[];
  readonly heads: readonly string[];
  readonly market_readers: Readonly<Record<string, readonly CustomerId[]>> | null;
  readonly digest: Buffer;
}

const CUT = "cut, at, events, slots, heads, market_readers, digest";

function readCut({ cut, at, events, slots, heads, market_readers: readers, digest }: CutRecord): Cut {
  const bySlot = slots.map((slot, place): [number, bigint] => [slot, BigInt(heads[place] ?? -1)]);
  const marketReaders = new Map(Object.entries(readers ?? {}));
  return { number: BigInt(cut), at, events, heads: new Map(bySlot), marketReaders, digest };
}

export async function findLastCut(database: Queryable): Promise<Cut | undefined> {
  const [row] = await database.rows<CutRecord>(`select ${CUT} from event_cut order by cut desc limit 1`);
  return row && readCut(row);
}

/** Of those that are listed, the latest first. */
export async function readLastCuts(database: Queryable, limit: number): Promise<Cut[]> {
  const rows = await database.rows<CutRecord>(
    `select ${CUT} from event_cut where cut >= (select first_cut from event_retention) order by cut desc limit $1`,
    [limit],
  );
  return rows.map(readCut);
}

/** In order, from this number on. */
export async function readCuts(database: Queryable, from: bigint, limit: number): Promise<Cut[]> {
  const rows = await database.rows<CutRecord>(`select ${CUT} from event_cut where cut >= $1 order by cut limit $2`, [
    from,
    limit,
  ]);
  return rows.map(readCut);
}

/** From which cut on events are listed. */
export async function readFirstCut(database: Queryable): Promise<bigint> {
  const [row] = await database.rows<{ first_cut: string }>("select first_cut from event_retention");
  return BigInt(row?.first_cut ?? 1);
}

/** The first cut at this time or after. */
export async function findCutAt(database: Queryable, at: Instant): Promise<bigint> {
  const [last] = await database.rows<{ cut: string | null }>("select max(cut) as cut from event_cut");
  return firstOf(BigInt(last?.cut ?? 0), async (cut) => {
    const [row] = await database.rows<{ later: boolean }>("select at >= $2 as later from event_cut where cut = $1", [
      cut,
      sqlTime(at),
    ]);
    return row?.later ?? true;
  });
}

/** By bisection, the first of 1 to `last` that is so, if all after it are; else the next one. */
async function firstOf(last: bigint, isSo: (number: bigint) => Promise<boolean>): Promise<bigint> {
  let [low, high] = [1n, last + 1n];
  while (low < high) {
    const middle = (low + high) / 2n;
    if (await isSo(middle)) high = middle;
    else low = middle + 1n;
  }
  return low;
}

const UNIQUE_VIOLATION = "23505";

/**
 * Writes a cut and its events in one statement, if the lease is still this one, in the history in which all of it was read: the
 * former primary may have had batches that its successor lacks.
 * @returns false if another publisher has the lease, or wrote this cut, or another history has begun: then nothing was written
 */
export async function writeCut(
  database: Queryable,
  { lease, history }: { readonly lease: Lease; readonly history: string },
  cut: Cut,
  rows: readonly EventRow[],
): Promise<boolean> {
  const heads = [...cut.heads].sort(([a], [b]) => a - b);
  try {
    const written = await database.rows(
      `with written as (
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
       select from written`,
      [
        cut.number,
        sqlTime(cut.at),
        cut.events,
        heads.map(([slot]) => slot),
        heads.map(([, n]) => n),
        cut.digest,
        lease.fence,
        lease.name,
        lease.holder,
        ...columnsOfRows(rows),
        cut.marketReaders.size === 0 ? null : JSON.stringify(Object.fromEntries(cut.marketReaders)),
        history,
      ],
    );
    return written.length === 1;
  } catch (error) {
    if (serverError(error)?.code === UNIQUE_VIOLATION) return false;
    throw error;
  }
}

function columnsOfRows(rows: readonly EventRow[]): unknown[][] {
  return [
    rows.map(({ customerId }) => customerId),
    rows.map(({ firstNumber }) => firstNumber),
    rows.map(({ objectId }) => objectId ?? null),
    rows.map(({ count }) => count),
    rows.map(({ entries }) => entries),
  ];
}

// Events -------------------------------------------------------------------------------------------------------------

/** A row as it is stored. */
export interface StoredRow extends EventRow {
  readonly cut: bigint;
  readonly at: Instant;
}

interface RowRecord {
  readonly customer_id: CustomerId;
  readonly first_number: string;
  readonly cut: string;
  readonly at: Instant;
  readonly object_id: string | null;
  readonly count: number;
  readonly entries: string;
}

const ROW = "customer_id, first_number, cut, at, object_id, count, entries::text as entries";

function readRow(row: RowRecord): StoredRow {
  return {
    customerId: row.customer_id,
    firstNumber: BigInt(row.first_number),
    cut: BigInt(row.cut),
    at: row.at,
    objectId: row.object_id ?? undefined,
    count: row.count,
    entries: row.entries,
  };
}

/** The number of the last event of each of these customers; absent: it has none. */
export async function readLastNumbers(
  database: Queryable,
  customerIds: readonly CustomerId[],
): Promise<Map<CustomerId, bigint>> {
  const rows = await database.rows<{ customer_id: CustomerId; last: string }>(
    `select c.customer_id, e.first_number + e.count - 1 as last
       from unnest($1::uuid[]) as c(customer_id)
            cross join lateral (select first_number, count from event
                                 where customer_id = c.customer_id order by first_number desc limit 1) e`,
    [customerIds],
  );
  return new Map(rows.map(({ customer_id, last }) => [customer_id, BigInt(last)]));
}

/** The number of a customer's last event, and its cut; 0 without any. */
export async function readLastNumber(
  database: Queryable,
  customerId: CustomerId,
): Promise<{ readonly last: bigint; readonly cut: bigint }> {
  const [row] = await database.rows<{ last: string; cut: string }>(
    `select first_number + count - 1 as last, cut from event
      where customer_id = $1 order by first_number desc limit 1`,
    [customerId],
  );
  return { last: BigInt(row?.last ?? 0), cut: BigInt(row?.cut ?? 0) };
}

/** Whether the first cut that is listed and the last one have as many events as they say. */
export async function hasEndsOfLog(database: Queryable): Promise<boolean> {
  const [row] = await database.rows<{ whole: boolean }>(
    `select coalesce(bool_and(e.events = (select coalesce(sum(count), 0) from event where cut = e.cut)), true) as whole
       from event_retention r
            cross join lateral ((select cut, events from event_cut
                                  where cut >= r.first_cut and events > 0 order by cut limit 1)
                                union all
                                (select cut, events from event_cut
                                  where cut >= r.first_cut and events > 0 order by cut desc limit 1)) e`,
  );
  return row?.whole === true;
}

/** An object as of which the state is wanted, before one of its versions. */
export interface Before {
  readonly customerId: CustomerId;
  readonly version: ObjectVersion;
}

/** The state of each object at its last event in a cut before this one, by `objectKey`. */
export async function readLastStates(
  database: Queryable,
  objects: readonly Before[],
  beforeCut: bigint,
): Promise<Map<string, State>> {
  const rows = await database.rows<{ place: string; entries: string }>(
    `select o.place, e.entries::text as entries
       from unnest($1::uuid[], $2::uuid[]) with ordinality as o(customer_id, object_id, place)
            cross join lateral (select entries from event
                                 where customer_id = o.customer_id and object_id = o.object_id and cut < $3
                                 order by first_number desc limit 1) e`,
    [objects.map(({ customerId }) => customerId), objects.map(({ version }) => version.objectId), beforeCut],
  );
  const states = new Map<string, State>();
  for (const { place, entries } of rows) {
    const object = objects[Number(place) - 1];
    const state = readEntries({ firstNumber: 1n, entries }).at(-1)?.state;
    if (object !== undefined && state !== undefined) states.set(objectKey(object.version), state);
  }
  return states;
}

/** The rows of a customer that hold a number from `from` on and below `before`, of those that are listed. */
export async function readRowsWithin(
  database: Queryable,
  customerId: CustomerId,
  from: bigint,
  before: bigint,
): Promise<StoredRow[]> {
  const rows = await database.rows<RowRecord>(
    `select ${ROW} from event
      where customer_id = $1 and first_number < $3 and first_number + count > $2
        and first_number >= coalesce(
              (select first_number from event
                where customer_id = $1 and first_number <= $2 order by first_number desc limit 1), 0)
        and cut >= (select first_cut from event_retention)
      order by first_number`,
    [customerId, from, before],
  );
  return rows.map(readRow);
}

/** The rows of an object that changes, with numbers from `from` on. */
export async function readRowsOfObject(
  database: Queryable,
  customerId: CustomerId,
  objectId: Uuid,
  from: bigint,
  limit: number,
): Promise<StoredRow[]> {
  const rows = await database.rows<RowRecord>(
    `select ${ROW} from event
      where customer_id = $1 and object_id = $2 and first_number + count > $3 order by first_number limit $4`,
    [customerId, objectId, from, limit],
  );
  return rows.map(readRow);
}

/** The number of the customer's first event that is in this cut or a later one; undefined: there is none. */
export async function findNumberFromCut(
  database: Queryable,
  customerId: CustomerId,
  cut: bigint,
): Promise<bigint | undefined> {
  const { last } = await readLastNumber(database, customerId);
  const number = await firstOf(last, async (middle) => {
    const [row] = await database.rows<{ later: boolean }>(
      `select cut >= $3 as later from event
        where customer_id = $1 and first_number <= $2 order by first_number desc limit 1`,
      [customerId, middle, cut],
    );
    return row?.later ?? false;
  });
  return number > last ? undefined : number;
}

/** The rows of all customers in these cuts, up to a limit beyond which the rest is left out. */
export async function readRowsOfCuts(
  database: Queryable,
  from: bigint,
  until: bigint,
  limit: number | null = null,
): Promise<StoredRow[]> {
  const rows = await database.rows<RowRecord>(
    `select ${ROW} from event where cut >= $1 and cut <= $2 order by cut, customer_id, first_number limit $3`,
    [from, until, limit],
  );
  return rows.map(readRow);
}

/** Which of these customers have events in these cuts. */
export async function findCustomersWithNews(
  database: Queryable,
  customerIds: readonly CustomerId[],
  from: bigint,
  until: bigint,
): Promise<CustomerId[]> {
  const rows = await database.rows<{ customer_id: CustomerId }>(
    "select distinct customer_id from event where cut >= $1 and cut <= $2 and customer_id = any($3::uuid[])",
    [from, until, customerIds],
  );
  return rows.map(({ customer_id }) => customer_id);
}

// Retention ----------------------------------------------------------------------------------------------------------

export async function setFirstCut(database: Queryable, cut: bigint): Promise<void> {
  await database.rows("update event_retention set first_cut = $1 where first_cut < $1", [cut]);
}

/** Removes the rows of these cuts. Keeps what rows of `firstKept` and later need. */
export async function removeRowsOfCuts(
  database: Queryable,
  from: bigint,
  until: bigint,
  firstKept: bigint,
): Promise<void> {
  await database.rows(
    `delete from event e
      where e.cut >= $1 and e.cut <= $2
        and exists (select from event later where later.customer_id = e.customer_id and later.first_number > e.first_number)
        and (e.object_id is null or e.entries -> -1 ->> 0 = any($4)
             or exists (select from event later
                         where later.customer_id = e.customer_id and later.object_id = e.object_id
                           and later.first_number > e.first_number and later.cut < $3))`,
    [from, until, firstKept, LAST_TYPES],
  );
}

// Objects ------------------------------------------------------------------------------------------------------------

/** Rows of a table by their ids, if they are the customer's. */
export function readObjects(
  database: Queryable,
  { name, columns, idType }: { readonly name: string; readonly columns: string; readonly idType: string },
  customerId: CustomerId,
  ids: readonly string[],
): Promise<SqlRecord[]> {
  return database.rows<SqlRecord>(
    `select ${columns} from ${name} where customer_id = $1 and id = any($2::${idType}[])`,
    [customerId, ids],
  );
}

const ID_TYPES = { execution: "bigint", conversion: "uuid", orders: "uuid" } as const;

/** Those of these ids, as text, that are of the profile. */
export async function findIdsOfProfile(
  database: Queryable,
  table: keyof typeof ID_TYPES,
  {
    customerId,
    profileId,
    ids,
  }: Readonly<Record<"customerId" | "profileId", string>> & { readonly ids: readonly string[] },
): Promise<string[]> {
  const rows = await database.rows<{ id: string }>(
    `select id::text from ${table} where profile_id = $1 and customer_id = $2 and id = any($3::${ID_TYPES[table]}[])`,
    [profileId, customerId, ids],
  );
  return rows.map(({ id }) => id);
}

// For verify ---------------------------------------------------------------------------------------------------------

/** Of each of these rows, its customer's row before it. */
export async function readRowsBefore(
  database: Queryable,
  rows: readonly Pick<EventRow, "customerId" | "firstNumber">[],
): Promise<Map<CustomerId, { readonly cut: bigint; readonly lastNumber: bigint }>> {
  const found = await database.rows<{ customer_id: CustomerId; cut: string; last: string }>(
    `select r.customer_id, e.cut, e.first_number + e.count - 1 as last
       from unnest($1::uuid[], $2::bigint[]) as r(customer_id, first_number)
            cross join lateral (select cut, first_number, count from event
                                 where customer_id = r.customer_id and first_number < r.first_number
                                 order by first_number desc limit 1) e`,
    [rows.map(({ customerId }) => customerId), rows.map(({ firstNumber }) => firstNumber)],
  );
  return new Map(
    found.map(({ customer_id, cut, last }) => [customer_id, { cut: BigInt(cut), lastNumber: BigInt(last) }]),
  );
}

/** Of these places, the rows of cuts that do not exist. A cut and its rows become visible together. */
export async function findRowsWithoutCut(
  database: Queryable,
  places: Places,
): Promise<Pick<EventRow, "customerId" | "firstNumber">[]> {
  const rows = await database.rows<Pick<RowRecord, "customer_id" | "first_number">>(
    `select customer_id, first_number from event
      where ${IS_BETWEEN_PLACES} and (cut > (select coalesce(max(cut), 0) from event_cut) or cut < 1)`,
    places,
  );
  return rows.map((row) => ({ customerId: row.customer_id, firstNumber: BigInt(row.first_number) }));
}

// Rebuilding ---------------------------------------------------------------------------------------------------------

export async function deleteAllRows(database: Queryable): Promise<void> {
  await database.rows("delete from event");
}

export async function addRows(database: Queryable, { number, at }: Cut, rows: readonly EventRow[]): Promise<void> {
  await database.rows(
    `insert into event (customer_id, first_number, cut, at, object_id, count, entries)
     select e.customer_id, e.first_number, $1, $2, e.object_id, e.count, e.entries
       from unnest($3::uuid[], $4::bigint[], $5::uuid[], $6::int[], $7::json[])
            as e(customer_id, first_number, object_id, count, entries)`,
    [number, sqlTime(at), ...columnsOfRows(rows)],
  );
}
