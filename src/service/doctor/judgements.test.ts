/** What is found in which state: each judgement is a pure function of what was read. */
import { expect, test } from "vitest";
import type { LogArchive } from "../../postgres/wal-archiving-status.ts";
import type { Instant } from "../../std/clock.ts";
import type { LastVerify } from "../../verify/last-verify.ts";
import { readConfig } from "../config/config.ts";
import { judgeEncryptionKeys } from "./examine-database.ts";
import { judgeLastVerify, judgeNodeVersion, judgeOpenFiles, judgeSettings, judgeUser } from "./examine-node.ts";
import { accept, type Finding, finding, lineOf, sortFindings } from "./finding.ts";
import { judgeIdleSlots, judgeLogArchive } from "./log-archive.ts";
import { judgeDurability, judgeServer, judgeSupport, judgeVersion, type ServerSettings } from "./server-settings.ts";
import { judgeStandbys, type Standbys } from "./standbys.ts";
import { judgeUpkeep, type Upkeep } from "./upkeep.ts";

const said = (findings: readonly Finding[]): string[] => findings.map(({ name, what }) => `${name}: ${what}`);

const SOUND: ServerSettings = {
  server_version: "17.10",
  server_version_num: "170010",
  fsync: "on",
  full_page_writes: "on",
  zero_damaged_pages: "off",
  ignore_checksum_failure: "off",
  data_checksums: "on",
  wal_level: "replica",
  autovacuum: "on",
  track_counts: "on",
  archive_timeout: "60",
  max_connections: "100",
  superuser_reserved_connections: "3",
  reserved_connections: "0",
  synchronous_standby_names: "",
};

test.each<[Partial<ServerSettings>, string[]]>([
  [{}, []],
  [{ fsync: "off" }, ["fsync: the database runs with fsync=off"]],
  [{ full_page_writes: "off" }, ["full-page-writes: the database runs with full_page_writes=off"]],
  [{ zero_damaged_pages: "on" }, ["damage-ignored: the database runs with zero_damaged_pages=on"]],
  [{ ignore_checksum_failure: "on" }, ["damage-ignored: the database runs with ignore_checksum_failure=on"]],
  [{ data_checksums: "off" }, ["checksums: data checksums are off"]],
  [{ wal_level: "minimal" }, ["wal-level: wal_level is minimal"]],
  [{ wal_level: "logical" }, []],
  [{ autovacuum: "off" }, ["autovacuum: autovacuum is off"]],
  [{ track_counts: "off" }, ["autovacuum: track_counts is off"]],
  // A service that does not show them.
  [{ fsync: undefined, data_checksums: undefined, reserved_connections: undefined }, []],
])("settings of the server: %o", (changed, findings) => {
  const settings = { ...SOUND, ...changed };
  expect(said([...judgeDurability(settings), ...judgeServer(settings)])).toEqual(findings);
});

test.each([
  ["140022", "2026-11-23", ["postgres-unsupported: the database is PostgreSQL 140022"]],
  ["150017", "2026-11-23", ["postgres-old: the database is PostgreSQL 150017, and there is 15.18 at least"]],
  ["150018", "2027-11-10", []],
  [
    "150018",
    "2027-11-11",
    ["postgres-old: the database is PostgreSQL 150018, which is not maintained since 2027-11-11"],
  ],
  ["190000", "2026-11-23", []],
])("the version %s on %s", (number, day, findings) => {
  const settings = { ...SOUND, server_version: number, server_version_num: number };
  expect(said([...judgeSupport(settings), ...judgeVersion(settings, Date.parse(day) as Instant)])).toEqual(findings);
});

