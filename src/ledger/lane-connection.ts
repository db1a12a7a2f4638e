/** The lane's own connection: pipelined, and with settings under which its statements cannot go astray. */
import type pg from "pg";
import { type Database, serverError } from "../postgres/database.ts";
import type { Clock } from "../std/clock.ts";

/**
 * A batch's statement joins a few hundred keys to tables by their primary keys, and is planned once for good. Left
 * alone, the planner makes that one plan while the tables are small and reads them whole for ever after; so every other
 * way than the index is closed to it. Locks and statements that take too long give up: the batch then fails as a whole
 * and is decided again.
 */
const SETTINGS = [
  "synchronous_commit=on",
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  "enable_bitmapscan=off",
  "jit=off",
  "lock_timeout=3s",
  "statement_timeout=8s",
  "idle_in_transaction_session_timeout=5s",
];

export function connectLane(database: Database): Promise<pg.Client> {
  return database.connect({
    pipeline: true,
    application_name: "parbook lane",
    options: SETTINGS.map((setting) => `-c ${setting}`).join(" "),
  });
}

/** The database's clock less ours, in milliseconds. Deadlines are ours, and judged by its clock. */
export async function skewOf(connection: pg.Client, clock: Clock): Promise<number> {
  const before = clock.now();
  const { rows } = await connection.query<{ now: string }>(
    "select extract(epoch from clock_timestamp()) * 1000 as now",
  );
  const after = clock.now();
  return Number(rows[0]?.now) - (before + after) / 2;
}

/** Whether a batch failed because others were there too, so that it may well succeed later. */
export function isContention(error: Error): boolean {
  const sent = serverError(error);
  if (sent === undefined) return false;
  const constraints = ["states_moved", "refs_taken", "chain_broken", "too_late", "batch_pkey"];
  if (sent.constraint !== undefined && constraints.includes(sent.constraint)) return true;
  // Deadlock, serialisation, lock not available, statement timed out, terminated by timeout.
  return ["40P01", "40001", "55P03", "57014", "25P03"].includes(sent.code);
}
