/** What the database must be for its commits to be worth an answer, and what the service's role must not be able to do. */
import type { Queryable } from "./database.ts";

/**
 * A column for a look-up whose answer is told as "it has happened": when a row is found, the look-up is a transaction that
 * writes, and so commits behind the one that wrote the row. Once it is answered without a warning, a synchronous standby
 * has both. Without this the row may be one that PostgreSQL committed on its own, because the wait for the standby was
 * interrupted. A look-up that finds nothing writes nothing. What is written is a message in the log that nobody reads.
 */
export const COMMITTED_BEHIND = "(select pg_logical_emit_message(true, 'parbook', '') is not null)";

/**
 * The same for look-ups that are repeated until they are answered. The lock is held until the standby has answered: while
 * it does not, one server process waits for it and the others give up, so that they do not use up all connections.
 */
export const COMMITTED_BEHIND_ALONE = `(select pg_logical_emit_message(true, 'parbook', '') is not null
   from pg_advisory_xact_lock(hashtext('parbook committed behind')))`;

/** Answers when a synchronous standby has whatever was read before. On a standby it has it already. */
export async function commitBehind(database: Queryable): Promise<void> {
  await database.rows(`select ${COMMITTED_BEHIND} where not pg_is_in_recovery()`);
}

/** A sentence when the service's role cannot do what `COMMITTED_BEHIND` does. */
export async function findMissingPrivileges(database: Queryable): Promise<string[]> {
  const [row] = await database.rows<{ may: boolean | null }>(
    `select bool_and(has_function_privilege(oid, 'execute')) as may
       from pg_proc
      where proname = 'pg_logical_emit_message' and pronamespace = 'pg_catalog'::regnamespace
        and proargtypes[1] = 'text'::regtype`,
  );
  return row?.may === true ? [] : ["the service's role may not execute pg_logical_emit_message: grant it"];
}

/** Sentences that name each setting under which something that was answered could be lost. Empty when all is well. */
export async function findWeakSettings(database: Queryable): Promise<string[]> {
  const rows = await database.rows<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name in ('fsync', 'full_page_writes') order by name",
  );
  return rows
    .filter(({ setting }) => setting === "off")
    .map(({ name }) => `the database runs with ${name}=off: what was answered can be lost when it crashes`);
}

/** Sentences that name each way in which the service's role could change what must only ever be added to. */
export async function findExcessPrivileges(database: Queryable): Promise<string[]> {
  const rows = await database.rows<{ name: string; owned: boolean; superuser: boolean }>(
    `select c.relname as name, pg_has_role(current_user, c.relowner, 'member') as owned,
            (select rolsuper from pg_roles where rolname = current_user) as superuser
       from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relname in ('posting', 'transfer', 'execution', 'batch')
        and (pg_has_role(current_user, c.relowner, 'member')
             or has_table_privilege(c.oid, 'update') or has_table_privilege(c.oid, 'delete')
             or has_table_privilege(c.oid, 'truncate'))
      order by c.relname`,
  );
  return rows.map(({ name, owned, superuser }) => {
    const how = superuser ? "is a superuser" : owned ? "owns the table or can become its owner" : "was granted it";
    return `the service's role can change or remove rows of ${name}: it ${how}`;
  });
}
