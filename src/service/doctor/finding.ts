/**
 * What `parbook doctor` can find, and what a start in production rejects: one list. docs/doctor.md has it as a table, which
 * a test compares.
 */
import { ACCEPTABLE_FINDINGS } from "../config/accepted-findings.ts";

/**
 * `fatal`: not fit for production. `warning`: something can be lost or stop, or becomes fatal. `note`: worth knowing.
 */
export type Severity = (typeof SEVERITIES)[number];
export const SEVERITIES = ["fatal", "warning", "note"] as const;

export interface FindingKind {
  readonly severity: Severity;
  /** What is so if nothing is found: for `--all`. */
  readonly sound: string;
  /** Why it matters; a sentence without its end. */
  readonly why: string;
}

const kind = (severity: Severity, sound: string, why: string): FindingKind => ({ severity, sound, why });

/** In the order in which they are shown: what stops all else first. */
export const FINDING_KINDS = {
  settings: kind("fatal", "the settings are valid", "the service does not start with them"),
  "sandbox-mode": kind("fatal", "the mode is production", "in a sandbox callers credit themselves"),
  "sandbox-data": kind("fatal", "no sandbox's data", "a sandbox's secrets are known, and its money is not real"),
  "database-away": kind("fatal", "the database can be reached", "nothing works without it, and it was not examined"),
  "read-only": kind("fatal", "the database accepts writes", "every write is rejected with 503"),
  "postgres-unsupported": kind("fatal", "PostgreSQL is 15 or newer", "the service uses what older ones do not have"),
  schema: kind("fatal", "the schema is this program's", "the service does not start on another schema"),
  fsync: kind("fatal", "fsync is on", "a crash of its machine loses changes that were answered, and can damage all"),
  "full-page-writes": kind("fatal", "full_page_writes is on", "a crash in the middle of a page can damage the ledger"),
  "damage-ignored": kind("fatal", "damaged pages are errors", "damaged pages are read as empty or wrong rows"),
  role: kind("fatal", "the role can only add to the ledger", "a bug or a stolen password could rewrite the ledger"),
  "missing-privilege": kind("fatal", "the role has what it needs", "answers could not be confirmed"),
  clock: kind("fatal", "the clocks agree", "the node accepts no writes until they do"),
  "verify-failed": kind("fatal", "the last verify was sound", "the ledger is not what was written"),
  "clock-drift": kind(
    "warning",
    "the clocks are far from differing too much",
    "past PARBOOK_CLOCK_TOLERANCE_MS the node accepts no writes",
  ),
  "postgres-old": kind("warning", "PostgreSQL is maintained", "known defects and security holes stay open"),
  "embedded-database": kind(
    "warning",
    "the database is not on this disk alone",
    "it has no standby: a lost disk stops the service",
  ),
  "no-standby": kind("warning", "a standby follows", "what was answered is lost with the database's machine"),
  asynchronous: kind("warning", "commits wait for a standby", "a standby that takes over may lack what was answered"),
  "standby-away": kind("warning", "the synchronous standby is there", "no write is answered until one is back"),
  "one-standby": kind(
    "warning",
    "a second standby follows",
    "while it is away no write is answered, or not kept twice",
  ),
  "standby-behind": kind("warning", "the standbys keep up", "a takeover waits until it has caught up"),
  "archive-off": kind("warning", "the log is archived", "a restore ends at the last backup"),
  "archive-fails": kind("warning", "archiving works", "the log fills the disk, and a restore ends before now"),
  "archive-behind": kind("warning", "the archive is current", "a restore ends where the archive does"),
  "archive-gap": kind("warning", "the archive has each segment", "no backup from before can be restored past it"),
  "archive-unbounded": kind("warning", "segments are archived in time", "of a lost disk the last segment is lost too"),
  "wal-level": kind("warning", "wal_level allows standbys", "neither a standby nor an archive is possible"),
  "idle-slot": kind("warning", "no idle slot holds the log", "the log that it keeps fills the disk"),
  checksums: kind("warning", "data checksums are on", "damage by a disk is not noticed"),
  autovacuum: kind("warning", "autovacuum is on", "tables grow without end, and in the end writes stop"),
  "transaction-age": kind("warning", "old rows are frozen", "at 2,100 million the database stops writing"),
  collation: kind("warning", "collation is unchanged", "indexes of text may be wrong: rows may not be found"),
  connections: kind("warning", "there are enough connections", "nodes wait for connections, and requests with them"),
  "markets-unserved": kind("warning", "each market has an engine", "their orders stay pending"),
  "events-late": kind("warning", "events are published", "lists and streams of events stand still"),
  "verify-old": kind("warning", "the ledger was verified lately", "a change behind the service's back goes unnoticed"),
  "no-checkpoint": kind("warning", "verify compared a checkpoint", "the database's owner can rewrite all unnoticed"),
  "certificate-ends": kind("warning", "no certificate ends soon", "after that callers cannot connect"),
  "signing-keys": kind("warning", "signing keys are encrypted", "who reads database or backup can issue any token"),
  "secret-files": kind("warning", "secrets are private", "other users of the machine can read or replace them"),
  "node-old": kind("warning", "Node.js is maintained", "known defects and security holes stay open"),
  "runs-as-root": kind(
    "warning",
    "the database has a user of its own",
    "every process of the database's user can change the ledger",
  ),
  metrics: kind("warning", "metrics are on", "nobody is alerted"),
  "example-address": kind(
    "warning",
    "public addresses are real",
    "tokens and documents name addresses that no caller reaches",
  ),
  "rate-limits": kind("warning", "rate limits are on", "one caller can take the service from all others"),
  "no-proxy": kind("warning", "callers' addresses are known", "behind a proxy all callers share its limits"),
  "open-files": kind("warning", "enough files may be open", "fewer connections are accepted than set"),
  disk: kind("warning", "the disk has room", "when it is full, writes get 503"),
  "one-node": kind("note", "several nodes run", "a restart or crash is an interruption"),
  "named-standby": kind(
    "note",
    "no single standby has to confirm",
    "unless Patroni or the like changes it, its loss stops writes",
  ),
  "database-cleartext": kind(
    "note",
    "the database connection is encrypted, or local",
    "who is on its path reads and changes all",
  ),
  unreadable: kind("note", "everything could be read", "this was not examined"),
} as const satisfies Record<string, FindingKind>;

