/**
 * Restores a backup. It is built in `<data>/restoring-*` and moved into place only after the server has replayed the WAL and
 * the caller has inspected it. The next attempt removes what a killed one left.
 */
import { randomBytes } from "node:crypto";
import { lchown, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isInside } from "../../../std/paths.ts";
import { chooseServerUser, clusterPath, removeCluster } from "../cluster.ts";
import {
  type CopyListener,
  copyFileDurably,
  forEachConcurrently,
  syncDirectory,
  writeFileDurably,
} from "../copy-file.ts";
import { lockDirectory } from "../directory-lock.ts";
import { startEmbedded } from "../embedded.ts";
import { EmbeddedError } from "../embedded-error.ts";
import { stopServer } from "../processes.ts";
import type { ServerUser } from "../program.ts";
import { checkContinues, segmentsOf } from "./archive-owner.ts";
import { type BackupFile, type Manifest, readManifest } from "./backup-manifest.ts";
import {
  type Archived,
  examineReplay,
  type Replayed,
  readArchive,
  recovering,
  segmentNumber,
  wrongSize,
} from "./wal-archive.ts";

export interface RestoreOptions {
  readonly backup: string;
  /** Must be empty. */
  readonly dataDir: string;
  /** The WAL to replay after the backup; undefined: restore to the end of the backup. */
  readonly walArchive: string | undefined;
  /** With an archive: stop the replay at this time instead of its end. */
  readonly until: Date | undefined;
  readonly onProgress: (line: string) => void;
  readonly showing?: RestoreDisplay | undefined;
  /** Ends the replay. The copy ends when its listener throws. */
  readonly stopping?: AbortSignal | undefined;
}

/** Shows how far the long steps are: each runs its work and returns when that ends. */
export interface RestoreDisplay {
  copy(work: (listener: CopyListener) => Promise<void>): Promise<void>;
  replay<Value>(work: () => Promise<Value>): Promise<Value>;
}

const SHOWING_NOTHING: RestoreDisplay = {
  copy: (work) => work({ begins: () => undefined, copied: () => undefined }),
  replay: (work) => work(),
};

/** The restored, stopped database, still in a temporary data directory. */
export interface Restored {
  readonly manifest: Manifest;
  readonly dataDir: string;
  /** With an archive. */
  readonly replayed: Replayed | undefined;
}

const DRAFT_PREFIX = "restoring-";
/** Nothing else of such a name is ours. */
const isDraft = (name: string): boolean => new RegExp(`^${DRAFT_PREFIX}[0-9a-f]{8}$`).test(name);
/** Replaying a large archive may take hours. */
const REPLAY_LIMIT_MS = 24 * 60 * 60 * 1_000;

/** @param inspect Examines the restored database. If it throws, nothing is restored. @throws EmbeddedError */
export async function restoreBackup<Value>(
  options: RestoreOptions,
  inspect: (restored: Restored) => Promise<Value>,
): Promise<Value> {
  const dataDir = resolve(options.dataDir);
  const manifest = await readManifest(options.backup);
  checkTargetTime(manifest, options.until);
  await checkApart(dataDir, options.backup, "the backup");
  if (options.walArchive !== undefined) await checkApart(dataDir, options.walArchive, "the WAL archive");
  const hold = await lockDirectory(dataDir, "command");
  try {
    await checkEmpty(dataDir);
    await removeDrafts(dataDir);
    const draft = join(dataDir, DRAFT_PREFIX + randomBytes(4).toString("hex"));
    await mkdir(draft, { mode: 0o700 });
    try {
      const replayed = await restoreInto(draft, manifest, options);
      const value = await inspect({ manifest, dataDir: draft, replayed });
      // One whose end has failed may be running still.
      await stopServer(clusterPath(draft));
      await moveIn(draft, dataDir);
      return value;
    } finally {
      await removeDraft(draft);
    }
  } finally {
    hold.release();
  }
}

function checkTargetTime({ ended_at }: Manifest, until: Date | undefined): void {
  if (until === undefined || until > new Date(ended_at)) return;
  throw new EmbeddedError(`the backup ended at ${ended_at}: it can only be restored to a later time`);
}

/** A restore writes to the target and empties it of earlier attempts. */
async function checkApart(dataDir: string, source: string, what: string): Promise<void> {
  if (!(await isInside(dataDir, source)) && !(await isInside(source, dataDir))) return;
  throw new EmbeddedError(`${dataDir} and ${what} ${source} are one inside the other: restore into another directory`);
}

async function removeDrafts(dataDir: string): Promise<void> {
  for (const name of (await readdir(dataDir)).filter(isDraft)) {
    await stopServer(clusterPath(join(dataDir, name)));
    await removeDraft(join(dataDir, name));
  }
}

async function removeDraft(draft: string): Promise<void> {
  await removeCluster(clusterPath(draft));
  await rm(draft, { recursive: true, force: true, maxRetries: 5 });
}

async function checkEmpty(dataDir: string): Promise<void> {
  const found = (await readdir(dataDir)).find((name) => !name.startsWith("holder.") && !isDraft(name));
  if (found === undefined) return;
  throw new EmbeddedError(`${dataDir} is not empty (${found}): restore into an empty directory`);
}

