/** Rows that no other transaction holds, found and locked without waiting for those that are held. */
import type { Database, Queryable } from "../../postgres/database.ts";
import { type Key, keyName, readKeys } from "../tables.ts";
import type { PendingCommand } from "./pending-command.ts";

type FoundRows = Awaited<ReturnType<typeof readKeys>>;

/** A command, and those of its rows that another transaction holds. */
export interface HeldCommand {
  readonly pending: PendingCommand;
  readonly keys: readonly Key[];
}

/** What can be decided at once, with the rows that were looked for and those that were locked, and what cannot. */
export interface UnheldCommands {
  readonly free: readonly PendingCommand[];
  readonly keys: readonly Key[];
  readonly rows: FoundRows;
  readonly held: readonly HeldCommand[];
}

/**
 * Locks the rows of these commands that nobody else holds, but for those that this transaction has locked.
 * @param exists whether a row is known to exist: of others it is asked, because those that do not are nobody's
 */
export async function lockUnheld(
  transaction: Queryable,
  commands: readonly PendingCommand[],
  slot: number,
  exists: (key: Key) => boolean,
  lockedBefore: ReadonlySet<string> = new Set(),
): Promise<UnheldCommands> {
  const all = commands.flatMap(({ command }) => command.dependsOn);
  const keys = all.filter((key) => !lockedBefore.has(keyName(key)));
  const [known, unknown] = [keys.filter(exists), keys.filter((key) => !exists(key))];
  const [rows, existing] = await Promise.all([
    readKeys(transaction, keys, slot, "skip locked"),
    readKeys(transaction, unknown, slot, "none, in a transaction"),
  ]);
  const skipped = new Set([...known, ...existing].map(keyName));
  for (const key of rows) skipped.delete(keyName(key));
  const held: HeldCommand[] = [];
  // Also who would not have locked it itself: it would wait for it, or take it for a row that does not exist.
  const free = commands.filter((pending) => {
    const itsKeys = skipped.size === 0 ? [] : pending.command.dependsOn.filter((key) => skipped.has(keyName(key)));
    if (itsKeys.length > 0) held.push({ pending, keys: itsKeys });
    return itsKeys.length === 0;
  });
  if (free.length === 0) await transaction.rows(LOOKING_SETTINGS);
  return { free, keys, rows, held };
}

/** Those of these rows that exist and that no other transaction holds. */
export const readUnheld = (database: Database, keys: readonly Key[], slot: number): Promise<FoundRows> =>
  database.transaction(async (transaction) => {
    await transaction.rows(LOOKING_SETTINGS);
    return readKeys(transaction, keys, slot, "skip locked");
  });

/** A transaction that only locks would else wait until that is durable. */
export const LOOKING_SETTINGS = "select set_config('synchronous_commit', 'off', true)";
