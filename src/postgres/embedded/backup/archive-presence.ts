/**
 * Whether the archive of a database's log is there, and whole. A directory whose disk is not mounted looks like a new, empty
 * archive. What is written to it is hidden when the disk is back, and missing in the archive for good. So both have a mark:
 *
 *     <archive>/parbook-archive   the directory is a database's archive; a cleanup of segments leaves it
 *     <data>/wal-archive          the database has an archive, and which; a restored one has none yet
 */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomically } from "../../../std/write-atomically.ts";
import { EmbeddedError } from "../embedded-error.ts";
import { lastLines, runProgram, type ServerUser } from "../program.ts";
import { withDirectoryIn } from "../safe-open.ts";
import { ownTimeline } from "./archive-owner.ts";
import { headerOf, listArchive, segmentName, segmentNumber, timelineOf } from "./wal-archive.ts";

const markOf = (archive: string): string => join(archive, "parbook-archive");
const markOfData = (directory: string): string => join(directory, "wal-archive");

/** @param directory The data directory. @throws EmbeddedError if the log of its database was archived, and not here */
export async function checkPresence(archive: string, directory: string): Promise<void> {
  const mark = markOfData(directory);
  if (!(await exists(mark)) || (await isArchive(archive))) return;
  throw new EmbeddedError(
    `the log of this database was archived before, and ${markOf(archive)} is missing: is the disk of the archive mounted, and PARBOOK_WAL_ARCHIVE right? For a new archive remove ${mark}, start, and take a backup at once (docs/backup.md)`,
  );
}

export const isArchive = (archive: string): Promise<boolean> => exists(markOf(archive));

/** Marks both, the archive first: a database of which only the archive is marked may still take another one. */
export async function markArchive(archive: string, directory: string, user: ServerUser): Promise<void> {
  const parameters = ["-ec", MARK, "sh", markOf(archive)];
  const { succeeded, output } = await runProgram("/bin/sh", parameters, { directory: "/", user });
  if (!succeeded) throw new EmbeddedError(`${markOf(archive)} cannot be written: ${lastLines(output, 2)}`);
  await writeAtomically(markOfData(directory), `${archive}\n`, 0o644);
}

/** On disk before the mark of the database is, or a power failure could leave that one alone. */
const MARK = `test -e "$1" || { : >"$1"; sync; }`;

export interface Unarchived {
  /** Still in `pg_wal`. */
  readonly kept: readonly string[];
  /** In neither. */
  readonly lost: readonly string[];
}

/**
 * What an archive lacks of a database: the histories of its timelines, and the complete segments of its own one, from the
 * archive's first one on. In an archive that has no segment yet, none is missing.
 *
 * The server archives by itself only the histories that begin while it archives: a restore does not. Without them a restore
 * does not know that the segments of one timeline follow those of another.
 */
export async function findUnarchived(archive: string, cluster: string): Promise<Unarchived> {
  const timeline = await ownTimeline(cluster);
  // Read before the archive: what has left it meanwhile is there by then.
  const own = await withDirectoryIn(cluster, "pg_wal", (directory) => listWritten(directory, timeline));
  const { segments, histories } = await listArchive(archive);
  const kept = own.histories.filter((name) => !histories.includes(name));
  const archived = new Set(segments.filter((name) => timelineOf(name) === timeline));
  const [[first], current] = [[...archived], own.segments.at(-1)];
  if (first === undefined || current === undefined) return { kept, lost: [] };
  const [written, lost] = [new Set(own.segments), [] as string[]];
  for (let number = segmentNumber(first); number < segmentNumber(current); number += 1n) {
    const name = segmentName(timeline, number);
    if (!archived.has(name)) (written.has(name) ? kept : lost).push(name);
  }
  return { kept, lost };
}

/** Without the segments that the server keeps to write them anew. */
async function listWritten(
  directory: string,
  timeline: bigint,
): Promise<{ readonly segments: readonly string[]; readonly histories: readonly string[] }> {
  const { segments, histories } = await listArchive(directory);
  const written: string[] = [];
  for (const name of segments) {
    if (timelineOf(name) === timeline && (await headerOf(directory, name))?.isItsOwn) written.push(name);
  }
  return { segments: written, histories };
}

/** Has the server archive these, also those that it has taken for archived. It must not run. */
export async function archiveAgain(names: readonly string[], cluster: string, user: ServerUser): Promise<void> {
  const parameters = ["-ec", MARK_READY, "sh", ...names];
  const { succeeded, output } = await runProgram("/bin/sh", parameters, { directory: cluster, user });
  if (!succeeded) throw new EmbeddedError(`${cluster}/pg_wal cannot be archived: ${lastLines(output, 2)}`);
}

/** As PostgreSQL marks what is to be archived. */
const MARK_READY = `for name do
  : >"pg_wal/archive_status/$name.ready"
  rm -f "pg_wal/archive_status/$name.done"
done
`;

/** @throws whatever says less than that there is no such file */
async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw error;
  }
}