const PAIR: Standbys = { names: "ANY 1 (a, b)", connected: 2, confirming: 2, behindSeconds: 0.2 };
test.each<[Partial<Standbys>, string[]]>([
  [{}, []],
  [{ names: "", connected: 0, confirming: 0 }, ["no-standby: the database has no standby"]],
  [{ names: "", connected: 1, confirming: 0 }, ["asynchronous: the standby is asynchronous"]],
  [{ names: "", confirming: 0 }, ["asynchronous: all 2 standbys are asynchronous"]],
  [{ connected: 0, confirming: 0 }, ["standby-away: commits wait for ANY 1 (a, b), and no standby is connected"]],
  [{ confirming: 0 }, ["standby-away: commits wait for ANY 1 (a, b), and none of them is connected"]],
  [{ connected: 1, confirming: 1 }, ["one-standby: one standby is connected"]],
  [{ names: "a", connected: 1, confirming: 1 }, ["one-standby: one standby is connected"]],
  [{ names: "a" }, ["named-standby: synchronous_standby_names names one standby: a"]],
  [{ names: 'FIRST 1 ("a, b")' }, ['named-standby: synchronous_standby_names names one standby: FIRST 1 ("a, b")']],
  [{ names: "*" }, []],
  [{ names: "2 (a, b, c)" }, []],
  [{ behindSeconds: 10.4 }, ["standby-behind: a standby is 10 s behind"]],
  [{ behindSeconds: 10 }, []],
  [{ behindSeconds: undefined }, []],
  [{ confirming: undefined }, ["unreadable: the role may not see which standbys confirm commits"]],
])("standbys: %o", (changed, findings) => {
  expect(said(judgeStandbys({ ...PAIR, ...changed }))).toEqual(findings);
});

const ARCHIVED: LogArchive = {
  isOn: true,
  secondsSinceArchived: 20,
  secondsRunning: 86_400,
  isFailing: false,
  lastArchived: "00000002000000000000000A",
  current: "00000002000000000000000B",
  segmentBytes: 16_777_216,
};
test.each<[Partial<ServerSettings>, Partial<LogArchive>, string[]]>([
  [{}, {}, []],
  [{}, { isOn: false }, ["archive-off: archive_mode is off"]],
  [{ archive_timeout: "0" }, {}, ["archive-unbounded: archive_timeout is 0"]],
  [{ archive_timeout: "900" }, {}, []],
  [{ archive_timeout: "901" }, {}, ["archive-unbounded: archive_timeout is 901 s"]],
  [{}, { isFailing: true, secondsSinceArchived: 3_600 }, ["archive-fails: the last attempt to archive failed"]],
  // A quiet database has nothing to archive.
  [{}, { secondsSinceArchived: 86_400 }, []],
  [
    {},
    { secondsSinceArchived: 3_600, current: "000000020000000100000002" },
    ["archive-behind: 247 segments wait, and none was archived for 60 minutes"],
  ],
  [
    {},
    { secondsSinceArchived: 3_600, current: "00000002000000000000000D" },
    ["archive-behind: 2 segments wait, and none was archived for 60 minutes"],
  ],
  [
    {},
    { secondsSinceArchived: 3_600, lastArchived: "0000000200000009000000FF", current: "000000020000000A00000002" },
    ["archive-behind: 2 segments wait, and none was archived for 60 minutes"],
  ],
  [
    {},
    { secondsSinceArchived: undefined, lastArchived: undefined },
    ["archive-behind: archiving is on, and nothing was archived yet"],
  ],
  // The server was down, or has forgotten what it archived before a crash.
  [{}, { secondsSinceArchived: 3_600, secondsRunning: 900, current: "000000020000000100000002" }, []],
  [{}, { secondsSinceArchived: undefined, secondsRunning: 20, lastArchived: undefined }, []],
  [{}, { secondsSinceArchived: undefined, lastArchived: undefined, current: "000000010000000000000001" }, []],
  [{}, { secondsSinceArchived: 3_600, current: undefined }, []],
])("archive of the log: %o, %o", (changed, archive, findings) => {
  expect(said(judgeLogArchive({ ...SOUND, ...changed }, { ...ARCHIVED, ...archive }))).toEqual(findings);
});

test("a slot without a reader is found when it keeps a gibibyte of log, and its name is quoted", () => {
  const slots = [
    { name: "small", bytes: 2 ** 30 - 1 },
    { name: "lost", bytes: undefined },
    { name: "o'slot", bytes: 2.5 * 2 ** 30 },
  ];
  expect(judgeIdleSlots(slots)).toEqual([
    finding(
      "idle-slot",
      'the replication slot "o\'slot" has no reader and keeps 2.5 GiB of log',
      "select pg_drop_replication_slot('o''slot'), or bound it with max_slot_wal_keep_size",
    ),
  ]);
});

