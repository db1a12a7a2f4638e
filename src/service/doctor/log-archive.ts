/** The archive of the write-ahead log, and what keeps that log on the database's disk. */
import type { Queryable } from "../../postgres/database.ts";
import { findUnarchived, isArchive } from "../../postgres/embedded/backup/archive-presence.ts";
import { clusterPath } from "../../postgres/embedded/cluster.ts";
import { isBehind, type LogArchive, waitingSegments } from "../../postgres/wal-archiving-status.ts";
import type { Config } from "../config/config.ts";
import { type Finding, finding, present } from "./finding.ts";
import type { ServerSettings } from "./server-settings.ts";

/** So much of the log may be lost with its disk. */
const LONGEST_SECONDS = 15 * 60;

export function judgeLogArchive(settings: ServerSettings, archive: LogArchive): Finding[] {
  if (!archive.isOn) return [finding("archive-off", "archive_mode is off", "archive the log (docs/backup.md)")];
  const { isFailing, secondsSinceArchived: seconds = Number.POSITIVE_INFINITY } = archive;
  const behind =
    seconds === Number.POSITIVE_INFINITY
      ? "archiving is on, and nothing was archived yet"
      : `${waitingSegments(archive)} segments wait, and none was archived for ${Math.round(seconds / 60)} minutes`;
  const bound = Number(settings.archive_timeout ?? 0);
  return present(
    isFailing &&
      finding(
        "archive-fails",
        "the last attempt to archive failed",
        "see last_failed_wal in pg_stat_archiver, and the server's log",
      ),
    !isFailing &&
      isBehind(archive) &&
      finding("archive-behind", behind, "look at archive_command and the archive's disk"),
    (bound === 0 || bound > LONGEST_SECONDS) &&
      finding(
        "archive-unbounded",
        bound === 0 ? "archive_timeout is 0" : `archive_timeout is ${bound} s`,
        "alter system set archive_timeout = '60s'; select pg_reload_conf()",
      ),
  );
}

/** Of the embedded database: whether its archive is there, and whole. */
export async function findArchiveGap({ walArchive, databaseUrl, dataDir }: Archiving): Promise<Finding[]> {
  if (walArchive === undefined || databaseUrl !== undefined) return [];
  if (!(await isArchive(walArchive)))
    return [finding("archive-gap", `the archive ${walArchive} is not there`, "mount its disk, and start the service")];
  const { lost } = await findUnarchived(walArchive, clusterPath(dataDir));
  const [first, ...more] = lost;
  if (first === undefined) return [];
  const what = `the archive ${walArchive} lacks ${first}${more.length === 0 ? "" : ` and ${more.length} more, up to ${more.at(-1)}`}`;
  return [finding("archive-gap", what, "take a backup now; it is found until the segments before it are deleted")];
}

export type Archiving = Pick<Config, "walArchive" | "databaseUrl" | "dataDir">;

export interface IdleSlot {
  readonly name: string;
  /** Of log that is kept for it; undefined if it was lost. */
  readonly bytes: number | undefined;
}

export async function readIdleSlots(database: Queryable): Promise<IdleSlot[]> {
  const rows = await database.rows<{ name: string; bytes: number | null }>(
    `select slot_name as name,
            case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::float8 end as bytes
       from pg_replication_slots where not active order by slot_name limit 100`,
  );
  return rows.map(({ name, bytes }) => ({ name, bytes: bytes ?? undefined }));
}

const GIBIBYTE = 1024 ** 3;

export function judgeIdleSlots(slots: readonly IdleSlot[]): Finding[] {
  return slots.flatMap(({ name, bytes = 0 }) => {
    if (bytes < GIBIBYTE) return [];
    const what = `the replication slot ${JSON.stringify(name)} has no reader and keeps ${(bytes / GIBIBYTE).toFixed(1)} GiB of log`;
    const quoted = name.replaceAll("'", "''");
    return [
      finding(
        "idle-slot",
        what,
        `select pg_drop_replication_slot('${quoted}'), or bound it with max_slot_wal_keep_size`,
      ),
    ];
  });
}