/** @returns See `Restored.replayed`. */
async function restoreInto(draft: string, manifest: Manifest, options: RestoreOptions): Promise<Replayed | undefined> {
  const { backup, walArchive, until, onProgress, stopping, showing = SHOWING_NOTHING } = options;
  const user = await chooseServerUser(draft, false);
  const [first] = segmentsOf(manifest);
  // The segment before that is complete when the backup begins, and is in its archive soon.
  const from = first === undefined ? 0n : segmentNumber(first) - 1n;
  const archived = walArchive === undefined ? undefined : await readArchive(walArchive, from, user);
  if (archived !== undefined && first !== undefined) await checkContinues(archived, backup);
  const settings = recovering(archived, until);
  await showing.copy((listener) => copyBack(backup, draft, manifest, user, listener));
  // With this file the server runs archive recovery and starts a new timeline at its end, so that its WAL can never be
  // confused with that of the original database.
  const signal = join(clusterPath(draft), "recovery.signal");
  await writeFileDurably(signal, "");
  await changeOwner(signal, user);
  onProgress(`${manifest.files.length} files copied and checked; PostgreSQL is replaying the WAL`);
  const replaying = { directory: draft, log: onProgress, settings, recoveryLimitMs: REPLAY_LIMIT_MS };
  stopping?.throwIfAborted();
  const stopReplay = (): void => void stopServer(clusterPath(draft)).catch(() => undefined);
  stopping?.addEventListener("abort", stopReplay);
  const server = await showing
    .replay(() => startEmbedded(replaying))
    .catch(async (error: unknown) => {
      stopping?.throwIfAborted();
      throw (
        (await reasonIn(`${clusterPath(draft)}.log`, archived === undefined ? "" : sayShort(archived, first))) ?? error
      );
    });
  stopping?.removeEventListener("abort", stopReplay);
  await server.stop();
  return archived && examineReplay(clusterPath(draft), archived, until);
}

/** Names the first segment behind the backup that has a wrong size: the server, which never gets it, cannot name it. */
function sayShort({ segments }: Archived, first = ""): string {
  for (const [segment, header] of segments) {
    const wrong = segment < first ? undefined : wrongSize(header);
    if (wrong !== undefined) return `. In the archive ${segment} ${wrong}`;
  }
  return "";
}

/** The server's reason for a failed replay, from its log, which is about to be removed. */
async function reasonIn(logFile: string, more: string): Promise<EmbeddedError | undefined> {
  const text = await readFile(logFile, "utf8").catch(() => "");
  const reasons = [...text.matchAll(/FATAL: +(.*)/g)].flatMap(([, reason]) => reason ?? []);
  // "the database system is starting up" is only the response to an early connection.
  const reason = reasons.find((one) => !one.startsWith("the database system is "));
  if (reason === undefined) return undefined;
  // Why a segment could not be copied, or the archive has gone, is said by the program that finds it.
  const copying = reason.includes("from archive") ? (text.match(/^(?:cp|ls): .*$/gm) ?? []).slice(-1) : [];
  return new EmbeddedError(
    `the WAL replay failed, and nothing was restored: ${[reason, ...copying].join(": ")}${more}`,
  );
}

/** Copies and verifies every file, before a server reads any. */
async function copyBack(
  backup: string,
  draft: string,
  manifest: Manifest,
  user: ServerUser,
  listener: CopyListener,
): Promise<void> {
  listener.begins(manifest.files.reduce((bytes, { size }) => bytes + size, 0));
  for (const directory of manifest.directories) {
    await mkdir(join(draft, directory), { mode: 0o700 });
    await changeOwner(join(draft, directory), user);
  }
  await forEachConcurrently(manifest.files, async (file) => {
    const to = join(draft, file.path);
    expectSame(file, await copyFileDurably(join(backup, file.path), to, (bytes) => listener.copied(bytes)));
    if (dirname(file.path) !== ".") await changeOwner(to, user);
  });
  await forEachConcurrently([".", ...manifest.directories], (directory) => syncDirectory(join(draft, directory)));
}

function expectSame(file: BackupFile, copied: Omit<BackupFile, "path"> | undefined): void {
  if (copied?.sha256 === file.sha256) return;
  const how = copied === undefined ? "is missing" : "differs from the backup manifest";
  throw new EmbeddedError(`the backup is damaged: ${file.path} ${how}. Nothing was restored; take another backup`);
}

async function changeOwner(path: string, user: ServerUser): Promise<void> {
  if (user !== undefined) await lchown(path, user.uid, user.gid);
}

/** Moves the cluster last, which makes the data directory valid. */
async function moveIn(draft: string, dataDir: string): Promise<void> {
  const names = (await readdir(draft)).filter((name) => !/^(?:holder\.|ready\.json$)/.test(name));
  for (const name of names.filter((one) => one !== "postgres")) await rename(join(draft, name), join(dataDir, name));
  await syncDirectory(dataDir);
  await rename(clusterPath(draft), clusterPath(dataDir));
  await syncDirectory(dataDir);
}
