/** Removes events that are too old to be listed, some cuts at a time. */
import type { Database } from "../postgres/database.ts";
import type { Clock, Instant } from "../std/clock.ts";
import { findCutAt, readFirstCut, removeRowsOfCuts, setFirstCut } from "./store.ts";

export interface RetentionOptions {
  readonly clock: Clock;
  /** How long events are listed. */
  readonly keptMs: number;
}

const CUTS_AT_ONCE = 1_000n;

/**
 * First says from where on events are listed, then removes what is before: no list has holes. Of each customer the last row
 * stays, from which its numbers go on, and the last one of each object that may still change, for its state.
 *
 * @returns whether there is more to remove
 */
export async function removeOldEvents(database: Database, { clock, keptMs }: RetentionOptions): Promise<boolean> {
  const first = await readFirstCut(database);
  const wanted = await findCutAt(database, (clock.now() - keptMs) as Instant);
  if (wanted <= first) return false;
  const next = wanted > first + CUTS_AT_ONCE ? first + CUTS_AT_ONCE : wanted;
  await setFirstCut(database.commits, next);
  await removeRowsOfCuts(database.commits, first, next - 1n, next);
  return next < wanted;
}
