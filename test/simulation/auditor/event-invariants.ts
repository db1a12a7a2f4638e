/**
 * What must hold of events, worked out from the rows and the chain without the publisher's code: each fact is one event, none
 * is missing, numbers have no gap, and an object is shown as its version left it.
 */
import { type RowChange, readChanges } from "../../../src/ledger/change-history.ts";
import type { Commit } from "../postgres/simulated-postgres.ts";
import type { Row, Tables } from "../postgres/tables.ts";
import { invariant } from "./invariants.ts";

const count = (value: unknown): bigint => BigInt(String(value));

/** A cut follows the one before it, and its rows are consecutive events of a customer. */
export function checkCut({ changes }: Commit, tables: Tables): void {
  for (const { table, key, row, before } of changes) {
    if (table !== "event" && table !== "event_cut") continue;
    invariant(before === undefined && row !== undefined, `${table} ${key} is written once and stays`);
    if (table === "event_cut") checkPlace(row, tables);
    else checkNumbers(key, row, tables);
  }
}

function checkPlace(cut: Row, tables: Tables): void {
  const number = count(cut.cut);
  const before = tables.get("event_cut", String(number - 1n));
  invariant(number === 1n || before !== undefined, `cut ${number} follows the one before it`);
  if (before === undefined) return;
  const heads = headsOf(cut);
  for (const [slot, n] of headsOf(before)) {
    invariant((heads.get(slot) ?? -1n) >= n, `cut ${number} does not go back in slot ${slot}`);
  }
  invariant(Number(cut.at) >= Number(before.at), `cut ${number} is not earlier than the one before it`);
}

function checkNumbers(key: string, { customer_id, first_number, entries, count: told }: Row, tables: Tables): void {
  invariant((JSON.parse(String(entries)) as unknown[]).length === told, `event ${key} holds ${told} events`);
  const own = tables.rows("event").filter((row) => row.customer_id === customer_id);
  const isTaken = own.some(
    (row) =>
      row.first_number !== first_number &&
      count(row.first_number) < count(first_number) + count(told) &&
      count(first_number) < count(row.first_number) + count(row.count),
  );
  invariant(!isTaken, `the numbers of event ${key} are its own`);
}

function headsOf({ slots, heads }: Row): Map<number, bigint> {
  return new Map((slots as number[]).map((slot, place) => [slot, count((heads as string[])[place])]));
}

/** Whether every batch is in a cut. */
export function areAllPublished(tables: Tables): boolean {
  const cuts = tables.rows("event_cut").sort((a, b) => Number(a.cut) - Number(b.cut));
  const heads = headsOf(cuts.at(-1) ?? { slots: [], heads: [] });
  return tables.rows("batch").every(({ slot, n }) => count(n) <= (heads.get(Number(slot)) ?? -1n));
}

interface Event {
  readonly customer: string;
  readonly number: bigint;
  readonly cut: bigint;
  readonly type: string;
  readonly objectId: string;
  readonly version: number | undefined;
  readonly state: Readonly<Record<string, string>> | undefined;
}

/** Call when every batch is published. */
export function checkEvents(tables: Tables): void {
  const events = eventsIn(tables);
  checkGaps(events);
  checkRecords(events, tables);
  checkVersions(events, tables);
}

function eventsIn(tables: Tables): Event[] {
  const rows = tables.rows("event").sort((a, b) => (count(a.first_number) < count(b.first_number) ? -1 : 1));
  return rows.flatMap((row) =>
    (JSON.parse(String(row.entries)) as [string, string, number?, Event["state"]?][]).map(
      ([type, objectId, version, state], place) => ({
        customer: String(row.customer_id),
        number: count(row.first_number) + BigInt(place),
        cut: count(row.cut),
        ...{ type, objectId, version, state },
      }),
    ),
  );
}

