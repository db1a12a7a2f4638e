/** A batch that was sent and is not answered yet. */
import type { Database } from "../../postgres/database.ts";
import { type Key, keyName, readKeys } from "../rows.ts";
import { guardsOf } from "./batch.ts";
import type { DecidedBatch } from "./deciding.ts";
import type { CommittedBatch } from "./lane-options.ts";
import type { Link } from "./slot.ts";

export interface InFlightBatch extends DecidedBatch {
  readonly link: Link;
  /** By the clock that never steps. */
  readonly sentMs: number;
}

export function dispatch(batch: DecidedBatch, link: Link): InFlightBatch {
  return { ...batch, link, sentMs: performance.now() };
}

/** What is told of a batch that is durable by now. */
export function committed({ link: { slot, n }, decided, sentMs }: InFlightBatch): CommittedBatch {
  const commands = decided.map(({ waiting }) => waiting.command);
  return { slot, n, commands, ms: performance.now() - sentMs };
}

/** The names of its rows that are not as it had decided on: somebody else has moved them. */
export async function movedRows(database: Database, { content }: InFlightBatch, slot: number): Promise<string[]> {
  const guards = guardsOf(content);
  const keys = content.states.flatMap(({ table, opened, changed, checked }) =>
    [...opened, ...changed, ...checked].map((row): Key => ({ table, key: table.keyOf(row) })),
  );
  const now = await readKeys(database, keys, slot, "none");
  return now.filter((key) => guards.get(keyName(key)) !== key.row.seq).map(keyName);
}
