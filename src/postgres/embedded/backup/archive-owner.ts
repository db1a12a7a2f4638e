/**
 * Whose log an archive has: that of one database on one timeline. A restore begins a new timeline, so a restored database
 * needs an archive of its own. In the former one the two logs could not be told apart by the next restore: it would end
 * where the first one ended, or leave the log of the original, which may be in use still.
 */
import { join } from "node:path";
import { EmbeddedError } from "../embedded-error.ts";
import { readAnybodys, readIn, withDirectoryIn } from "../safe-open.ts";
import type { Manifest } from "./backup-manifest.ts";
import {
  type Archived,
  HISTORY_BYTES,
  headerOf,
  latestHistory,
  listArchive,
  SEGMENT_BYTES,
  timelineOf,
} from "./wal-archive.ts";

const CONTROL = "global/pg_control";
const CONTROL_BYTES = 8_192;

/**
 * Rejects an archive with files that this database has not written, before a server adds to it.
 *
 * @param cluster Undefined: a database that is about to be created. @throws EmbeddedError
 */
export async function checkOwner(archive: string, cluster: string | undefined): Promise<void> {
  const own = cluster === undefined ? undefined : await ownTimeline(cluster);
  const { segments, histories } = await listArchive(archive);
  const foreign =
    histories.find((name) => own === undefined || timelineOf(name) > own) ??
    segments.find((name) => own === undefined || timelineOf(name) !== own) ??
    (cluster &&
      ((await findOtherHistory(archive, cluster, histories)) ?? (await findOtherLog(archive, cluster, segments))));
  if (foreign === undefined) return;
  throw new EmbeddedError(
    `the WAL archive ${archive} has ${foreign}, which is of another database, or of this one before a restore: set PARBOOK_WAL_ARCHIVE to a new directory, and take a backup at once (docs/backup.md)`,
  );
}

/**
 * Rejects an archive that cannot be the one of this backup, as it has nothing from the segment before the backup's first one on, or
 * what is of another database.
 *
 * @throws EmbeddedError
 */
export async function checkContinues({ archive, segments }: Archived, backup: string): Promise<void> {
  const control = join(backup, "postgres", CONTROL);
  const system = systemOf(control, await readAnybodys(control, CONTROL_BYTES));
  const last = [...segments.values()].findLast(({ isItsOwn }) => isItsOwn);
  if (segments.size > 0 && (last === undefined || last.system === system)) return;
  throw new EmbeddedError(
    `nothing in ${archive} continues this backup: is it its archive? Nothing was restored. Without --wal the backup alone is`,
  );
}

/** The segments in a backup, in their order. */
export function segmentsOf({ files }: Manifest): string[] {
  return files.flatMap(({ path }) => /^postgres\/pg_wal\/([0-9A-F]{24})$/.exec(path)?.[1] ?? []).sort();
}

/**
 * Names a history that differs from the database's own one. A restore that was killed may have left it, and no later one could
 * follow it to the segments of this database. An earlier one may be in the archive alone.
 */
async function findOtherHistory(
  archive: string,
  cluster: string,
  histories: readonly string[],
): Promise<string | undefined> {
  for (const name of histories) if (await differs(archive, cluster, name, HISTORY_BYTES)) return name;
  return undefined;
}

/** Whether archive and database both have the file, with another content. */
async function differs(archive: string, cluster: string, name: string, limit: number): Promise<boolean> {
  const there = await readAnybodys(join(archive, name), limit);
  const own = await readIn(cluster, `pg_wal/${name}`, limit);
  return there !== undefined && own !== undefined && !own.equals(there);
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
  const control = await readIn(cluster, CONTROL, CONTROL_BYTES);
  if (archived.system !== systemOf(join(cluster, CONTROL), control)) return name;
  const last = await withDirectoryIn(cluster, "pg_wal", async (directory) => {
    const { segments } = await listArchive(directory);
    return lastWritten(
      directory,
      segments.filter((segment) => timelineOf(segment) === timelineOf(name)),
    );
  });
  if (last === undefined || last.name < name) return name;
  return (await differs(archive, cluster, name, Number(SEGMENT_BYTES))) ? name : undefined;
}

/** The last of these segments that was written by its name, and of which database it is. */
async function lastWritten(
  directory: string,
  names: readonly string[],
): Promise<{ readonly name: string; readonly system: bigint } | undefined> {
  for (const name of names.toReversed()) {
    const header = await headerOf(directory, name);
    if (header?.isItsOwn) return { name, system: header.system };
  }
  return undefined;
}

/** The timeline that a database writes: the last one that it has begun. */
export async function ownTimeline(cluster: string): Promise<bigint> {
  const latest = await latestHistory(cluster);
  return latest === undefined ? 1n : timelineOf(latest);
}

/** The system identifier, which a database has from its creation and keeps in its backups: the first field of the file. */
function systemOf(path: string, control: Buffer | undefined): bigint {
  if (control === undefined || control.length < 8) throw new EmbeddedError(`${path} is missing`);
  return control.readBigUInt64LE(0);
}
