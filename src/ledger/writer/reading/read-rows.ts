/** Reads rows that commands depend on and that are not in memory. */
import type { Queryable } from "../../../postgres/database.ts";
import { readKeys } from "../../tables.ts";
import type { Decider } from "../decider.ts";
import type { PendingCommand } from "../pending-command.ts";
import type { Slot } from "../slot-chain.ts";

/** @returns the commands that still wait; their rows are now known */
export async function readRows(
  database: Queryable,
  decider: Decider,
  slot: Slot,
  group: readonly PendingCommand[],
): Promise<readonly PendingCommand[]> {
  const some = group.filter((pending) => !pending.isComplete);
  const { epoch } = decider;
  const keys = some.flatMap((pending) => decider.unknown(pending));
  const rows = await readKeys(database, keys, slot.number, "none");
  if (epoch === decider.epoch) decider.remember(keys, rows, some);
  return some;
}
