/** The archive of the write-ahead log, and what keeps that log on the database's disk. */
import type { Queryable } from "../../postgres/database.ts";
import { type Finding, finding, present } from "./finding.ts";
import type { ServerSettings } from "./server-settings.ts";

export interface LogArchive {
  /** Since the last success; undefined if there was none. */
  readonly secondsSinceArchived: number | undefined;
  /** Since the server started, or last began to count. Before that nothing could be archived. */
  readonly secondsRunning: number;
  readonly isFailing: boolean;
  readonly lastArchived: string | undefined;
  /** The segment that is written now; undefined on a standby. */
  readonly current: string | undefined;
}

export async function readLogArchive(database: Queryable): Promise<LogArchive> {
  const [row] = await database.rows<{
    seconds: number | null;
    running: number;
    failing: boolean;
    last: string | null;
    current: string | null;
  }>(
    `select extract(epoch from clock_timestamp() - last_archived_time)::float8 as seconds,
            extract(epoch from clock_timestamp() - greatest(pg_postmaster_start_time(), stats_reset))::float8 as running,
            coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) as failing,
            last_archived_wal as last,
            case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end as current
       from pg_stat_archiver`,
  );
  return {
    secondsSinceArchived: row?.seconds ?? undefined,
    secondsRunning: row?.running ?? 0,
    isFailing: row?.failing ?? false,
    lastArchived: row?.last ?? undefined,
    current: row?.current ?? undefined,
  };
}

const LONGEST_SECONDS = 15 * 60;

export function judgeLogArchive(settings: ServerSettings, archive: LogArchive): Finding[] {
  const { archive_mode: mode = "off", archive_timeout: timeout } = settings;
  if (mode === "off") return [finding("archive-off", "archive_mode is off", "archive the log (docs/backup.md)")];
  const { isFailing, secondsSinceArchived: seconds = Number.POSITIVE_INFINITY } = archive;
  const waiting = waitingSegments(archive, Number(settings.wal_segment_size));
  const behind =
    seconds === Number.POSITIVE_INFINITY
      ? "archiving is on, and nothing was archived yet"
      : `${waiting} segments wait, and none was archived for ${Math.round(seconds / 60)} minutes`;
  const bound = Number(timeout ?? 0);
  return present(
    isFailing &&
      finding(
        "archive-fails",
        "the last attempt to archive failed",
        "see last_failed_wal in pg_stat_archiver, and the server's log",
      ),
    !isFailing &&
      Math.min(seconds, archive.secondsRunning) > LONGEST_SECONDS &&
      waiting > 1 &&
      finding("archive-behind", behind, "look at archive_command and the archive's disk"),
    (bound === 0 || bound > LONGEST_SECONDS) &&
      finding(
        "archive-unbounded",
        bound === 0 ? "archive_timeout is 0" : `archive_timeout is ${bound} s`,
        "alter system set archive_timeout = '60s'; select pg_reload_conf()",
      ),
  );
}

const SEGMENT = /^[0-9A-F]{24}$/;

/** Complete segments that were not archived; of a quiet database none, however long ago it archived. */
function waitingSegments({ lastArchived = "", current = "" }: LogArchive, segmentBytes: number): number {
  if (!SEGMENT.test(current)) return 0;
  const number = (name: string): number =>
    Number.parseInt(name.slice(8, 16), 16) * (2 ** 32 / segmentBytes) + Number.parseInt(name.slice(16), 16);
  return SEGMENT.test(lastArchived) ? number(current) - number(lastArchived) - 1 : number(current);
}

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
