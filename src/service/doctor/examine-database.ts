/** What is examined of the database: by a start and by `parbook doctor`, with the rights that their role has. */

import { readEventLag } from "../../events/event-lag.ts";
import { readEngineLags } from "../../exchange/market-status/engine-lag.ts";
import { type Queryable, serverError } from "../../postgres/database.ts";
import { findMissingPrivileges } from "../../postgres/durability.ts";
import { findExcessPrivileges } from "../../postgres/excess-privileges.ts";
import { LEASE_MS, LEASE_SLACK_MS } from "../../postgres/leases.ts";
import { readLogArchive } from "../../postgres/wal-archiving-status.ts";
import type { Instant } from "../../std/clock.ts";
import { APPEND_ONLY } from "../../verify/lane-tables.ts";
import type { Config } from "../config/config.ts";
import { type Finding, type FindingName, finding, present } from "./finding.ts";
import { type Archiving, findArchiveGap, judgeIdleSlots, judgeLogArchive, readIdleSlots } from "./log-archive.ts";
import { judgeDurability, judgeServer, judgeSupport, judgeVersion, type ServerSettings } from "./server-settings.ts";
import { judgeStandbys, readStandbys } from "./standbys.ts";
import { judgeUpkeep, readUpkeep } from "./upkeep.ts";

export interface ExaminedDatabase {
  readonly database: Queryable;
  readonly settings: ServerSettings;
  readonly now: Instant;
  readonly config: Archiving & Pick<Config, "signingKeys" | "withoutTls">;
}

export interface Examination<About> {
  readonly subject: string;
  /** Sound if the examination does not find them. */
  readonly covers: readonly FindingName[];
  /** Whether what it finds hides the rest: of an archive that is off it is not said that it is current. */
  readonly hides?: true;
  readonly find: (about: About) => Promise<readonly Finding[]> | readonly Finding[];
}

type OfDatabase = Examination<ExaminedDatabase>;

/** What neither a start in production nor a command accepts. */
export const REQUIRED_EXAMINATIONS: readonly OfDatabase[] = [
  {
    subject: "settings of the server",
    covers: ["postgres-unsupported", "fsync", "full-page-writes", "damage-ignored"],
    find: ({ settings }) => [...judgeSupport(settings), ...judgeDurability(settings)],
  },
  {
    subject: "privileges of the role",
    covers: ["role"],
    find: async ({ database }) =>
      (await findExcessPrivileges(database, APPEND_ONLY)).map((what) =>
        finding("role", what, 'use a role of its own for the service (docs/settings.md, "An external PostgreSQL")'),
      ),
  },
];

/** Needs no schema of ours. */
export const EXAMINATIONS_OF_SERVER: readonly OfDatabase[] = [
  {
    subject: "privileges that the role needs",
    covers: ["missing-privilege"],
    find: async ({ database }) =>
      (await findMissingPrivileges(database)).map((what) =>
        finding(
          "missing-privilege",
          what,
          "grant execute on function pg_logical_emit_message(boolean, text, text) to the role",
        ),
      ),
  },
  {
    subject: "version and settings",
    covers: ["postgres-old", "checksums", "wal-level", "autovacuum"],
    find: ({ settings, now }) => [...judgeVersion(settings, now), ...judgeServer(settings)],
  },
  { subject: "whether it accepts writes", covers: ["read-only"], find: findReadOnly },
  {
    subject: "standbys",
    covers: [
      "embedded-database",
      "no-standby",
      "asynchronous",
      "standby-away",
      "one-standby",
      "standby-behind",
      "named-standby",
    ],
    hides: true,
    find: async ({ database, config }) => {
      const found = judgeStandbys(await readStandbys(database));
      return hasDatabaseUrl(config) ? found : found.map((one) => (one.name === "no-standby" ? EMBEDDED : one));
    },
  },
  {
    subject: "archive of the log",
    covers: ["archive-off", "archive-fails", "archive-behind", "archive-gap", "archive-unbounded"],
    hides: true,
    find: async ({ database, settings, config }) => [
      ...judgeLogArchive(settings, await readLogArchive(database)),
      ...(await findArchiveGap(config)),
    ],
  },
  {
    subject: "replication slots",
    covers: ["idle-slot"],
    find: async ({ database }) => judgeIdleSlots(await readIdleSlots(database)),
  },
  {
    subject: "age, collation and connections",
    covers: ["transaction-age", "collation", "connections"],
    find: async ({ database, settings }) => judgeUpkeep(settings, await readUpkeep(database)),
  },
  { subject: "encryption of the connection", covers: ["database-cleartext"], find: findCleartext },
];

/** Reads our tables. */
export const EXAMINATIONS_OF_LEDGER: readonly OfDatabase[] = [
  { subject: "signing keys", covers: ["signing-keys"], find: findClearKeys },
  { subject: "nodes", covers: ["one-node", "markets-unserved", "events-late"], find: findNodes },
];

