/**
 * Whose log an archive has: that of one database on one timeline. A restore begins a new timeline, so a restored database
 * needs an archive of its own. In the former one the two logs could not be told apart by the next restore: it would end
 * where the first one ended, or leave the log of the original, which may be in use still.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedError } from "../embedded-error.ts";
import { lastLines, runProgram, type ServerUser } from "../program.ts";
import { readIn, withDirectoryIn } from "../safe-open.ts";
import type { Manifest } from "./backup-manifest.ts";
import { headerOf, latestHistory, listSegments, SEGMENT_BYTES, segmentNumber, timelineOf } from "./wal-archive.ts";

const CONTROL = "global/pg_control";
const CONTROL_BYTES = 8_192;

/**
 * Rejects an archive with files that this database has not written, before a server adds to it.
 *
 * @param cluster Undefined: a database that is about to be created. @throws EmbeddedError
 */
export async function checkOwner(archive: string, cluster: string | undefined): Promise<void> {
  const own = cluster === undefined ? undefined : await ownTimeline(cluster);
  const names = (await readdir(archive)).filter((name) => /^[0-9A-F]{24}$|^[0-9A-F]{8}\.history$/.test(name)).sort();
  const isForeign = (name: string): boolean =>
    own === undefined || (name.endsWith(".history") ? timelineOf(name) > own : timelineOf(name) !== own);
  const foreign = names.find(isForeign) ?? (cluster && (await findOtherLog(archive, cluster, names)));
  if (foreign === undefined) return;
  throw new EmbeddedError(
    `the WAL archive ${archive} has ${foreign}, which is of another database, or of this one before a restore: set PARBOOK_WAL_ARCHIVE to a new directory, and take a backup at once (docs/backup.md)`,
  );
}

/**
 * Has the server archive the histories of its timelines, which it does by itself only of those that begin while it archives:
 * a restore does not. Without them a restore does not know that the segments of one timeline follow those of another.
 */
export async function archiveHistories(archive: string, cluster: string, user: ServerUser): Promise<void> {
  const { succeeded, output } = await runProgram("/bin/sh", ["-ec", MARK_HISTORIES, "sh", archive], {
    directory: cluster,
    user,
  });
  if (!succeeded)
    throw new EmbeddedError(`the histories of ${cluster}/pg_wal cannot be archived: ${lastLines(output, 2)}`);
}

/** As PostgreSQL marks what is to be archived. */
const MARK_HISTORIES = `for path in pg_wal/*.history; do
  name="\${path##*/}"
  if [ -e "$path" ] && [ ! -e "$1/$name" ]; then : >"pg_wal/archive_status/$name.ready"; fi
done
`;

/**
 * Rejects an archive that cannot be the one of this backup: the segment before the backup's first one is complete when the
 * backup begins, and is in the archive soon, or a later one is.
 *
 * @throws EmbeddedError
 */
export async function checkContinues(archive: string, backup: string, manifest: Manifest): Promise<void> {
  const [first] = segmentsOf(manifest);
  if (first === undefined) return;
  const system = await systemOf(join(backup, "postgres"));
  const from = segmentNumber(first) - 1n;
  const names = (await listSegments(archive)).filter((name) => segmentNumber(name) >= from);
  const last = await lastWritten(archive, names.sort());
  if (names.length > 0 && (last === undefined || last.system === system)) return;
  throw new EmbeddedError(
    `nothing in ${archive} continues this backup: is it its archive? Nothing was restored. Without --wal the backup alone is`,
  );
}

/** The segments in a backup, in their order. */
export function segmentsOf({ files }: Manifest): string[] {
  return files.flatMap(({ path }) => /^postgres\/pg_wal\/([0-9A-F]{24})$/.exec(path)?.[1] ?? []).sort();
}

/**
 * Names the archive's last segment, if it is of another database (those before it are of the same one), or if this one has not
 * come as far, or has another one there: what was restored twice from one backup has the same identifier and timeline both
 * times.
 */
async function findOtherLog(archive: string, cluster: string, names: readonly string[]): Promise<string | undefined> {
  const archived = await lastWritten(archive, names);
  if (archived === undefined) return undefined;
  const { name } = archived;
  if (archived.system !== (await systemOf(cluster))) return name;
  const last = await withDirectoryIn(cluster, "pg_wal", async (directory) => {
    const segments = (await listSegments(directory)).filter((segment) => timelineOf(segment) === timelineOf(name));
    return lastWritten(directory, segments.sort());
  });
  if (last === undefined || last.name < name) return name;
  const there = await readIn(archive, name, Number(SEGMENT_BYTES));
  const own = await readIn(cluster, `pg_wal/${name}`, Number(SEGMENT_BYTES));
  return there === undefined || own === undefined || own.equals(there) ? undefined : name;
}

/** The last of these segments that was written by its name, and of which database it is. */
async function lastWritten(
  directory: string,
  names: readonly string[],
): Promise<{ readonly name: string; readonly system: bigint } | undefined> {
  for (const name of names.filter((one) => !one.endsWith(".history")).reverse()) {
    const header = await headerOf(directory, name);
    if (header?.isItsOwn) return { name, system: header.system };
  }
  return undefined;
}

/** The timeline that a database writes: the last one that it has begun. */
async function ownTimeline(cluster: string): Promise<bigint> {
  const latest = await latestHistory(cluster);
  return latest === undefined ? 1n : timelineOf(latest);
}

/** The system identifier, which a database has from its creation and keeps in its backups: the first field of the file. */
async function systemOf(cluster: string): Promise<bigint> {
  const control = await readIn(cluster, CONTROL, CONTROL_BYTES);
  if (control === undefined || control.length < 8) throw new EmbeddedError(`${join(cluster, CONTROL)} is missing`);
  return control.readBigUInt64LE(0);
}
