/** Batches of which it is known that another process was in the way: what it has changed, or holds still. */
import type { Database } from "../../postgres/database.ts";
import { keyName, readKeys } from "../tables.ts";
import { guardsOf, keysOf } from "./batch.ts";
import { isConflict, isLockTimeout } from "./batch-conflicts.ts";
import type { InFlightBatch } from "./in-flight-batch.ts";
import { claimsOf } from "./pending-command.ts";
import { readUnheld } from "./unheld-rows.ts";

export type Refusal = "changed" | "held";

/** @returns why the batch is known not to have committed, and the session to go on; undefined when that is not known */
export function refusalOf(batch: InFlightBatch, error: Error): Refusal | undefined {
  if (isLockTimeout(error)) return "held";
  return isConflict(error, claimsOf(batch.decided)) ? "changed" : undefined;
}

/**
 * The key names of a lost batch's rows that another process has changed: their version is not the one that was decided on.
 * After "held", of those that another process holds now, too. They are likely to be changed again.
 */
export async function contestedRows(
  database: Database,
  batch: InFlightBatch | undefined,
  slot: number,
  refusal: Refusal | undefined,
): Promise<string[]> {
  if (batch === undefined) return [];
  const guards = guardsOf(batch.content);
  const keys = keysOf(batch.content);
  const found = await (refusal === "held" ? readUnheld(database, keys, slot) : readKeys(database, keys, slot, "none"));
  const versions = new Map(found.map((key) => [keyName(key), key.row.version]));
  return [...guards]
    .filter(([name, guard]) => {
      const version = versions.get(name);
      // Not found: one that is held, or that the batch opens.
      if (version === undefined) return refusal === "held" && guard !== 0n;
      return version !== guard;
    })
    .map(([name]) => name);
}
