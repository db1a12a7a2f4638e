/**
 * Takes a base backup of the running database by PostgreSQL's low-level API: the files are copied while in use, and the WAL
 * written during the backup makes them consistent as of its end. Writers are not blocked.
 *
 * A temporary replication slot keeps the WAL. It ends with the session, as the backup mode does, so a killed backup leaves
 * the server unchanged, and only a directory with a temporary name and no manifest.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Client, type ClientConfig } from "pg";
import { must } from "../../../std/assert.ts";
import { isInside } from "../../../std/paths.ts";
import type { Queryable } from "../../database.ts";
import { prepareSession } from "../../session.ts";
import { clusterPath } from "../cluster.ts";
import {
  type CopyListener,
  copyFileDurably,
  forEachConcurrently,
  syncDirectory,
  writeFileDurably,
} from "../copy-file.ts";
import { EmbeddedError } from "../embedded-error.ts";
import { openIn, readIn, withDirectoryIn } from "../safe-open.ts";
import { type BackupFile, type BackupState, MANIFEST, manifestText } from "./backup-manifest.ts";

export interface BackupOptions {
  readonly superuser: ClientConfig;
  readonly dataDir: string;
  /** An empty or missing directory. */
  readonly target: string;
  /** Reads the state of the ledger for the manifest. Called after the files are copied. */
  readonly readState: (session: Queryable) => Promise<BackupState>;
  readonly onProgress: (line: string) => void;
  readonly copying?: CopyListener | undefined;
}

export interface Backup {
  readonly path: string;
  readonly completeTo: Date;
  readonly files: number;
  readonly bytes: number;
}

/** Files next to the cluster. Without demo.json, the next start would create another demo. */
const EXTRA_FILES = ["demo.json"];

