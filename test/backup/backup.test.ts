/**
 * Backups of a database that is in use, and what is made of them again. The tests follow one another on one service: the
 * backup of the first one is what the others restore, and damage.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  access,
  chmod,
  copyFile,
  cp,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, type ClientConfig } from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Queryable } from "../../src/postgres/database.ts";
import { takeBackup } from "../../src/postgres/embedded/backup/backup.ts";
import type { Manifest } from "../../src/postgres/embedded/backup/backup-manifest.ts";
import { restoreBackup } from "../../src/postgres/embedded/backup/restore.ts";
import type { Gap } from "../../src/postgres/embedded/backup/wal-archive.ts";
import { reachEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { EmbeddedError } from "../../src/postgres/embedded/embedded-error.ts";
import { readArchiveFailing } from "../../src/postgres/wal-archiving-status.ts";
import { must } from "../../src/std/assert.ts";
import { answerOf, dataDirectory, parbook, type ServiceProcess, startService } from "../cli/parbook.ts";
import { until } from "../support/until.ts";
import { BusyCustomers } from "./busy-customers.ts";

// Each command is a process of its own, which on a busy machine takes seconds to come up.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let place: string;
let data: Awaited<ReturnType<typeof dataDirectory>>;
let settings: { readonly PARBOOK_DATA_DIR: string; readonly PARBOOK_BOOTSTRAP: string };
let service: ServiceProcess;
/** Of the backup: everything that was answered before is in it. */
let completeTo: Date;
/** While the customers were at work, a while after the backup. */
let moment: Date;

const customers = new BusyCustomers();
const within = (name: string): string => join(place, name);

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "parbook-backup-"));
  // As root the database runs as somebody else, who has to get to the archive.
  await chmod(place, 0o755);
  data = await dataDirectory();
  const bootstrap = within("customers.json");
  await writeFile(bootstrap, customers.bootstrap);
  settings = { PARBOOK_DATA_DIR: data.path, PARBOOK_BOOTSTRAP: bootstrap };
  service = await startService({ ...settings, PARBOOK_WAL_ARCHIVE: within("wal") });
  await customers.meet(service.ready);
});

afterAll(async () => {
  await service?.end("SIGKILL");
  await data.remove();
  await rm(place, { recursive: true, force: true, maxRetries: 10 });
});

/** Statements in one session of the superuser of the database that the service runs. @returns the rows of the last one */
async function inSession(...texts: readonly string[]): Promise<unknown[]> {
  const reached = must(await reachEmbedded(data.path), "the database answers");
  const client = new Client(reached.connection("postgres", "postgres"));
  try {
    await client.connect();
    let rows: unknown[] = [];
    for (const text of texts) ({ rows } = await client.query(text));
    return rows;
  } finally {
    await client.end();
    reached.close();
  }
}

const query = (text: string): Promise<unknown[]> => inSession(text);

/** Serves from a data directory and lets the customers look. */
async function lookAt(dataDir: string, before: Date, after?: Date): Promise<{ kept: number; gone: number }> {
  const restored = await startService({ ...settings, PARBOOK_DATA_DIR: dataDir });
  try {
    await customers.meet(restored.ready);
    return await customers.expectKept(before, after);
  } finally {
    await restored.end("SIGTERM");
  }
}

const sound = { sound: true, had_checkpoint: true };

/** How far the withdrawals are that have not ended, and why money is held: nothing but withdrawals and legal holds. */
async function openIn(dataDir: string): Promise<unknown> {
  const restored = { ...settings, PARBOOK_DATA_DIR: dataDir };
  const open = (await answerOf(restored, "transfer", "list")) as {
    items: readonly { status: string; amount: string }[];
  };
  const held = (await answerOf(restored, "hold", "list", "--profile", customers.treasury)) as {
    items: readonly { reason: string; amount: string }[];
  };
  const others = held.items.filter(({ reason }) => reason !== "conversion");
  return [
    open.items.map(({ status, amount }) => [status, amount]),
    others.map(({ reason, amount }) => [reason, amount]),
  ];
}

