/** The SQL by which events are made from the chain: the batches of a slot with what becomes an event. */
import type { CustomerId } from "../../customers/customer-id.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import { type RowChange, readChanges } from "../../ledger/change-history.ts";
import type { Queryable } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import { externalTransferTable } from "../../transfers/external-transfer.ts";
import type { TransferType } from "../../transfers/transfers.ts";
import { type MarketReaders, type ObjectVersion, objectKey, type State, stateAfter } from "../facts.ts";
import type { AddedBatch, EventBatch, ExecutionKey, OrderedBatch, TransferSides } from "./event-batch.ts";

/** Batches of a slot: those behind `after`, up to and with `until`. */
export interface Range {
  readonly slot: number;
  readonly after: bigint;
  readonly until: bigint;
}

/** Of one slot, in order, without what they added. */
export async function readOrderedBatches(database: Queryable, { slot, after, until }: Range): Promise<OrderedBatch[]> {
  const rows = await database.rows<{ n: string; at: Instant; changes: string | null }>(
    `select n, at, changes::text as changes from batch where slot = $1 and n > $2 and n <= $3 order by n`,
    [slot, after, until],
  );
  return rows.map(({ n, at, changes }) => ({ slot, n: BigInt(n), at, written: readChanges(changes ?? undefined) }));
}

/** Of one slot, in order, with what they added. */
export async function readBatches(database: Queryable, range: Range): Promise<AddedBatch[]> {
  const batches = await readOrderedBatches(database, range);
  const transfers = await readTransfers(database, range);
  // A match changes the orders of both sides.
  const matched = batches.some(({ written }) => written.has("orders"));
  const executions = matched ? await readExecutions(database, range) : new Map<string, ExecutionKey[]>();
  return batches.map((batch) => ({
    ...batch,
    transfers: transfers.get(batch.n.toString()) ?? [],
    executions: executions.get(batch.n.toString()) ?? [],
  }));
}

/** Adds what is in no batch: the types of deposits and withdrawals of which the batches have steps. */
export async function withSteppedTypes(database: Queryable, batches: readonly AddedBatch[]): Promise<EventBatch[]> {
  const stepped = batches.flatMap(({ written }) => [...(written.get(externalTransferTable.name)?.values() ?? [])]);
  const steppedTypes = await readTypesOf(database, stepped);
  return batches.map((batch) => ({ ...batch, steppedTypes }));
}

async function readTransfers(
  database: Queryable,
  { slot, after, until }: Range,
): Promise<Map<string, TransferSides[]>> {
  const rows = await database.rows<{
    batch: string;
    id: Uuid;
    type: TransferType;
    from: CustomerId | null;
    to: CustomerId | null;
  }>(
    `select batch, id, type, to_customer_id as to, case when from_profile_id is not null then customer_id end as from
       from transfer where slot = $1 and batch > $2 and batch <= $3 and has_steps is null`,
    [slot, after, until],
  );
  return grouped(rows, ({ batch, id, type, from, to }) => [
    batch,
    { id, type, from: from ?? undefined, to: to ?? undefined },
  ]);
}

/** @param changes of rows of `external_transfer` */
async function readTypesOf(database: Queryable, changes: readonly RowChange[]): Promise<Map<string, TransferType>> {
  if (changes.length === 0) return new Map();
  const rows = await database.rows<{ id: string; type: TransferType }>(
    `select t.id, t.type from transfer t join unnest($1::uuid[], $2::uuid[]) as k(customer_id, id)
         on t.customer_id = k.customer_id and t.id = k.id`,
    [changes.map(({ key }) => key.customer_id), changes.map(({ key }) => key.id)],
  );
  return new Map(rows.map(({ id, type }) => [id, type]));
}

async function readExecutions(
  database: Queryable,
  { slot, after, until }: Range,
): Promise<Map<string, ExecutionKey[]>> {
  const rows = await database.rows<{ batch: string; id: string; customer_id: CustomerId }>(
    "select batch, id, customer_id from execution where slot = $1 and batch > $2 and batch <= $3",
    [slot, after, until],
  );
  return grouped(rows, ({ batch, id, customer_id: customerId }) => [batch, { id: BigInt(id), customerId }]);
}

function grouped<Row, Item>(rows: readonly Row[], read: (row: Row) => readonly [string, Item]): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const row of rows) {
    const [batch, item] = read(row);
    const group = groups.get(batch);
    if (group === undefined) groups.set(batch, [item]);
    else group.push(item);
  }
  return groups;
}

/** Whose profiles these are: never changed. */
export async function readCustomersOf(
  database: Queryable,
  profileIds: readonly ProfileId[],
): Promise<Map<ProfileId, CustomerId>> {
  const rows = await database.rows<{ id: ProfileId; customer_id: CustomerId }>(
    "select id, customer_id from profile where id = any($1::uuid[])",
    [profileIds],
  );
  return new Map(rows.map(({ id, customer_id }) => [id, customer_id]));
}

/** Of each of these markets, the customers who have orders on it that are not closed. */
export async function findMarketReaders(database: Queryable, markets: readonly string[]): Promise<MarketReaders> {
  if (markets.length === 0) return new Map();
  const rows = await database.rows<{ market: string; customer_id: CustomerId }>(
    `select market, customer_id from booked_order where market = any($1::text[])
      union select market, customer_id from pending_order where market = any($1::text[])
      order by market, customer_id`,
    [markets],
  );
  const readers = grouped(rows, ({ market, customer_id: customerId }) => [market, customerId]);
  return new Map(markets.map((market) => [market, readers.get(market) ?? []]));
}

/**
 * The state of each object before a version, from all of its changes, by `objectKey`. Reads the whole chain once for each
 * table: only for what no event has.
 */
export async function replayStates(
  database: Queryable,
  objects: readonly ObjectVersion[],
): Promise<Map<string, State>> {
  const states = new Map<string, State>();
  for (const [table, versions] of grouped(objects, (version) => [version.table, version])) {
    const found = await database.rows<{ place: string; change: string }>(
      `select o.place, c::text as change
         from batch b cross join json_array_elements(b.changes -> $1) c
              join unnest($2::text[], $3::bigint[]) with ordinality as o(id, version, place) on o.id = c -> 'key' ->> 'id'
        where b.changes -> $1 is not null and (c ->> 'version')::bigint < o.version
        order by o.place, (c ->> 'version')::bigint`,
      [table, versions.map(({ objectId }) => objectId), versions.map(({ change }) => change.version)],
    );
    for (const version of versions) states.set(objectKey(version), {});
    for (const { place, change } of found) {
      const version = must(versions[Number(place) - 1], "the place is of one of them");
      const key = objectKey(version);
      for (const one of readChanges(`{"rows":[${change}]}`).get("rows")?.values() ?? [])
        states.set(key, stateAfter({ table: version.table, change: one }, states.get(key)));
    }
  }
  return states;
}
