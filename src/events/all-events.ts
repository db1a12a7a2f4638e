/** The events of all customers, cut by cut, for the operator. */
import type { CustomerId } from "../customers/customer-id.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import { type Entry, readEntries } from "./event-rows.ts";
import { findLastCut, readRowsOfCuts } from "./store.ts";

export interface PublishedEvent extends Omit<Entry, "state"> {
  readonly customerId: CustomerId;
  readonly at: Instant;
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
  const events = rows.flatMap((row) =>
    readEntries(row).map(({ state: _, ...entry }) => ({ ...entry, customerId: row.customerId, at: row.at })),
  );
  return { events, lastCut };
}
