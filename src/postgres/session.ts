/**
 * What a session has to be like before anything is asked of it. Under other settings the same statement means something
 * else, or its answer has another form, and an operator may have given such settings to the role or the database, for
 * reasons of their own. So each session sets what it relies on, once it is connected: a pooler does not pass settings on
 * that are asked for in the startup message.
 *
 * It also proves that its backend is its own. A pooler that shares backends between transactions would give our
 * settings and prepared statements to others, and theirs to us (docs/decisions/0025-a-session-of-its-own.md).
 */
import { randomBytes } from "node:crypto";
import type { ClientBase, QueryConfig } from "pg";

/** Names and values of settings, each value as PostgreSQL writes it. */
export type SessionSettings = Readonly<Record<string, string>>;

/** One line for the operator: why this session is not worked with. */
export class SessionUnfit extends Error {
  override readonly name = "SessionUnfit";
}

/** What statements and answers mean, and what has to reach us. */
const MEANING: SessionSettings = {
  client_encoding: "UTF8",
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  TimeZone: "UTC",
  bytea_output: "hex",
  extra_float_digits: "1",
  standard_conforming_strings: "on",
  array_nulls: "on",
  transform_null_equals: "off",
  search_path: "public",
  default_transaction_isolation: "read committed",
  default_transaction_deferrable: "off",
  synchronous_commit: "on",
  // Warnings tell that a commit was not waited for.
  client_min_messages: "warning",
  // Our pools decide when an idle connection ends, and the bounds of statements when a transaction does.
  idle_session_timeout: "0",
  transaction_timeout: "0",
};

/** New in PostgreSQL 17: unset where it is not known. */
const OPTIONAL = "transaction_timeout";

/** Who asks for more than that a standby has a commit on its disk keeps it. */
const COMMITTING = "synchronous_commit";
const STRONGER = "remote_apply";

/** What only others can set; without it the service is not started. */
const REQUIRED: SessionSettings = { server_encoding: "UTF8", session_replication_role: "origin" };

/** Carries a random value of the session's own: who finds another one, or none, shares a backend. */
const TOKEN = "parbook.session";

/** A network that swallows everything sends no error. */
const MOST_MS = 5_000;

/** A session that is as it has to be. */
export interface Session {
  /** @throws SessionUnfit when by now another backend answers, or settings have changed. */
  verify(): Promise<void>;
}

/**
 * Sets what every session relies on, and `settings` on top, and reads all of it back.
 *
 * @throws SessionUnfit when the session is not as it has to be.
 */
export async function prepareSession(client: ClientBase, settings: SessionSettings): Promise<Session> {
  const token = randomBytes(16).toString("hex");
  const wanted = { ...MEANING, ...settings, [TOKEN]: token };
  const values = [Object.keys(wanted), Object.values(wanted), TOKEN, OPTIONAL, COMMITTING, STRONGER];
  const [first] = await ask<{ pid: number; earlier: string | null }>(client, SET, values);
  // RESET and DISCARD leave an empty text.
  if (first === undefined || (first.earlier ?? "") !== "") throw new SessionUnfit(SHARED);
  const session = { verify: () => verify(client, first.pid, wanted) };
  await session.verify();
  return session;
}

const SET = `
with earlier as materialized (select pg_backend_pid() as pid, current_setting($3, true) as earlier)
select pid, earlier,
       set_config(name, case when name = $5 and current_setting(name, true) = $6 then $6 else value end, false)
  from earlier, unnest($1::text[], $2::text[]) as wanted(name, value)
 where name <> $4 or current_setting($4, true) is not null`;

async function verify(client: ClientBase, pid: number, wanted: SessionSettings): Promise<void> {
  const expected = { ...wanted, ...REQUIRED };
  const rows = await ask<{ pid: number; name: string; setting: string | null }>(client, READ, [Object.keys(expected)]);
  const isOwn = rows.every((row) => row.pid === pid) && rows.some((row) => row.setting === wanted[TOKEN]);
  if (!isOwn) throw new SessionUnfit(SHARED);
  const isAsWanted = (name: string, setting: string | null) =>
    setting === expected[name] ||
    (name === OPTIONAL && setting === null) ||
    (name === COMMITTING && setting === STRONGER);
  const different = rows.find(({ name, setting }) => !isAsWanted(name, setting));
  if (different === undefined) return;
  const { name, setting } = different;
  throw new SessionUnfit(
    `the database's ${name} is ${setting}, and Parbook needs ${expected[name]} (docs/settings.md, "An external PostgreSQL")`,
  );
}

const READ =
  "select pg_backend_pid() as pid, name, current_setting(name, true) as setting from unnest($1::text[]) as name";

async function ask<Row extends object>(client: ClientBase, text: string, values: readonly unknown[]): Promise<Row[]> {
  const question: QueryConfig & { query_timeout: number } = { text, values: [...values], query_timeout: MOST_MS };
  return (await client.query<Row>(question)).rows;
}

const SHARED =
  "a connection to the database does not have its backend to itself: a pooler in front of PostgreSQL shares it between " +
  "transactions, or hands it on as it was left. Connect to PostgreSQL itself, or let the pooler give each connection a " +
  'session of its own: in PgBouncer pool_mode = session and server_reset_query = DISCARD ALL (docs/settings.md, "Poolers")';
