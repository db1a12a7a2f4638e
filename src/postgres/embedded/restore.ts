/**
 * Makes a backup into a database again. It is made in `<data>/restoring-*`, a data directory of its own, and gets its
 * place only when the server has replayed the log, and the caller has found that it is what it should be. What a killed
 * attempt has left is removed by the next one.
 */
import { randomBytes } from "node:crypto";
import { lchown, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type BackupFile, type Manifest, readManifest } from "./backup-manifest.ts";
import { chooseServerUser, clusterPath, makeDataDirectory, removeCluster } from "./cluster.ts";
import { copyFileDurably, severalAtOnce, syncDirectory, writeFileDurably } from "./copy-file.ts";
import { startEmbedded } from "./embedded.ts";
import { takeHold } from "./hold.ts";
import { endServer } from "./processes.ts";
import type { ServerUser } from "./program.ts";
import { EmbeddedError } from "./refusal.ts";
import { findGap, listSegments, recovering } from "./wal-archive.ts";

export interface RestoreOptions {
  readonly backup: string;
  /** Nothing may be in it. */
  readonly dataDir: string;
  /** Where the log since the backup is; without it, the database is that of the end of the backup. */
  readonly walArchive: string | undefined;
  /** With an archive: as of this moment, instead of the last that it has. */
  readonly until: Date | undefined;
  readonly tell: (line: string) => void;
}

/** The database is there, stopped, in a data directory that is not yet the one that was asked for. */
export interface Restored {
  readonly manifest: Manifest;
  readonly dataDir: string;
  /** The segment of the log at which it ends, though the archive goes on behind it. */
  readonly archiveLacks: string | undefined;
}

const DRAFT_PREFIX = "restoring-";
/** What replaying a day's log may take; ending it would only begin that again. */
const REPLAY_LIMIT_MS = 24 * 60 * 60 * 1_000;

/** `inspect` is shown what was restored. When it throws, nothing has happened. */
export async function restoreBackup<Value>(
  options: RestoreOptions,
  inspect: (restored: Restored) => Promise<Value>,
): Promise<Value> {
  const dataDir = resolve(options.dataDir);
  const manifest = await readManifest(options.backup);
  refuseTooEarly(manifest, options.until);
  await makeDataDirectory(dataDir);
  const hold = await takeHold(dataDir);
  try {
    await removeDrafts(dataDir);
    await refuseInhabited(dataDir);
    const draft = join(dataDir, DRAFT_PREFIX + randomBytes(4).toString("hex"));
    await mkdir(draft, { mode: 0o700 });
    try {
      const archiveLacks = await fill(draft, manifest, options);
      const value = await inspect({ manifest, dataDir: draft, archiveLacks });
      await moveIn(draft, dataDir);
      return value;
    } finally {
      await removeDraft(draft);
    }
  } finally {
    hold.release();
  }
}

function refuseTooEarly({ ended_at }: Manifest, until: Date | undefined): void {
  if (until === undefined || until > new Date(ended_at)) return;
  throw new EmbeddedError(
    `the backup was finished at ${ended_at}: it can be brought forward to a later moment, and no further back`,
  );
}

async function removeDrafts(dataDir: string): Promise<void> {
  for (const name of (await readdir(dataDir)).filter((one) => one.startsWith(DRAFT_PREFIX))) {
    await endServer(clusterPath(join(dataDir, name)));
    await removeDraft(join(dataDir, name));
  }
}

async function removeDraft(draft: string): Promise<void> {
  await removeCluster(clusterPath(draft));
  await rm(draft, { recursive: true, force: true, maxRetries: 5 });
}

/** Nothing may be there but our own lock. */
async function refuseInhabited(dataDir: string): Promise<void> {
  const found = (await readdir(dataDir)).find((name) => !name.startsWith("holder."));
  if (found === undefined) return;
  throw new EmbeddedError(`${dataDir} is not empty, ${found} is in it: restore into a directory that is`);
}

/** Answers what the archive lacks, see `Restored`. */
async function fill(draft: string, manifest: Manifest, options: RestoreOptions): Promise<string | undefined> {
  const { backup, walArchive, until, tell } = options;
  const user = await chooseServerUser(draft, false);
  const settings = await recovering(walArchive, until, user);
  const there = walArchive === undefined ? [] : await listSegments(walArchive);
  await copyBack(backup, draft, manifest, user);
  // By this file the server knows that it is to restore, and begins a timeline of its own at the end of it: what it
  // writes from then on can never be mistaken for the log of the database that the backup was taken of.
  const signal = join(clusterPath(draft), "recovery.signal");
  await writeFileDurably(signal, "");
  await give(signal, user);
  tell(`${manifest.files.length} files are as the backup has them; PostgreSQL replays the log`);
  const replaying = { directory: draft, log: tell, settings, recoveryLimitMs: REPLAY_LIMIT_MS };
  const server = await startEmbedded(replaying).catch(async (error: unknown) => {
    throw (await reasonIn(`${clusterPath(draft)}.log`)) ?? error;
  });
  await server.stop();
  // A moment that was asked for has been reached, or the server would have refused.
  return walArchive === undefined || until !== undefined ? undefined : findGap(clusterPath(draft), walArchive, there);
}

/** Why a replay came to nothing, in the server's words: the log that has them is removed with the rest. */
async function reasonIn(logFile: string): Promise<EmbeddedError | undefined> {
  const text = await readFile(logFile, "utf8").catch(() => "");
  const reasons = [...text.matchAll(/FATAL: +(.*)/g)].flatMap(([, reason]) => reason ?? []);
  // Whoever asks too early is told so in the same way.
  const reason = reasons.find((one) => !one.startsWith("the database system is "));
  return reason === undefined
    ? undefined
    : new EmbeddedError(`the backup cannot be brought to where it was asked for, and nothing was restored: ${reason}`);
}

/** Every file has to be the one that was backed up: what is not is named, before any server sees it. */
async function copyBack(backup: string, draft: string, manifest: Manifest, user: ServerUser): Promise<void> {
  for (const directory of manifest.directories) {
    await mkdir(join(draft, directory), { mode: 0o700 });
    await give(join(draft, directory), user);
  }
  await severalAtOnce(manifest.files, async (file) => {
    const to = join(draft, file.path);
    expectSame(file, await copyFileDurably(join(backup, file.path), to));
    if (dirname(file.path) !== ".") await give(to, user);
  });
  await severalAtOnce([".", ...manifest.directories], (directory) => syncDirectory(join(draft, directory)));
}

function expectSame(file: BackupFile, copied: Omit<BackupFile, "path"> | undefined): void {
  if (copied?.sha256 === file.sha256) return;
  const how = copied === undefined ? "is missing" : "is not what was backed up";
  throw new EmbeddedError(`the backup is damaged: ${file.path} ${how}. Nothing was restored; take another backup`);
}

async function give(path: string, user: ServerUser): Promise<void> {
  if (user !== undefined) await lchown(path, user.uid, user.gid);
}

/** The cluster last: only with it the data directory is one. */
async function moveIn(draft: string, dataDir: string): Promise<void> {
  const names = (await readdir(draft)).filter((name) => !/^(?:holder\.|ready\.json$)/.test(name));
  for (const name of names.filter((one) => one !== "postgres")) await rename(join(draft, name), join(dataDir, name));
  await syncDirectory(dataDir);
  await rename(clusterPath(draft), clusterPath(dataDir));
  await syncDirectory(dataDir);
}