const UPKEEP: Upkeep = {
  database: "ledger",
  transactionAge: 1_000_000_000,
  oldest: "postgres",
  collation: { stored: "2.36", actual: "2.36" },
  connectionLimit: undefined,
};
test.each<[Partial<ServerSettings>, Partial<Upkeep>, string[]]>([
  [{}, {}, []],
  [{}, { collation: undefined }, []],
  [{}, { transactionAge: 1_000_000_001 }, ['transaction-age: a row of "postgres" is 1000 million transactions old']],
  [
    {},
    { collation: { stored: "2.36", actual: "2.41" } },
    ['collation: the collation was 2.36 when "ledger" was made, and is 2.41'],
  ],
  [
    {},
    { collation: { stored: "2.41", actual: "2.36" } },
    ['collation: the collation was 2.41 when "ledger" was made, and is 2.36'],
  ],
  [{ max_connections: "63" }, {}, []],
  [{ max_connections: "62" }, {}, ["connections: 59 connections are allowed, two nodes and an operator need 60"]],
  [
    { max_connections: "70", reserved_connections: "10" },
    {},
    ["connections: 57 connections are allowed, two nodes and an operator need 60"],
  ],
  [{}, { connectionLimit: 20 }, ["connections: 20 connections are allowed, two nodes and an operator need 60"]],
])("upkeep: %o, %o", (changed, upkeep, findings) => {
  expect(said(judgeUpkeep({ ...SOUND, ...changed }, { ...UPKEEP, ...upkeep }))).toEqual(findings);
});

test.each([
  ["24.11.0", "2026-11-23", []],
  ["26.1.0", "2026-11-23", []],
  ["25.2.0", "2026-11-23", ["node-old: Node.js 25.2.0 has no long-term support"]],
  ["22.20.0", "2027-04-29", []],
  ["22.20.0", "2027-04-30", ["node-old: Node.js 22.20.0 is not maintained since 2027-04-30"]],
])("Node.js %s on %s", (version, day, findings) => {
  expect(said(judgeNodeVersion(version, Date.parse(day) as Instant))).toEqual(findings);
});

const NOW = Date.parse("2026-11-23T06:00:00Z") as Instant;
const ago = (hours: number): Instant => (NOW - hours * 3_600_000) as Instant;
const OLD_CHECKPOINT = "no-checkpoint: the last parbook verify compared the checkpoint of 2026-11-16T05:00:00.000Z";
test.each<[string, LastVerify | undefined, string[]]>([
  ["that never ran", undefined, ["verify-old: parbook verify never ran on this database with PARBOOK_DATA_DIR /data"]],
  ["of today", { finishedAt: ago(1), sound: true, checkpointAt: ago(167) }, []],
  [
    "that found differences",
    { finishedAt: ago(1), sound: false },
    ["verify-failed: parbook verify of 2026-11-23T05:00:00.000Z found differences"],
  ],
  ["of two days ago", { finishedAt: ago(48), sound: true, checkpointAt: ago(80) }, []],
  [
    "of more than two days ago",
    { finishedAt: ago(49), sound: true, checkpointAt: ago(80) },
    ["verify-old: parbook verify last ran on 2026-11-21T05:00:00.000Z"],
  ],
  [
    "without a checkpoint",
    { finishedAt: ago(1), sound: true },
    ["no-checkpoint: the last parbook verify compared no checkpoint"],
  ],
  ["with an old checkpoint", { finishedAt: ago(1), sound: true, checkpointAt: ago(169) }, [OLD_CHECKPOINT]],
])("a verify %s", (_, last, findings) => {
  expect(said(judgeLastVerify(last, "/data", NOW))).toEqual(findings);
});