const hasDatabaseUrl = ({ databaseUrl }: ExaminedDatabase["config"]): boolean => databaseUrl !== undefined;

const EMBEDDED = finding(
  "embedded-database",
  "the database is the embedded one",
  "use an external one with standbys (docs/high-availability.md)",
);

async function findReadOnly({ database }: ExaminedDatabase): Promise<Finding[]> {
  const [row] = await database.rows<{ standby: boolean; readonly: string }>(
    "select pg_is_in_recovery() as standby, current_setting('transaction_read_only') as readonly",
  );
  if (row?.standby === true) return [finding("read-only", "the database is a standby", "connect to the primary")];
  const what = "default_transaction_read_only is on for the database or the role";
  return present(row?.readonly === "on" && finding("read-only", what, "reset it for both"));
}

/** Production has rejected a connection that is not encrypted, unless the operator allows it. */
async function findCleartext({ database, config }: ExaminedDatabase): Promise<Finding[]> {
  if (!hasDatabaseUrl(config)) return [];
  const [row] = await database.rows<{ encrypted: boolean; local: boolean }>(
    `select coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as encrypted,
            coalesce(inet_server_addr() <<= '127.0.0.0/8' or inet_server_addr() = '::1', true) as local`,
  );
  const isBare = row !== undefined && !row.encrypted && !row.local;
  const what = "the connection to the database is not encrypted";
  return present(isBare && finding("database-cleartext", what, "add ?sslmode=verify-full to PARBOOK_DATABASE_URL"));
}

export function judgeEncryptionKeys({ signingKeys }: Pick<Config, "signingKeys">): Finding[] {
  const fix = "set it on all nodes, then parbook key rotate";
  const isMissing = signingKeys.encryptionKeys.length === 0;
  return present(isMissing && finding("signing-keys", "PARBOOK_KEY_ENCRYPTION_KEY is not set", fix));
}

async function findClearKeys({ database, config }: ExaminedDatabase): Promise<Finding[]> {
  const missing = judgeEncryptionKeys(config);
  if (missing.length > 0) return missing;
  const [row] = await database.rows<{ clear: number }>(
    "select count(*)::int as clear from signing_key where private_jwk ? 'd'",
  );
  const what = "a signing key is from before PARBOOK_KEY_ENCRYPTION_KEY was set";
  return present((row?.clear ?? 0) > 0 && finding("signing-keys", what, "parbook key rotate"));
}

const LONGEST_EVENT_LAG_MS = 30_000;

/** While no node runs, nothing is late. */
async function findNodes({ database, config }: ExaminedDatabase): Promise<Finding[]> {
  const [row] = await database.rows<{ nodes: number }>(
    `select count(distinct holder)::int as nodes from lease
      where name like 'slot/%'
        and expires_at between clock_timestamp() and clock_timestamp() + $1 * interval '1 millisecond'`,
    [LEASE_MS + LEASE_SLACK_MS],
  );
  const nodes = row?.nodes ?? 0;
  if (nodes === 0) return [];
  const unserved = (await readEngineLags(database)).filter(({ holder }) => holder === undefined);
  const lagMs = await readEventLag(database);
  return present(
    unserved.length > 0 &&
      finding(
        "markets-unserved",
        `no node serves ${unserved.map(({ market }) => market).join(", ")}`,
        "start a node with the role engine",
      ),
    lagMs > LONGEST_EVENT_LAG_MS &&
      finding(
        "events-late",
        `changes have waited ${Math.round(lagMs / 1_000)} s for their events`,
        "start a node with the role worker, or see its log",
      ),
    nodes === 1 &&
      hasDatabaseUrl(config) &&
      finding("one-node", "one node runs", 'start a second one (docs/settings.md, "Several nodes")'),
  );
}

/** Of a role that may not read something, of an older version or another service: insufficient, undefined, unsupported. */
const NOT_READABLE = /^(?:42501|42883|42P01|42703|42704|0A000|55000)$/;

export interface Examined {
  readonly findings: readonly Finding[];
  /** What was examined and not found. */
  readonly sound: readonly FindingName[];
}

/** Examines one after the other. What the role may not read, or the server does not have, is a finding too. */
export async function examine<About>(examinations: readonly Examination<About>[], about: About): Promise<Examined> {
  const findings: Finding[] = [];
  const sound: FindingName[] = [];
  for (const { subject, covers, hides, find } of examinations) {
    try {
      const found = await find(about);
      findings.push(...found);
      if (hides !== true || found.length === 0)
        sound.push(...covers.filter((name) => found.every((one) => one.name !== name)));
    } catch (error) {
      if (!NOT_READABLE.test(serverError(error)?.code ?? "")) throw error;
      const what = `${subject}: ${(error as Error).message}`;
      findings.push(finding("unreadable", what, "grant the role what it lacks, or look there yourself"));
    }
  }
  return { findings, sound };
}
