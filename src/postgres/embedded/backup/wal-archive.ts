/**
 * The WAL archive: every completed segment, in a directory preferably on another disk. A backup plus the archive allow
 * point-in-time recovery. PostgreSQL's module `basic_archive` copies and syncs a segment before giving it its name.
 */
import { lchown, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { must } from "../../../std/assert.ts";
import { EmbeddedError } from "../embedded-error.ts";
import { runProgram, type ServerUser } from "../program.ts";
import { openAnybodys, readIn, withDirectoryIn } from "../safe-open.ts";

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
 * @param archived Undefined: replay only the WAL in the backup.
 * @param until Undefined: replay to the end of the WAL.
 */
export function recovering(archived: Archived | undefined, until: Date | undefined): Record<string, string> {
  return {
    // Without an archive, the server uses the WAL in its own directory.
    restore_command: archived === undefined ? "false" : restoring(archived),
    // No connections before the replay is complete.
    hot_standby: "off",
    recovery_target_action: "promote",
    // Parsed before the server knows time zone names, including Z.
    ...(until === undefined ? {} : { recovery_target_time: until.toISOString().replace("Z", "+00") }),
  };
}

/**
 * A segment of a wrong size counts as absent, so that the server goes on with what it has in its own directory, and starts
 * with what came before. Handed over, it would end the server, whatever else there is. One that is there and cannot be copied,
 * as the server's user may not read it, ends the replay: taken for absent, it would end the log without a word. So does an
 * archive that has gone, as a mount that drops: what was last in it is no longer there either.
 */
function restoring({ archive, segments }: Archived): string {
  const last = [...segments.keys()].at(-1) ?? ".";
  const copy = `cp "${archive}/%f" "%p" || exit ${ENDS_REPLAY}`;
  const isWhole = `case "%f" in *.*) ;; *) test "$(wc -c < "%p")" -eq ${SEGMENT_BYTES} ;; esac`;
  const isAbsent = `ls "${archive}/${last}" >/dev/null || exit ${ENDS_REPLAY}; false`;
  return `if test -e "${archive}/%f"; then ${copy}; ${isWhole}; else ${isAbsent}; fi`;
}

/** PostgreSQL takes an exit code above 125 for a failure of the machine, and any other for a file that is not there. */
const ENDS_REPLAY = 255;

/** A history file has one line for each earlier restore. */
export const HISTORY_BYTES = 1024 * 1024;
export const SEGMENT_BYTES = 16n * 1024n * 1024n;
/** The second and third part of a name together are the segment's number. */
const SEGMENTS_PER_NAME = 2n ** 32n / SEGMENT_BYTES;

const SEGMENT = /^[0-9A-F]{24}$/;
const HISTORY = /^[0-9A-F]{8}\.history$/;

/** The segments and histories of an archive, in their order. */
export async function listArchive(archive: string): Promise<{ segments: string[]; histories: string[] }> {
  const names = await readdir(archive).catch(({ code }: NodeJS.ErrnoException) => {
    throw new EmbeddedError(
      `the WAL archive ${archive} cannot be listed (${code}): user ${process.getuid?.()}, which Parbook runs as, needs access to it too`,
    );
  });
  names.sort();
  return {
    segments: names.filter((name) => SEGMENT.test(name)),
    histories: names.filter((name) => HISTORY.test(name)),
  };
}

/** What an archive has before a replay: it may be growing, and may have gone at the end. */
export interface Archived {
  readonly archive: string;
  /** In their order. */
  readonly segments: ReadonlyMap<string, SegmentHeader>;
  readonly histories: readonly string[];
}

/** @param from The number of the first segment that is wanted. @throws EmbeddedError also if the server's user cannot read it */
export async function readArchive(archive: string, from: bigint, user: ServerUser): Promise<Archived> {
  await checkAccess("-r", archive, user);
  const { segments, histories } = await listArchive(archive);
  const headers = new Map<string, SegmentHeader>();
  for (const name of segments.filter((one) => segmentNumber(one) >= from)) {
    const header = await headerOf(archive, name);
    if (header !== undefined) headers.set(name, header);
  }
  return { archive, segments: headers, histories };
}

/** A segment of the archive that ended the replay, and what is wrong with it. */
export interface Gap {
  readonly segment: string;
  readonly why: string;
}

/** How far a replay came. */
export interface Replayed {
  /** The last segment of which something was replayed. */
  readonly last: string;
  /** What ended the replay; undefined if it reached the end of the archive, or `until`. */
  readonly gap: Gap | undefined;
}

/**
 * Finds the segment that ended the replay although the archive has later ones, or has it with a wrong size. The end of the
 * replay is where the server started its new timeline. A record that goes on in the next segment ends it in the one before.
 * Segments of a later timeline are of a database restored before, which goes on there: the replay should have too.
 *
 * @param until Given, the server fails if it cannot reach that time, and what is later is not wanted.
 */
export async function examineReplay(cluster: string, archived: Archived, until: Date | undefined): Promise<Replayed> {
  const [timeline, place] = await endOfReplay(cluster);
  const last = segmentName(timeline, (place - 1n) / SEGMENT_BYTES);
  const branch = findBranch(archived, timeline);
  if (until !== undefined) return { last, gap: branch?.segment.endsWith(".history") ? branch : undefined };
  return { last, gap: branch ?? (await findGap(archived, timeline, place / SEGMENT_BYTES)) };
}

/** The history of a later timeline, if it is missing; else the first segment of such a timeline. */
function findBranch({ segments, histories }: Archived, timeline: bigint): Gap | undefined {
  const segment = writtenIn(segments).find((name) => timelineOf(name) > timeline);
  if (segment === undefined) return undefined;
  const history = `${segment.slice(0, 8)}.history`;
  return histories.includes(history)
    ? { segment, why: "is of a timeline that was not followed" }
    : { segment: history, why: "is missing" };
}

async function findGap({ archive, segments }: Archived, timeline: bigint, number: bigint): Promise<Gap | undefined> {
  const [end, next] = [segmentName(timeline, number), segmentName(timeline, number + 1n)];
  const goesOn = writtenIn(segments).some((name) => timelineOf(name) === timeline && name > end);
  for (const segment of [end, next]) {
    const before = segments.get(segment);
    // One that cannot be read any more is as good as gone, and no reason to give up what was restored.
    const now = before && (await headerOf(archive, segment).catch(() => undefined));
    const why = now === undefined ? "is missing" : (wrongSize(now) ?? (now.isItsOwn ? undefined : "is damaged"));
    if (why === undefined) continue;
    const isLost = before !== undefined && (now === undefined ? before.isItsOwn : wrongSize(now) !== undefined);
    return goesOn || isLost ? { segment, why } : undefined;
  }
  return { segment: end, why: "is damaged" };
}

/** Those that were written by their names, in their order. */
const writtenIn = (segments: ReadonlyMap<string, SegmentHeader>): string[] =>
  [...segments].flatMap(([name, { isItsOwn }]) => (isItsOwn ? name : []));

/** The name of the history of a database's timeline; undefined if that is its first one. */
export async function latestHistory(cluster: string): Promise<string | undefined> {
  const names = await withDirectoryIn(cluster, "pg_wal", (directory) => readdir(directory));
  return names
    .filter((name) => HISTORY.test(name))
    .sort()
    .at(-1);
}

/** The timeline that was left, and the place in its log. */
async function endOfReplay(cluster: string): Promise<[bigint, bigint]> {
  const latest = must(await latestHistory(cluster), "a restored cluster has begun a timeline");
  const history = must(await readIn(cluster, `pg_wal/${latest}`, HISTORY_BYTES), "nobody removes a history");
  const lines = history.toString("utf8").trim().split("\n");
  const [, timeline, high, low] = /^([0-9]+)\t([0-9A-F]+)\/([0-9A-F]+)\t/.exec(lines.at(-1) ?? "") ?? [];
  const place = (BigInt(`0x${must(high, "where it began")}`) << 32n) + BigInt(`0x${low}`);
  return [BigInt(must(timeline, "which it left")), place];
}

export function segmentName(timeline: bigint, number: bigint): string {
  return [timeline, number / SEGMENTS_PER_NAME, number % SEGMENTS_PER_NAME].map(hexadecimal).join("");
}

const hexadecimal = (part: bigint): string => part.toString(16).toUpperCase().padStart(8, "0");

/** What is wrong with the size of a segment, if anything. */
export const wrongSize = ({ size }: SegmentHeader): string | undefined =>
  size === Number(SEGMENT_BYTES) ? undefined : `has ${size} bytes instead of ${SEGMENT_BYTES}`;

/** Of a segment or a history. */
export const timelineOf = (name: string): bigint => BigInt(`0x${name.slice(0, 8)}`);

/** Of a segment: how many of its size come before it. */
export const segmentNumber = (name: string): bigint =>
  BigInt(`0x${name.slice(8, 16)}`) * SEGMENTS_PER_NAME + BigInt(`0x${name.slice(16)}`);

interface SegmentHeader {
  readonly size: number;
  readonly isItsOwn: boolean;
  /** The identifier of the database. */
  readonly system: bigint;
}

/**
 * The size of a segment, and whether the address in its first page header is that of its name (XLogLongPageHeaderData). A
 * recycled segment copied from `pg_wal` has old content, and another address.
 */
export async function headerOf(directory: string, name: string): Promise<SegmentHeader | undefined> {
  const file = await openAnybodys(join(directory, name));
  // Removed in the meantime, by a cleanup of the archive.
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const header = Buffer.alloc(32);
    await file.read(header, 0, header.length, 0);
    const isItsOwn = header.readBigUInt64LE(8) === segmentNumber(name) * SEGMENT_BYTES;
    return { size, isItsOwn, system: header.readBigUInt64LE(24) };
  } finally {
    await file.close();
  }
}

async function checkAccess(access: "-r" | "-w", archive: string, user: ServerUser): Promise<void> {
  const found = await stat(archive).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (!found?.isDirectory()) throw new EmbeddedError(`the WAL archive ${archive} is not a directory`);
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