test("a backup that is taken while money moves contains everything that was confirmed before its end", async () => {
  const of = (amount: string) => ["--profile", customers.treasury, "--asset", "ETH", "--amount", amount];
  const { id } = (await answerOf(settings, "withdraw", ...of("7"), "--ref-id", "steps", "--pending")) as { id: string };
  await answerOf(settings, "transfer", "approve", id);
  await answerOf(settings, "hold", "place", ...of("3"), "--reason", "court order");
  customers.begin();
  await customers.untilMore(40);
  const begunAt = new Date();
  const backup = (await answerOf(settings, "backup", within("backup"))) as { path: string; complete_to: string };
  expect(backup).toEqual({
    path: within("backup"),
    complete_to: expect.stringMatching(/Z$/),
    files: expect.any(Number),
    bytes: expect.any(Number),
  });
  completeTo = new Date(backup.complete_to);
  const { files } = JSON.parse(await readFile(join(within("backup"), "manifest.json"), "utf8")) as Pick<
    Manifest,
    "files"
  >;
  expect(backup).toMatchObject({ files: files.length, bytes: files.reduce((sum, { size }) => sum + size, 0) });
  // Client secrets and signing keys are in it.
  const modeOf = async (name: string) => (await stat(join(within("backup"), name))).mode & 0o777;
  const modes = await Promise.all(["", "manifest.json", "postgres", "postgres/PG_VERSION"].map(modeOf));
  expect(modes).toEqual([0o700, 0o600, 0o700, 0o600]);
  await customers.untilMore(20);
  await answerOf(settings, "transfer", "send", id);
  moment = new Date();
  await answerOf(settings, "transfer", "complete", id);
  await customers.untilMore(20);
  await customers.end();

  const restored = within("restored");
  expect(await answerOf(settings, "restore", within("backup"), "--into", restored)).toMatchObject({
    data_dir: restored,
    complete_to: backup.complete_to,
    verify: sound,
  });
  expect(await openIn(restored)).toEqual([
    [["approved", "7"]],
    [
      ["withdrawal", "7"],
      ["legal", "3"],
    ],
  ]);
  const { kept } = await lookAt(restored, completeTo);
  // The customers were at work all the time.
  expect(kept).toBeGreaterThan(customers.answeredBefore(begunAt));
});

/** Ends the segment of the log that is being written, and answers its name. */
async function endSegment(): Promise<string> {
  await query("select pg_logical_emit_message(true, 'test', 'something to archive')");
  const [{ name }] = (await query("select pg_walfile_name(pg_switch_wal()) as name")) as [{ name: string }];
  return name;
}

function untilArchived(segment: string): Promise<void> {
  const isArchived = () =>
    access(join(within("wal"), segment)).then(
      () => true,
      () => false,
    );
  return until(`${segment} is in the archive`, isArchived, 60);
}

test("with the archive of the log a backup is brought forward to any moment, and no further", async () => {
  await untilArchived(await endSegment());
  const asked = ["--into", within("forward"), "--wal", within("wal"), "--until", moment.toISOString()];
  expect(await answerOf(settings, "restore", within("backup"), ...asked)).toMatchObject({ verify: sound });
  expect(await openIn(within("forward"))).toEqual([
    [["sent", "7"]],
    [
      ["withdrawal", "7"],
      ["legal", "3"],
    ],
  ]);
  const { kept, gone } = await lookAt(within("forward"), moment, moment);
  expect(kept).toBeGreaterThan(customers.answeredBefore(completeTo));
  expect(gone).toBeGreaterThan(10);
});

/** What a restore in this process is rejected with, before anybody has looked at what came out of it. */
async function rejection(backup: string, into: string, more: { wal?: string; until?: string } = {}): Promise<string> {
  const until = more.until === undefined ? undefined : new Date(more.until);
  const options = { backup, dataDir: into, walArchive: more.wal, until, onProgress: () => undefined };
  const answer = await restoreBackup(options, async () => "restored").catch((error: unknown) => error);
  expect(answer).toBeInstanceOf(EmbeddedError);
  return (answer as EmbeddedError).message;
}

async function expectNothingIn(dataDir: string): Promise<void> {
  expect((await readdir(dataDir)).filter((name) => !name.startsWith("holder."))).toEqual([]);
}

test("a byte that was changed, and a file that is missing, are found before anything is restored", async () => {
  await cp(within("backup"), within("damaged"), { recursive: true });
  const version = join(within("damaged"), "postgres", "PG_VERSION");
  await writeFile(version, "19\n");
  expect(await parbook(settings, "restore", within("damaged"), "--into", within("none"))).toEqual({
    exitCode: 1,
    stdout: "",
    stderr:
      "the backup is damaged: postgres/PG_VERSION differs from the backup manifest. Nothing was restored; take another backup\n",
  });
  await rm(version);
  expect(await rejection(within("damaged"), within("none"))).toBe(
    "the backup is damaged: postgres/PG_VERSION is missing. Nothing was restored; take another backup",
  );
  await expectNothingIn(within("none"));
});