export type FindingName = keyof typeof FINDING_KINDS;
const NAMES: readonly string[] = Object.keys(FINDING_KINDS);

export interface Finding {
  readonly name: FindingName;
  /** Lower than the kind's if the operator has accepted it. */
  readonly severity: Severity;
  readonly accepted: boolean;
  /** What is so; a sentence without its end. */
  readonly what: string;
  readonly why: string;
  /** A command, statement or setting that changes it. */
  readonly fix: string;
}

export function finding(name: FindingName, what: string, fix: string): Finding {
  const { severity, why } = FINDING_KINDS[name];
  return { name, severity, accepted: false, what, why, fix };
}

/** A list of findings with those only that apply. */
export function present(...findings: readonly (Finding | false | undefined)[]): Finding[] {
  return findings.filter((one) => one !== undefined && one !== false);
}

export function isAcceptable(name: FindingName): boolean {
  return (ACCEPTABLE_FINDINGS as readonly string[]).includes(name);
}

/** An accepted finding is a note. */
export function accept(findings: readonly Finding[], accepted: ReadonlySet<string>): Finding[] {
  return findings.map((one) => (accepted.has(one.name) ? { ...one, severity: "note", accepted: true } : one));
}

/** The worst first, then in the order of the list. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  const place = ({ severity, name }: Finding): number => 1_000 * SEVERITIES.indexOf(severity) + NAMES.indexOf(name);
  return [...findings].sort((a, b) => place(a) - place(b));
}

/** For logs and a rejected start. */
export function lineOf({ name, what, why, fix }: Finding): string {
  const accepting = isAcceptable(name) ? `; or accept it: PARBOOK_ACCEPT=${name}` : "";
  return `${name}: ${what}; ${why}. Do: ${fix}${accepting}`;
}