export async function takeBackup(options: BackupOptions): Promise<Backup> {
  const target = resolve(options.target);
  await checkTarget(target, resolve(options.dataDir));
  const draft = join(dirname(target), `${basename(target)}.unfinished-${randomBytes(4).toString("hex")}`);
  await mkdir(draft, { recursive: true, mode: 0o700 });
  try {
    const { completeTo, files } = await writeBackup(draft, options);
    await moveIntoPlace(draft, target);
    await syncDirectory(dirname(target));
    return { path: target, completeTo, files: files.length, bytes: sizeOf(files) };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

async function checkTarget(target: string, dataDir: string): Promise<void> {
  if (await isInside(target, dataDir)) {
    throw new EmbeddedError(
      `${target} is inside the data directory, and would be lost with it: choose another directory`,
    );
  }
  const found = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  if (found.length > 0) throw new EmbeddedError(`${target} is not empty: give each backup a directory of its own`);
}

async function moveIntoPlace(draft: string, target: string): Promise<void> {
  try {
    await rename(draft, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new EmbeddedError(
      `the backup cannot be moved to ${target} (${code}): choose a directory that is not a mount point`,
    );
  }
}

/** Writes everything into `draft`. The manifest comes last, when all files are durable. */
async function writeBackup(draft: string, options: BackupOptions): Promise<{ completeTo: Date; files: BackupFile[] }> {
  const session = await openSession(options.superuser);
  try {
    const begun = await begin(session);
    options.onProgress(`backup started at ${begun.startedAt.toISOString()}`);
    options.copying?.begins(begun.bytes);
    const copy = new Copy(draft, options.copying);
    await copy.tree(clusterPath(options.dataDir), "postgres");
    await copy.control(clusterPath(options.dataDir));
    for (const name of EXTRA_FILES) await copy.file(options.dataDir, name, name);
    const ledger = await options.readState(session);
    const ended = await end(session, begun);
    await copy.written("postgres/backup_label", ended.label);
    for (const name of ended.segments) {
      const path = `pg_wal/${name}`;
      if (!(await copy.file(clusterPath(options.dataDir), path, `postgres/${path}`)))
        throw new Error(`WAL segment ${name} is missing`);
    }
    const { directories, files } = copy;
    await forEachConcurrently(directories, (directory) => syncDirectory(join(draft, directory)));
    const manifest = {
      postgres: begun.version,
      started_at: begun.startedAt.toISOString(),
      complete_to: ended.completeTo.toISOString(),
      ended_at: ended.endedAt.toISOString(),
      ...{ ledger, directories, files },
    };
    await writeFileDurably(join(draft, MANIFEST), manifestText(manifest));
    await syncDirectory(draft);
    return { completeTo: ended.completeTo, files };
  } finally {
    await session.close();
  }
}

/** The backup ends with this session; the idle timeout ends it even if this process is suspended. */
interface Session extends Queryable {
  close(): Promise<void>;
}

const HEARTBEAT_MS = 5_000;
const IDLE_TIMEOUT = "1min";

async function openSession(superuser: ClientConfig): Promise<Session> {
  const client = new Client({ ...superuser, application_name: "parbook backup", connectionTimeoutMillis: 5_000 });
  // Without a listener, a broken connection would end the process. The next statement fails.
  client.on("error", () => undefined);
  await client.connect();
  await prepareSession(client, { idle_session_timeout: IDLE_TIMEOUT });
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

interface BackupStart {
  readonly lsn: string;
  readonly startedAt: Date;
  readonly version: string;
  /** Of all databases, as their files are now. */
  readonly bytes: number;
}

async function begin(session: Session): Promise<BackupStart> {
  const [place] = await session.rows(
    "select 1 from pg_tablespace where spcname not in ('pg_default', 'pg_global') limit 1",
  );
  if (place !== undefined) {
    throw new EmbeddedError(
      "the database has a separate tablespace, which the backup would not include: drop it first",
    );
  }
  await session.rows(`select pg_create_physical_replication_slot('parbook_backup_' || pg_backend_pid(), true, true)`);
  const [begun] = await session.rows<BackupStart>(
    `select pg_backup_start('parbook', fast => true)::text as lsn, clock_timestamp() as "startedAt",
            current_setting('server_version') as version,
            (select sum(pg_database_size(oid))::float8 from pg_database) as bytes`,
  );
  return must(begun, "one row");
}

interface BackupEnd {
  readonly label: string;
  readonly completeTo: Date;
  readonly endedAt: Date;
  /** WAL segments from start to end, and the timeline histories. */
  readonly segments: readonly string[];
}

async function end(session: Session, { lsn }: BackupStart): Promise<BackupEnd> {
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

/** Copied empty: their contents are specific to the running server, or copied last. */
const EMPTIED = new Set([
  ...["pg_wal", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"],
]);
/** Specific to the running server. backup_label comes from the end of the backup. */
const LEFT_OUT = new Set([
  ...["postmaster.pid", "postmaster.pid.new", "postmaster.opts", "current_logfiles", "postgresql.auto.conf.tmp"],
  ...["backup_label", "backup_label.old", "tablespace_map", "tablespace_map.old", "backup_manifest"],
]);
/** Recreated by the server, in any directory. */
const REGENERATED = /^(?:pgsql_tmp|pg_internal\.init)/;
const CONTROL = "global/pg_control";
const CONTROL_BYTES = 8_192;

/** Copies files into the draft and collects their manifest entries. */
class Copy {
  readonly files: BackupFile[] = [];
  readonly directories: string[] = [];
  readonly #draft: string;
  readonly #listener: CopyListener | undefined;

  constructor(draft: string, listener: CopyListener | undefined) {
    this.#draft = draft;
    this.#listener = listener;
  }

  /** Copies a directory. Files may appear and vanish during the copy; the WAL covers that. */
  async tree(from: string, to: string): Promise<void> {
    const found: string[] = [];
    await this.#directory(from, to, "", found);
    await forEachConcurrently(found, async (path) => {
      await this.file(from, path, join(to, path));
    });
  }

  async #directory(from: string, to: string, below: string, found: string[]): Promise<void> {
    this.directories.push(join(to, below));
    await mkdir(join(this.#draft, to, below), { mode: 0o700 });
    if (EMPTIED.has(below)) return;
    for (const entry of await withDirectoryIn(from, below, (name) => readdir(name, { withFileTypes: true }))) {
      const path = join(below, entry.name);
      if (REGENERATED.test(entry.name) || LEFT_OUT.has(path) || path === CONTROL) continue;
      if (entry.isSymbolicLink()) throw linked(join(from, path));
      if (entry.isDirectory()) await this.#directory(from, to, path, found);
      else if (entry.isFile()) found.push(path);
    }
  }

  /** @returns False if the file no longer exists. */
  async file(from: string, path: string, to: string): Promise<boolean> {
    const onCopied = (bytes: number): void => this.#listener?.copied(bytes);
    const copied = await copyFileDurably(() => openIn(from, path), join(this.#draft, to), onCopied);
    if (copied === undefined) return false;
    this.files.push({ path: to, ...copied });
    return true;
  }

  async written(to: string, content: string | Buffer): Promise<void> {
    this.files.push({ path: to, ...(await writeFileDurably(join(this.#draft, to), content)) });
  }

  /** pg_control is overwritten in place: read it until two reads agree. */
  async control(cluster: string): Promise<void> {
    const read = async () => must(await readIn(cluster, CONTROL, CONTROL_BYTES), "a database has a control file");
    let [before, now] = [await read(), await read()];
    while (!before.equals(now)) [before, now] = [now, await read()];
    await this.written(join("postgres", CONTROL), now);
  }
}

function linked(path: string): EmbeddedError {
  return new EmbeddedError(
    `${path} is a symbolic link, and its target would not be in the backup: stop the service and move it back, or mount the other disk there`,
  );
}

const sizeOf = (files: readonly BackupFile[]): number => files.reduce((total, { size }) => total + size, 0);
