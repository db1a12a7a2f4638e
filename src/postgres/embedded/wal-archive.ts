/**
 * The WAL archive: every completed segment, in a directory preferably on another disk. A backup plus the archive allow
 * point-in-time recovery. PostgreSQL's module `basic_archive` copies and syncs a segment before giving it its name.
 */
import { constants } from "node:fs";
import { lchown, mkdir, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { must } from "../../std/assert.ts";
import { EmbeddedError } from "./embedded-error.ts";
import { runProgram, type ServerUser } from "./program.ts";
import { readIn, withDirectoryIn } from "./safe-open.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** The maximum data loss when the disk is lost: an incomplete segment is archived after this time. */
const ARCHIVED_AFTER = "5min";

/** The server settings for archiving. */
export function archiving(archive: string): Record<string, string> {
  return {
    archive_mode: "on",
    archive_library: "basic_archive",
    "basic_archive.archive_directory": archive,
    archive_timeout: ARCHIVED_AFTER,
  };
}

/** Creates the directory with mode 0700, or checks that the server's user can write to it. @throws EmbeddedError */
export async function prepareArchive(archive: string, user: ServerUser): Promise<void> {
  try {
    const isNew = (await mkdir(archive, { recursive: true, mode: 0o700 })) !== undefined;
    if (isNew && user !== undefined) await lchown(archive, user.uid, user.gid);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new EmbeddedError(
      `the WAL archive ${archive} cannot be created (${code}): set PARBOOK_WAL_ARCHIVE to another directory`,
    );
  }
  await checkAccess("-w", archive, user);
}

/**
 * The server settings for a restore.
 *
 * @param archive Undefined: replay only the WAL in the backup.
 * @param until Undefined: replay to the end of the WAL.
 */
export async function recovering(
  archive: string | undefined,
  until: Date | undefined,
  user: ServerUser,
): Promise<Record<string, string>> {
  if (archive !== undefined) await checkAccess("-r", archive, user);
  return {
    // Without an archive, the server uses the WAL in its own directory.
    restore_command: archive === undefined ? "false" : `cp "${archive}/%f" "%p"`,
    // No connections before the replay is complete.
    hot_standby: "off",
    recovery_target_action: "promote",
    // Parsed before the server knows time zone names, including Z.
    ...(until === undefined ? {} : { recovery_target_time: until.toISOString().replace("Z", "+00") }),
  };
}

/** A history file has one line for each earlier restore. */
const HISTORY_BYTES = 1024 * 1024;
const SEGMENT_BYTES = 16n * 1024n * 1024n;

export async function listSegments(archive: string): Promise<string[]> {
  return (await readdir(archive)).filter((name) => /^[0-9A-F]{24}$/.test(name));
}

/**
 * Finds a missing or damaged segment that ended the replay although the archive has later ones. The end of the replay is
 * where the server started its new timeline.
 *
 * @param there The segments before the replay, since the archive may be growing.
 * @returns Undefined if the replay reached the end of the archive.
 */
export async function findGap(cluster: string, archive: string, there: readonly string[]): Promise<string | undefined> {
  const names = await withDirectoryIn(cluster, "pg_wal", (directory) => readdir(directory));
  const histories = names.filter((name) => name.endsWith(".history"));
  const latest = must(histories.sort().at(-1), "a restored cluster has begun a timeline");
  const history = must(await readIn(cluster, `pg_wal/${latest}`, HISTORY_BYTES), "nobody removes a history");
  const lines = history.toString("utf8").trim().split("\n");
  const [, timeline, high, low] = /^([0-9]+)\t([0-9A-F]+)\/([0-9A-F]+)\t/.exec(lines.at(-1) ?? "") ?? [];
  const segment = BigInt(`0x${must(low, "where it began")}`) / SEGMENT_BYTES;
  const end = [BigInt(must(timeline, "which it left")), BigInt(`0x${high}`), segment].map(hexadecimal).join("");
  const behind = there.filter((name) => name.startsWith(end.slice(0, 8)) && name > end);
  for (const name of behind) if (await isWritten(archive, name)) return end;
  return undefined;
}

const hexadecimal = (part: bigint): string => part.toString(16).toUpperCase().padStart(8, "0");

/**
 * Whether the content of a segment matches its name. A recycled segment copied from `pg_wal` has old content: the address in
 * its first page header then differs (XLogPageHeaderData).
 */
async function isWritten(archive: string, name: string): Promise<boolean> {
  const file = await open(join(archive, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
  // Removed in the meantime, by a cleanup of the archive.
  if (file === undefined) return false;
  try {
    const header = Buffer.alloc(16);
    await file.read(header, 0, header.length, 0);
    const place = (BigInt(`0x${name.slice(8, 16)}`) << 32n) + BigInt(`0x${name.slice(16)}`) * SEGMENT_BYTES;
    return header.readBigUInt64LE(8) === place;
  } finally {
    await file.close();
  }
}

async function checkAccess(access: "-r" | "-w", archive: string, user: ServerUser): Promise<void> {
  const { isDirectory } = await stat(archive).then(
    (found) => ({ isDirectory: found.isDirectory() }),
    () => ({ isDirectory: false }),
  );
  if (!isDirectory) throw new EmbeddedError(`the WAL archive ${archive} is not a directory`);
  const place = { directory: "/", user };
  const { succeeded } = await runProgram(
    "/bin/sh",
    ["-c", `test ${access} "$1" && test -x "$1"`, "sh", archive],
    place,
  );
  if (succeeded) return;
  const whom = user === undefined ? "this user" : `user ${user.uid}, which PostgreSQL runs as,`;
  const what = access === "-r" ? "read" : "write to";
  throw new EmbeddedError(
    `${whom} cannot ${what} the WAL archive ${archive}: grant access to it and its parent directories`,
  );
}
