/**
 * Prepares a session. Settings of the role or the database can change what statements mean and how results look, so each
 * session sets everything it relies on. It does so after connecting, because poolers drop startup parameters.
 *
 * It also checks that its backend is dedicated: a pooler in transaction mode would mix settings and prepared statements
 * between clients (docs/decisions/0025-a-session-of-its-own.md).
 */
import { randomBytes } from "node:crypto";
import type { ClientBase, QueryConfig } from "pg";
import { HISTORY } from "./history.ts";

/** Settings by name, values in PostgreSQL's own spelling. */
export type SessionSettings = Readonly<Record<string, string>>;

/** The session cannot be used. The message is one line for the operator. */
export class SessionUnfit extends Error {
  override readonly name = "SessionUnfit";
}

const SETTINGS: SessionSettings = {
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
  // A warning reports an interrupted wait for the standby.
  client_min_messages: "warning",
  // The pools close idle connections, and statement timeouts bound transactions.
  idle_session_timeout: "0",
  transaction_timeout: "0",
};

/** New in PostgreSQL 17. */
const OPTIONAL = "transaction_timeout";

/** The operator may configure a stronger level than `on`. */
const COMMITTING = "synchronous_commit";
const STRONGER = "remote_apply";

/** Settings that a session cannot change itself. */
const REQUIRED: SessionSettings = { server_encoding: "UTF8", session_replication_role: "origin" };

/** A custom setting with a random value. A different value reveals a shared backend. */
const TOKEN = "parbook.session";

/** A black-holed connection gives no error. */
const SETUP_TIMEOUT_MS = 5_000;

export interface Session {
  /** Of the server's process. */
  readonly pid: number;
  /** The timeline on which the server writes: a former primary is on an earlier one. Undefined on a standby. */
  readonly timeline: number | undefined;
  /** The history of the database, as `HISTORY` names it. */
  readonly history: string;
  /** @throws SessionUnfit if the backend or the settings have changed. */
  verify(): Promise<void>;
}

/**
 * Applies the required settings and `settings`, and reads them back.
 *
 * @throws SessionUnfit when they did not take effect, or the backend is shared.
 */
export async function prepareSession(client: ClientBase, settings: SessionSettings): Promise<Session> {
  const token = randomBytes(16).toString("hex");
  const wanted = { ...SETTINGS, ...settings, [TOKEN]: token };
  const values = [Object.keys(wanted), Object.values(wanted), TOKEN, OPTIONAL, COMMITTING, STRONGER];
  const apply = query<{ pid: number; earlier: string | null }>(client, SET, values);
  const [first] = await apply.catch((error: unknown) => rejectOldServer(client, error));
  // After RESET or DISCARD the value is an empty string.
  if (first === undefined || (first.earlier ?? "") !== "") throw new SessionUnfit(SHARED);
  const server = await verify(client, first.pid, wanted);
  return { pid: first.pid, ...server, verify: async () => void (await verify(client, first.pid, wanted)) };
}

/** Settings that PostgreSQL 13 does not know would otherwise be all that is said of it. */
async function rejectOldServer(client: ClientBase, error: unknown): Promise<never> {
  if ((error as { readonly code?: string }).code !== UNDEFINED_OBJECT) throw error;
  const [row] = await query<{ server_version: string }>(client, "show server_version", []);
  throw new SessionUnfit(`this is PostgreSQL ${row?.server_version}, and Parbook needs 15 or newer`);
}

const UNDEFINED_OBJECT = "42704";

const SET = `
with earlier as materialized (select pg_backend_pid() as pid, current_setting($3, true) as earlier)
select pid, earlier,
       set_config(name, case when name = $5 and current_setting(name, true) = $6 then $6 else value end, false)
  from earlier, unnest($1::text[], $2::text[]) as wanted(name, value)
 where name <> $4 or current_setting($4, true) is not null`;

async function verify(
  client: ClientBase,
  pid: number,
  wanted: SessionSettings,
): Promise<Pick<Session, "timeline" | "history">> {
  const expected = { ...wanted, ...REQUIRED };
  const rows = await query<Read>(client, READ, [Object.keys(expected)]);
  const isOwn = rows.every((row) => row.pid === pid) && rows.some((row) => row.setting === wanted[TOKEN]);
  if (!isOwn) throw new SessionUnfit(SHARED);
  const isAsWanted = (name: string, setting: string | null) =>
    setting === expected[name] ||
    (name === OPTIONAL && setting === null) ||
    (name === COMMITTING && setting === STRONGER);
  const different = rows.find(({ name, setting }) => !isAsWanted(name, setting));
  const { timeline, history = "" } = rows[0] ?? {};
  if (different === undefined) return { timeline: timeline ?? undefined, history };
  const { name, setting } = different;
  throw new SessionUnfit(
    `the database's ${name} is ${setting}, but Parbook needs ${expected[name]} (docs/settings.md, "An external PostgreSQL")`,
  );
}

interface Read {
  readonly pid: number;
  readonly name: string;
  readonly setting: string | null;
  readonly timeline: number | null;
  readonly history: string;
}

/** The name of a segment of the log begins with its timeline, in hexadecimal. */
const READ = `
select pg_backend_pid() as pid, name, current_setting(name, true) as setting,
       case when not pg_is_in_recovery()
            then ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int end as timeline, ${HISTORY} as history
  from unnest($1::text[]) as name`;

async function query<Row extends object>(client: ClientBase, text: string, values: readonly unknown[]): Promise<Row[]> {
  const question: QueryConfig & { query_timeout: number } = {
    text,
    values: [...values],
    query_timeout: SETUP_TIMEOUT_MS,
  };
  return (await client.query<Row>(question)).rows;
}

const SHARED =
  "database connections do not have dedicated backends: a pooler shares them between transactions, or reuses them " +
  "without a reset. Connect to PostgreSQL directly, or configure session pooling: " +
  'in PgBouncer pool_mode = session and server_reset_query = DISCARD ALL (docs/settings.md, "Poolers")';
