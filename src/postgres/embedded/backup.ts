/**
 * Copies the database while it is used, in the way that PostgreSQL calls its low-level API: it is told that a backup
 * begins, the files are copied as they happen to be, and together with the log from the beginning to the end they make
 * the database of the end again. So nobody waits, and whatever was committed before the end is there.
 *
 * The log of that time is kept by a replication slot that ends with the session, as the backup itself does: when we are
 * killed, the server is as before. Of us stays a directory with another name and no manifest, which is no backup.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { Client, type ClientConfig } from "pg";
import { must } from "../../std/assert.ts";
import type { Queryable } from "../database.ts";
import { prepareSession } from "../session.ts";
import { type BackupFile, MANIFEST, manifestText, type NotedBooks } from "./backup-manifest.ts";
import { clusterPath } from "./cluster.ts";
import { copyFileDurably, severalAtOnce, syncDirectory, writeFileDurably } from "./copy-file.ts";
import { openIn, readIn, withDirectoryIn } from "./inside.ts";
import { EmbeddedError } from "./refusal.ts";

export interface BackupOptions {
  /** How to connect as the superuser. */
  readonly superuser: ClientConfig;
  readonly dataDir: string;
  /** Where the backup will be: a directory that is empty or is not there. */
  readonly target: string;
  /** What is to be noted of the books; is asked last. */
  readonly note: (session: Queryable) => Promise<NotedBooks>;
  /** Is told how it goes. */
  readonly tell: (line: string) => void;
}

export interface Backup {
  readonly path: string;
  readonly completeTo: Date;
  readonly files: number;
  readonly bytes: number;
}

/** What lies beside the cluster and belongs to it: without the demo's file, the next start would make another demo. */
const BESIDE = ["demo.json"];