function checkGaps(events: readonly Event[]): void {
  const last = new Map<string, Event>();
  for (const event of events) {
    const before = last.get(event.customer);
    invariant(
      event.number === (before?.number ?? 0n) + 1n,
      `event ${event.number} of ${event.customer} has no gap before it`,
    );
    invariant(event.cut >= (before?.cut ?? 0n), `events of ${event.customer} rise with their cuts`);
    last.set(event.customer, event);
  }
}

/** Transfers without steps, for each side, and executions: exactly one event each. */
function checkRecords(events: readonly Event[], tables: Tables): void {
  const expected = tables
    .rows("transfer")
    .flatMap(({ id, has_steps, customer_id, from_profile_id, to_customer_id, type }) => {
      if (has_steps !== null) return [];
      const isPaired = /_TRANSFER$/.test(String(type));
      if (!isPaired) return [`${customer_id} ${id}`];
      const credit = `${String(id).slice(0, -1)}${(Number.parseInt(String(id).slice(-1), 16) + 1).toString(16)}`;
      return [
        ...(from_profile_id === null ? [] : [`${customer_id} ${id}`]),
        ...(to_customer_id === null ? [] : [`${to_customer_id} ${credit}`]),
      ];
    });
  for (const { id, customer_id } of tables.rows("execution")) expected.push(`${customer_id} ${id}`);
  const told = events.flatMap(({ customer, objectId, version }) =>
    version === undefined ? [`${customer} ${objectId}`] : [],
  );
  const missing = [...expected].sort();
  const found = [...told].sort();
  invariant(found.length === missing.length, `${missing.length} transfers and executions are ${found.length} events`);
  for (const [place, name] of missing.entries())
    invariant(found[place] === name, `${name} is one event, not ${found[place]}`);
}

const UNSEEN = new Set(["incoming_count", "last_deactivation"]);

/** Of each object, every version that changes what is seen, in order, with what its columns held after it. */
function checkVersions(events: readonly Event[], tables: Tables): void {
  const told = new Map<string, Event[]>();
  for (const event of events) {
    if (event.version === undefined || event.type.startsWith("market.")) continue;
    told.set(event.objectId, [...(told.get(event.objectId) ?? []), event]);
  }
  for (const [objectId, changes] of changesOf(tables)) {
    const seen = told.get(objectId) ?? [];
    told.delete(objectId);
    const state: Record<string, string | null> = {};
    let place = 0;
    for (const change of changes) {
      Object.assign(state, change.values);
      const isSeen = change.version === 1n || Object.keys(change.values).some((name) => !UNSEEN.has(name));
      const before = place;
      for (; seen[place]?.version === Number(change.version); place += 1)
        checkState(seen[place] as Event, state, `version ${change.version} of ${objectId}`);
      invariant(!isSeen || place > before, `version ${change.version} of ${objectId} is an event`);
    }
    invariant(place === seen.length, `the events of ${objectId} come in the order of its versions, each once`);
  }
  invariant(told.size === 0, `events are of objects that exist, not of ${[...told.keys()]}`);
}

function checkState({ state = {} }: Event, after: Readonly<Record<string, string | null>>, name: string): void {
  const wanted = Object.entries(after).filter(([column, value]) => value !== null && !UNSEEN.has(column));
  const same = (entries: readonly [string, unknown][]) =>
    JSON.stringify([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
  invariant(same(wanted) === same(Object.entries(state)), `${name} is shown as it was then: ${same(wanted)}`);
}

/** Of each object, its changes in the order of its versions. */
function changesOf(tables: Tables): Map<string, RowChange[]> {
  const changes = new Map<string, RowChange[]>();
  for (const batch of tables.rows("batch")) {
    const written = readChanges((batch.changes as string | null) ?? undefined);
    for (const table of ["conversion", "external_transfer", "orders", "profile", "webhook_disabling"])
      for (const change of written.get(table)?.values() ?? []) {
        const id = String(change.key.id);
        changes.set(id, [...(changes.get(id) ?? []), change]);
      }
  }
  for (const own of changes.values()) own.sort((a, b) => (a.version < b.version ? -1 : 1));
  return changes;
}
