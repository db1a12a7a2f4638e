/**
 * The archive of the log (WAL): every segment of it that the server has filled, in a directory of the operator's,
 * preferably on another disk. With a backup and the archive from then on, the database can be made again as it was at any
 * moment. PostgreSQL's own module `basic_archive` copies a segment, waits for the disk, and gives it its name last.
 */
import { constants } from "node:fs";
import { lchown, mkdir, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { must } from "../../std/assert.ts";
import { readIn, withDirectoryIn } from "./inside.ts";
import { runProgram, type ServerUser } from "./program.ts";
import { EmbeddedError } from "./refusal.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** A segment that is not full is archived after this time, 16 MB as it is: what a lost disk may cost. */
const ARCHIVED_AFTER = "5min";

/** The settings of a server that keeps an archive. */
export function archiving(archive: string): Record<string, string> {
  return {
    archive_mode: "on",
    archive_library: "basic_archive",
    "basic_archive.archive_directory": archive,
    archive_timeout: ARCHIVED_AFTER,
  };
}

/** Makes the directory, open to the server's user alone; what is there already has to let that user write. */
export async function prepareArchive(archive: string, user: ServerUser): Promise<void> {
  try {
    const isNew = (await mkdir(archive, { recursive: true, mode: 0o700 })) !== undefined;
    if (isNew && user !== undefined) await lchown(archive, user.uid, user.gid);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new EmbeddedError(`the WAL archive ${archive} cannot be made (${code}): set PARBOOK_WAL_ARCHIVE to another`);
  }
  await allow("-w", archive, user);
}

/**
 * The settings of a server that makes a backup into a database again: `until` a time, or as far as the log reaches. The
 * log comes from the archive, or is only that in the backup.
 */
export async function recovering(
  archive: string | undefined,
  until: Date | undefined,
  user: ServerUser,
): Promise<Record<string, string>> {
  if (archive !== undefined) await allow("-r", archive, user);
  return {
    // Without an archive there is nothing to fetch; the server then takes what lies in its own directory.
    restore_command: archive === undefined ? "false" : `cp "${archive}/%f" "%p"`,
    // Nobody is let in before everything has been replayed.
    hot_standby: "off",
    recovery_target_action: "promote",
    // Read before the server knows any name of a time zone, Z included.
    ...(until === undefined ? {} : { recovery_target_time: until.toISOString().replace("Z", "+00") }),
  };
}

/** A line for each time that the database was restored before. */
const HISTORY_BYTES = 1024 * 1024;
const SEGMENT_BYTES = 16n * 1024n * 1024n;

/** The segments of the log in an archive. */
export async function listSegments(archive: string): Promise<string[]> {
  return (await readdir(archive)).filter((name) => /^[0-9A-F]{24}$/.test(name));
}

/**
 * The segment in which the replay of a cluster ended although there were some behind it in the archive: it is missing
 * there, or damaged. Undefined: the replay came to the end of what was there. The server says where it ended when it
 * begins a timeline of its own. `there`: what the archive had before the replay, since it may be growing.
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
 * Whether a segment has what its name says. What is copied from the `pg_wal` of a server may be a segment that waits to
 * be written, with whatever was in it before: the place that its first page gives is then another (XLogPageHeaderData).
 */
async function isWritten(archive: string, name: string): Promise<boolean> {
  const file = await open(join(archive, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
  // Gone meanwhile: whoever clears the archive up knows what he does.
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

async function allow(access: "-r" | "-w", archive: string, user: ServerUser): Promise<void> {
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
  const whom = user === undefined ? "this user" : `user ${user.uid}, as whom PostgreSQL runs,`;
  const what = access === "-r" ? "read" : "write to";
  throw new EmbeddedError(`${whom} cannot ${what} the WAL archive ${archive}: give it the right to, and the way there`);
}
