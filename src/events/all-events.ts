/** The events of all customers, cut by cut, for the operator. */
import type { CustomerId } from "../customers/customer-id.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import { type Entry, readEntries } from "./event-rows.ts";
import { findLastCut, readLastCuts, readRowsOfCuts, type StoredRow } from "./store.ts";

export interface PublishedEvent extends Omit<Entry, "state"> {
  readonly customerId: CustomerId;
  readonly at: Instant;
}

/** The latest, the oldest of them first. */
export async function readLatestEvents(database: Queryable, most: number): Promise<PublishedEvent[]> {
  const cuts = await readLastCuts(database, most);
  const last = cuts[0]?.number;
  if (last === undefined) return [];
  // Each cut has a bound, and as many as there are events at most are wanted.
  let [from, events] = [last, 0];
  for (const cut of cuts) {
    if (events >= most) break;
    from = cut.number;
    events += cut.events;
  }
  const rows = await readRowsOfCuts(database, from, last);
  return rows.flatMap(eventsOf).slice(-most);
}

/** Cuts that are read at once: each has a bound. */
const CUTS = 500n;

export async function findLastCutNumber(database: Queryable): Promise<bigint> {
  return (await findLastCut(database))?.number ?? 0n;
}

/** The events of the next cuts. @returns with the number of the last of these cuts */
export async function readEventsAfter(
  database: Queryable,
  cut: bigint,
): Promise<{ readonly events: readonly PublishedEvent[]; readonly lastCut: bigint }> {
  const last = await findLastCutNumber(database);
  const lastCut = last - cut > CUTS ? cut + CUTS : last;
  const rows = lastCut > cut ? await readRowsOfCuts(database, cut + 1n, lastCut) : [];
  return { events: rows.flatMap(eventsOf), lastCut };
}

function eventsOf(row: StoredRow): PublishedEvent[] {
  return readEntries(row).map(({ state: _, ...entry }) => ({ ...entry, customerId: row.customerId, at: row.at }));
}
