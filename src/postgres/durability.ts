/** Checks that commits are durable. */
import type { Queryable } from "./database.ts";

/**
 * A column for look-ups whose result is reported as durable. If a row is found, the look-up writes a WAL message, so it
 * commits after the transaction that wrote the row, and waits for the synchronous standby to have both. Without it, the
 * row may be committed locally only, after an interrupted wait for the standby. A look-up without rows writes nothing.
 */
export const COMMIT_MARKER = "(select pg_logical_emit_message(true, 'parbook', '') is not null)";

/**
 * The same for look-ups that are retried. The lock is held until the standby has confirmed, so that with an unreachable
 * standby only one connection waits for it, and the others time out.
 */
export const SERIALIZED_COMMIT_MARKER = `(select pg_logical_emit_message(true, 'parbook', '') is not null
   from pg_advisory_xact_lock(hashtext('parbook committed behind')))`;

/** Resolves when a synchronous standby has everything read before; at once, to false, on a server that is one itself. */
export async function waitForStandby(database: Queryable): Promise<boolean> {
  const rows = await database.rows(`select ${COMMIT_MARKER} where not pg_is_in_recovery()`);
  return rows.length > 0;
}

/** @returns A sentence for the operator if the service's role may not write `COMMIT_MARKER`. */
export async function findMissingPrivileges(database: Queryable): Promise<string[]> {
  const [row] = await database.rows<{ may: boolean | null }>(
    `select bool_and(has_function_privilege(oid, 'execute')) as may
       from pg_proc
      where proname = 'pg_logical_emit_message' and pronamespace = 'pg_catalog'::regnamespace
        and proargtypes[1] = 'text'::regtype`,
  );
  return row?.may === true ? [] : ["the service's role may not execute pg_logical_emit_message: grant it"];
}