test("a restore that lacks what the backup has noted is unsound, and archives nothing", async () => {
  await cp(within("backup"), within("noted"), { recursive: true });
  const file = join(within("noted"), "manifest.json");
  const manifest = JSON.parse(await readFile(file, "utf8"));
  const [head] = manifest.ledger.heads;
  head.hash = head.hash.replace(/.$/, (digit: string) => (digit === "0" ? "1" : "0"));
  await writeFile(file, JSON.stringify(manifest));
  // A second timeline in the archive of a service that is running would end what can be restored from it.
  const own = { ...settings, PARBOOK_WAL_ARCHIVE: within("second-timeline") };
  const restore = await parbook(own, "restore", within("noted"), "--into", within("unsound"), "--json");
  expect(restore.exitCode).toBe(1);
  const { sound, checks } = JSON.parse(restore.stdout).verify;
  const broken = checks.filter((check: { broken: number }) => check.broken > 0);
  expect([sound, broken]).toEqual([
    false,
    [
      {
        check: "chain",
        examined: expect.any(Number),
        broken: 1,
        first: { record: `batch ${head.slot}/${head.n}`, message: "is not the batch in the checkpoint" },
      },
    ],
  ]);
  await expect(access(own.PARBOOK_WAL_ARCHIVE)).rejects.toThrow("ENOENT");
});

test("a restore reports what prevents it", async () => {
  const [backup, wal] = [within("backup"), within("wal")];
  expect(await rejection(backup, data.path)).toMatch(/^another service \(process [0-9]+\) is running on the data dir/);
  expect(await rejection(backup, within("restored"))).toMatch(
    / is not empty \([^)]+\): restore into an empty directory$/,
  );
  expect(await rejection(place, within("none"))).toMatch(/ is not a complete backup/);
  expect(await rejection(backup, within("none"), { wal, until: "2026-11-21T01:00:00Z" })).toMatch(
    /: it can only be restored to a later time$/,
  );
  expect(await rejection(backup, within("none"), { wal, until: "2100-01-01T00:00:00Z" })).toMatch(
    /recovery ended before configured recovery target was reached/,
  );
  await symlink(backup, within("link"));
  const insides = [
    [join(backup, "below"), backup, undefined],
    [join(within("link"), "below"), backup, undefined],
    [backup, within("link"), undefined],
    [place, backup, undefined],
    [join(wal, "below"), backup, wal],
  ] as const;
  const before = await readdir(backup);
  for (const [into, from, archive] of insides) {
    expect(await rejection(from, into, archive === undefined ? {} : { wal: archive })).toBe(
      `${into} and ${archive === undefined ? `the backup ${from}` : `the WAL archive ${archive}`} are one inside the other: restore into another directory`,
    );
  }
  expect(await readdir(backup)).toEqual(before);
  await expectNothingIn(within("none"));
});

test("a restore names the missing or truncated segment of the archive", async () => {
  const [lost, last] = [await endSegment(), await endSegment()];
  await untilArchived(last);
  const lacks = async (into: string): Promise<Gap | undefined> => {
    const options = { backup: within("backup"), dataDir: within(into), walArchive: within("wal"), until: undefined };
    return restoreBackup({ ...options, onProgress: () => undefined }, async ({ replayed }) => replayed?.gap);
  };
  // As when the `pg_wal` of a server was copied, which keeps old segments by names that come later.
  const later = join(within("wal"), last.replace(/.{4}$/, "FFFF"));
  await copyFile(join(within("wal"), last), later);
  expect(await lacks("whole")).toBeUndefined();
  await rm(later);
  await rename(join(within("wal"), lost), within(lost));
  expect(await lacks("holed")).toEqual({ segment: lost, why: "is missing" });
  // As of a copy that a full disk has ended.
  await writeFile(join(within("wal"), lost), (await readFile(within(lost))).subarray(0, 4_096));
  const cut = { segment: lost, why: "has 4096 bytes instead of 16777216" };
  expect(await lacks("cut")).toEqual(cut);
  const beyond = { wal: within("wal"), until: "2100-01-01T00:00:00Z" };
  expect(await rejection(within("backup"), within("none"), beyond)).toMatch(
    new RegExp(`recovery target was reached\\. In the archive ${cut.segment} ${cut.why}$`),
  );
  await rename(within(lost), join(within("wal"), lost));
});

test("an archive that cannot be written is known until it can", async () => {
  const failing = () => readArchiveFailing({ rows: query as Queryable["rows"] });
  expect(await failing()).toBe(false);
  await rename(within("wal"), within("elsewhere"));
  // As of an archive that never worked: no time of a success is known.
  await query("select pg_stat_reset_shared('archiver')");
  await endSegment();
  await until("it is known that nothing can be archived", async () => (await failing()) === true, 60);
  await rename(within("elsewhere"), within("wal"));
  await endSegment();
  await until("it is known that all is well again", async () => (await failing()) === false, 120);
});