test("fewer open files than the connections need are found, with what becomes of it", () => {
  const roles = new Set(["api", "auth"] as const);
  expect(judgeOpenFiles(20_200, { maxConnections: 10_000, roles })).toEqual([]);
  expect(judgeOpenFiles(Number.POSITIVE_INFINITY, { maxConnections: 10_000, roles })).toEqual([]);
  // Without the authorization server there is one server less.
  expect(judgeOpenFiles(10_200, { maxConnections: 10_000, roles: new Set(["api"]) })).toEqual([]);
  expect(judgeOpenFiles(1_024, { maxConnections: 10_000, roles })).toEqual([
    finding(
      "open-files",
      "the service may open 1024 files, so each server takes 412 connections, not the 10000 of PARBOOK_MAX_CONNECTIONS",
      "set LimitNOFILE=20200 in its unit (ulimit -n)",
    ),
  ]);
});

test("root is found only with the embedded database", () => {
  expect(said(judgeUser(0, { databaseUrl: undefined }))).toEqual(["runs-as-root: Parbook runs as root"]);
  expect(judgeUser(0, { databaseUrl: "postgres://db/parbook" })).toEqual([]);
  expect(judgeUser(1_000, { databaseUrl: undefined })).toEqual([]);
  expect(judgeUser(undefined, { databaseUrl: undefined })).toEqual([]);
});

test("settings of a service that leave something open are found", () => {
  const production = { PARBOOK_MODE: "production" };
  const found = (settings: Record<string, string>): string[] => {
    const config = readConfig({ ...production, ...settings });
    return said([...judgeSettings(config), ...judgeEncryptionKeys(config)]);
  };
  expect(found({ PARBOOK_RATE_LIMITS: "off" })).toEqual([
    "rate-limits: rate limits are off",
    "metrics: PARBOOK_METRICS_PORT is not set",
    "no-proxy: neither own TLS nor a trusted proxy is set",
    "signing-keys: PARBOOK_KEY_ENCRYPTION_KEY is not set",
  ]);
  const safe = {
    PARBOOK_METRICS_PORT: "9464",
    PARBOOK_TRUSTED_PROXIES: "10.0.0.7",
    PARBOOK_KEY_ENCRYPTION_KEY: Buffer.alloc(32).toString("base64"),
  };
  expect(found(safe)).toEqual([]);
  const copied = { PARBOOK_BASE_URL: "https://api.example.com", PARBOOK_AUTH_URL: "https://api.example.com:8443/auth" };
  expect(found({ ...safe, ...copied })).toEqual([
    "example-address: PARBOOK_BASE_URL is https://api.example.com",
    "example-address: PARBOOK_AUTH_URL is https://api.example.com:8443/auth",
  ]);
  const real = { PARBOOK_BASE_URL: "https://api.example.com.pl", PARBOOK_AUTH_URL: "https://counterexample.org" };
  expect(found({ ...safe, ...real })).toEqual([]);
  expect(found({ ...safe, PARBOOK_TRUSTED_PROXIES: "", PARBOOK_TLS_CERT: "a", PARBOOK_TLS_KEY: "b" })).toEqual([]);
});

test("what is accepted is a note, and nothing else changes", () => {
  const findings = [
    finding("fsync", "fsync is off", "switch it on"),
    finding("role", "it is a superuser", "use another"),
  ];
  expect(accept(findings, new Set(["fsync"]))).toEqual([
    { ...findings[0], severity: "note", accepted: true },
    findings[1],
  ]);
  expect(findings.map(lineOf)).toEqual([
    "fsync: fsync is off; a crash of its machine loses changes that were answered, and can damage all. Do: switch it on; or accept it: PARBOOK_ACCEPT=fsync",
    "role: it is a superuser; a bug or a stolen password could rewrite the ledger. Do: use another",
  ]);
});

test("the worst is shown first, and what is accepted among the notes", () => {
  const found = (["one-node", "checksums", "fsync", "role", "no-standby"] as const).map((name) =>
    finding(name, "", ""),
  );
  const sorted = sortFindings(accept(found, new Set(["fsync"])));
  expect(sorted.map(({ name }) => name)).toEqual(["role", "no-standby", "checksums", "fsync", "one-node"]);
});