export async function takeBackup(options: BackupOptions): Promise<Backup> {
  const target = resolve(options.target);
  await refuseUnsuitable(target, resolve(options.dataDir));
  const draft = join(dirname(target), `${basename(target)}.unfinished-${randomBytes(4).toString("hex")}`);
  await mkdir(draft, { recursive: true, mode: 0o700 });
  try {
    const { completeTo, files } = await fill(draft, options);
    await giveName(draft, target);
    await syncDirectory(dirname(target));
    return { path: target, completeTo, files: files.length, bytes: sizeOf(files) };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

async function refuseUnsuitable(target: string, dataDir: string): Promise<void> {
  if (`${target}${sep}`.startsWith(`${dataDir}${sep}`)) {
    throw new EmbeddedError(`${target} is in the data directory, with which it would be lost: choose another place`);
  }
  const found = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  if (found.length > 0) throw new EmbeddedError(`${target} is not empty: give each backup a directory of its own`);
}

async function giveName(draft: string, target: string): Promise<void> {
  try {
    await rename(draft, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new EmbeddedError(`the backup cannot be named ${target} (${code}): give it a directory that is not a mount`);
  }
}

/** Everything but the name. The manifest comes last, when all that it names is on the disk. */
async function fill(draft: string, options: BackupOptions): Promise<{ completeTo: Date; files: BackupFile[] }> {
  const session = await openSession(options.superuser);
  try {
    const begun = await begin(session);
    options.tell(`the backup begins at ${begun.startedAt.toISOString()}`);
    const copy = new Copy(draft, options.tell);
    await copy.tree(clusterPath(options.dataDir), "postgres");
    await copy.control(clusterPath(options.dataDir));
    for (const name of BESIDE) await copy.file(options.dataDir, name, name);
    const books = await options.note(session);
    const ended = await end(session, begun);
    await copy.written("postgres/backup_label", ended.label);
    for (const name of ended.segments) {
      const path = `pg_wal/${name}`;
      if (!(await copy.file(clusterPath(options.dataDir), path, `postgres/${path}`)))
        throw new Error(`the log lacks ${name}`);
    }
    const { directories, files } = copy;
    await severalAtOnce(directories, (directory) => syncDirectory(join(draft, directory)));
    const manifest = {
      postgres: begun.version,
      started_at: begun.startedAt.toISOString(),
      complete_to: ended.completeTo.toISOString(),
      ended_at: ended.endedAt.toISOString(),
      ...{ books, directories, files },
    };
    await writeFileDurably(join(draft, MANIFEST), manifestText(manifest));
    await syncDirectory(draft);
    return { completeTo: ended.completeTo, files };
  } finally {
    await session.close();
  }
}

/** The session that the backup lives in, and dies with: also when this process is stopped and not heard of any more. */
interface Session extends Queryable {
  close(): Promise<void>;
}

const HEARTBEAT_MS = 5_000;
const SILENCE_LIMIT = "1min";

async function openSession(superuser: ClientConfig): Promise<Session> {
  const client = new Client({ ...superuser, application_name: "parbook backup", connectionTimeoutMillis: 5_000 });
  // It may break between two statements; the next one finds out.
  client.on("error", () => undefined);
  await client.connect();
  await prepareSession(client, { idle_session_timeout: SILENCE_LIMIT });
  const beat = setInterval(() => void client.query("select 1").catch(() => undefined), HEARTBEAT_MS);
  return {
    rows: async <Row>(text: string, values: readonly unknown[] = []) =>
      (await client.query(text, values as unknown[])).rows as Row[],
    close: async () => {
      clearInterval(beat);
      await client.end();
    },
  };
}

interface Begun {
  readonly lsn: string;
  readonly startedAt: Date;
  readonly version: string;
}

async function begin(session: Session): Promise<Begun> {
  const [place] = await session.rows(
    "select 1 from pg_tablespace where spcname not in ('pg_default', 'pg_global') limit 1",
  );
  if (place !== undefined) {
    throw new EmbeddedError("the database has a tablespace elsewhere, which this backup would lack: drop it first");
  }
  await session.rows(`select pg_create_physical_replication_slot('parbook_backup_' || pg_backend_pid(), true, true)`);
  const [begun] = await session.rows<Begun>(
    `select pg_backup_start('parbook', fast => true)::text as lsn, clock_timestamp() as "startedAt",
            current_setting('server_version') as version`,
  );
  return must(begun, "one row");
}

interface Ended {
  readonly label: string;
  readonly completeTo: Date;
  readonly endedAt: Date;
  /** The log from the beginning to the end, and the histories of its timelines. */
  readonly segments: readonly string[];
}

async function end(session: Session, { lsn }: Begun): Promise<Ended> {
  const [before] = await session.rows<{ now: Date }>("select clock_timestamp() as now");
  const [stopped] = await session.rows<{ lsn: string; label: string; now: Date }>(
    `select lsn::text, labelfile as label, clock_timestamp() as now from pg_backup_stop(wait_for_archive => false)`,
  );
  const { label, lsn: stop, now: endedAt } = must(stopped, "one row");
  const found = await session.rows<{ name: string }>(
    `select name from pg_ls_waldir()
      where name like '%.history' or name ~ '^[0-9A-F]{24}$' and name between pg_walfile_name($1) and pg_walfile_name($2)
      order by name`,
    [lsn, stop],
  );
  return { label, completeTo: must(before, "one row").now, endedAt, segments: found.map(({ name }) => name) };
}

/** Of these directories only the name is copied: what is in them means nothing to another server, or is copied last. */
const EMPTIED = new Set([
  ...["pg_wal", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"],
]);
/** These describe the server that runs here; the label is the one that the end of the backup gives. */
const LEFT_OUT = new Set([
  ...["postmaster.pid", "postmaster.pid.new", "postmaster.opts", "current_logfiles", "postgresql.auto.conf.tmp"],
  ...["backup_label", "backup_label.old", "tablespace_map", "tablespace_map.old", "backup_manifest"],
]);
/** Anywhere: what the server makes again. */
const MADE_AGAIN = /^(?:pgsql_tmp|pg_internal\.init)/;
const CONTROL = "global/pg_control";
const CONTROL_BYTES = 8_192;
const TOLD_EVERY_MS = 5_000;

/** What has been copied into the draft, and how far it is. */
class Copy {
  readonly files: BackupFile[] = [];
  readonly directories: string[] = [];
  readonly #draft: string;
  readonly #tell: (line: string) => void;
  #told = performance.now();

  constructor(draft: string, tell: (line: string) => void) {
    this.#draft = draft;
    this.#tell = tell;
  }

  /** The directory `from` as `to`. Files come and go meanwhile: the log knows of each that matters. */
  async tree(from: string, to: string): Promise<void> {
    const found: string[] = [];
    await this.#directory(from, to, "", found);
    await severalAtOnce(found, async (path) => {
      await this.file(from, path, join(to, path));
    });
  }

  async #directory(from: string, to: string, below: string, found: string[]): Promise<void> {
    this.directories.push(join(to, below));
    await mkdir(join(this.#draft, to, below), { mode: 0o700 });
    if (EMPTIED.has(below)) return;
    for (const entry of await withDirectoryIn(from, below, (name) => readdir(name, { withFileTypes: true }))) {
      const path = join(below, entry.name);
      if (MADE_AGAIN.test(entry.name) || LEFT_OUT.has(path) || path === CONTROL) continue;
      if (entry.isSymbolicLink()) throw linked(join(from, path));
      if (entry.isDirectory()) await this.#directory(from, to, path, found);
      else if (entry.isFile()) found.push(path);
    }
  }

  /** Copies `path` below `from`, and says whether the file was still there. */
  async file(from: string, path: string, to: string): Promise<boolean> {
    const copied = await copyFileDurably(() => openIn(from, path), join(this.#draft, to));
    if (copied === undefined) return false;
    this.#add({ path: to, ...copied });
    return true;
  }

  async written(to: string, content: string | Buffer): Promise<void> {
    this.#add({ path: to, ...(await writeFileDurably(join(this.#draft, to), content)) });
  }

  /** A small file that is written over in place: read until it has come out the same twice, so that it is whole. */
  async control(cluster: string): Promise<void> {
    const read = async () => must(await readIn(cluster, CONTROL, CONTROL_BYTES), "a database has a control file");
    let [before, now] = [await read(), await read()];
    while (!before.equals(now)) [before, now] = [now, await read()];
    await this.written(join("postgres", CONTROL), now);
  }

  #add(file: BackupFile): void {
    this.files.push(file);
    if (performance.now() - this.#told < TOLD_EVERY_MS) return;
    this.#told = performance.now();
    this.#tell(`copied ${this.files.length} files, ${Math.round(sizeOf(this.files) / 1e6)} MB so far`);
  }
}

function linked(path: string): EmbeddedError {
  return new EmbeddedError(
    `${path} is a symbolic link, and what it leads to would not be in the backup: stop the service and move it back, or mount the other disk there`,
  );
}

const sizeOf = (files: readonly BackupFile[]): number => files.reduce((total, { size }) => total + size, 0);