test("a backup reports what prevents it", async () => {
  const of = async (target: string, superuser: ClientConfig = {}): Promise<string> => {
    const options = { superuser, dataDir: data.path, target, onProgress: () => undefined };
    const note = async () => ({ migration: "", heads: [] });
    return ((await takeBackup({ ...options, readState: note }).catch((error: unknown) => error)) as Error).message;
  };
  expect(await of(within("backup"))).toBe(`${within("backup")} is not empty: give each backup a directory of its own`);
  expect(await of(join(data.path, "backup"))).toMatch(/ is inside the data directory, and would be lost with it: /);
  // Through a link too.
  await symlink(data.path, within("data"));
  expect(await of(join(within("data"), "backup"))).toMatch(/ is inside the data directory/);
  await inSession("set allow_in_place_tablespaces = on", "create tablespace apart location ''");
  const reached = must(await reachEmbedded(data.path), "the database answers");
  const apart = await of(within("apart"), reached.connection("parbook", "postgres"));
  reached.close();
  await query("drop tablespace apart");
  expect(apart).toBe("the database has a separate tablespace, which the backup would not include: drop it first");
  const own = { ...settings, PARBOOK_DATABASE_URL: "postgres://parbook@localhost/parbook" };
  expect((await parbook(own, "backup", within("none"))).stderr).toMatch(
    /^parbook backup works on the embedded database only, and PARBOOK_DATABASE_URL is set: use pg_basebackup/,
  );
});

test("a backup names a link that it would not follow", async () => {
  const link = join(data.path, "postgres", "elsewhere");
  await symlink(place, link);
  const reached = must(await reachEmbedded(data.path), "the database answers");
  const superuser = reached.connection("parbook", "postgres");
  const options = { superuser, dataDir: data.path, target: within("linked"), onProgress: () => undefined };
  const note = async () => ({ migration: "", heads: [] });
  const answer = await takeBackup({ ...options, readState: note }).catch((error: unknown) => error);
  reached.close();
  await rm(link);
  expect(answer).toBeInstanceOf(EmbeddedError);
  expect((answer as Error).message).toBe(
    `${link} is a symbolic link, and its target would not be in the backup: stop the service and move it back, or mount the other disk there`,
  );
  expect((await readdir(place)).filter((name) => name.startsWith("linked"))).toEqual([]);
});

test("a backup that is killed half-way is none, and leaves the database as it was", async () => {
  const program = fileURLToPath(new URL("../../bin/parbook.mjs", import.meta.url));
  const { PATH = "" } = process.env;
  // A file that takes seconds to copy, so that the backup is still at it when it is killed.
  const long = join(data.path, "demo.json");
  await writeFile(long, "");
  await truncate(long, 16 * 1_024 ** 3);
  const child = spawn(process.execPath, [program, "backup", within("half")], { env: { PATH, ...settings } });
  const slots = "select 1 from pg_replication_slots";
  await until("the backup has begun", async () => (await query(slots)).length === 1, 60);
  child.kill("SIGKILL");
  await once(child, "close");
  await rm(long);
  await until("the server has ended the backup", async () => (await query(slots)).length === 0, 60);
  const [draft] = (await readdir(place)).filter((name) => name.startsWith("half"));
  expect(draft).toMatch(/^half\.unfinished-/);
  expect(await rejection(within(must(draft, "there is one")), within("none"))).toMatch(
    / is not a complete backup: manifest.json is missing/,
  );
  // The label would keep a server that crashes now from starting; it is not in the cluster.
  expect(await readdir(join(data.path, "postgres"))).not.toContain("backup_label");
});

test("without a service a backup is taken just the same", async () => {
  expect((await service.end("SIGTERM")).exitCode).toBe(0);
  // Without it a sandbox that is restored would make another demo.
  const demo = join(data.path, "demo.json");
  await writeFile(demo, '{"customers":[]}');
  await answerOf(settings, "backup", within("backup of nobody"));
  expect(await readFile(join(within("backup of nobody"), "demo.json"), "utf8")).toBe('{"customers":[]}');
  await rm(demo);
  const manifest = JSON.parse(await readFile(join(within("backup of nobody"), "manifest.json"), "utf8"));
  expect(await answerOf(settings, "verify")).toMatchObject({ sound: true, heads: manifest.ledger.heads });
  // Without it a server begins at the last checkpoint, which is too late if there was one while files were copied: that is
  // too seldom for a test to see.
  expect(manifest.files.map(({ path }: { path: string }) => path)).toContain("postgres/backup_label");
});
