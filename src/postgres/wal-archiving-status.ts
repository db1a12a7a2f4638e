/** The archive of the write-ahead log: what doctor and metrics judge alike. */
import type { Queryable } from "./database.ts";

export interface LogArchive {
  /** Whether the server archives its log at all. */
  readonly isOn: boolean;
  /** Since the last success; undefined if there was none. */
  readonly secondsSinceArchived: number | undefined;
  /** Since the server started, or last began to count. Before that nothing could be archived. */
  readonly secondsRunning: number;
  /** Whether the last attempt failed. An archive_command that hangs, or is empty, fails none: see `isBehind`. */
  readonly isFailing: boolean;
  readonly lastArchived: string | undefined;
  /** The segment that is written now; undefined on a standby. */
  readonly current: string | undefined;
  readonly segmentBytes: number;
}

export async function readLogArchive(database: Queryable): Promise<LogArchive> {
  const [row] = await database.rows<{
    on: boolean;
    seconds: number | null;
    running: number;
    failing: boolean;
    last: string | null;
    current: string | null;
    bytes: number;
  }>(
    `select coalesce(current_setting('archive_mode', true) <> 'off', false) as on,
            extract(epoch from clock_timestamp() - last_archived_time)::float8 as seconds,
            extract(epoch from clock_timestamp() - greatest(pg_postmaster_start_time(), stats_reset))::float8 as running,
            coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) as failing,
            last_archived_wal as last,
            case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end as current,
            (select setting::float8 from pg_settings where name = 'wal_segment_size') as bytes
       from pg_stat_archiver`,
  );
  return {
    isOn: row?.on ?? false,
    secondsSinceArchived: row?.seconds ?? undefined,
    secondsRunning: row?.running ?? 0,
    isFailing: row?.failing ?? false,
    lastArchived: row?.last ?? undefined,
    current: row?.current ?? undefined,
    segmentBytes: row?.bytes ?? 0,
  };
}

const LONGEST_SECONDS = 15 * 60;

/** Whether complete segments wait, and none was archived for a quarter of an hour in which the server was running. */
export function isBehind(archive: LogArchive): boolean {
  const seconds = archive.secondsSinceArchived ?? Number.POSITIVE_INFINITY;
  return Math.min(seconds, archive.secondsRunning) > LONGEST_SECONDS && waitingSegments(archive) > 1;
}

const SEGMENT = /^[0-9A-F]{24}$/;

/** Complete segments that were not archived; of a quiet database none, however long ago it archived. */
export function waitingSegments({ lastArchived = "", current = "", segmentBytes }: LogArchive): number {
  if (!SEGMENT.test(current)) return 0;
  const number = (name: string): number =>
    Number.parseInt(name.slice(8, 16), 16) * (2 ** 32 / segmentBytes) + Number.parseInt(name.slice(16), 16);
  return SEGMENT.test(lastArchived) ? number(current) - number(lastArchived) - 1 : number(current);
}

/** Whether the log is not archived as it should be; undefined if no archive is configured. */
export async function readArchiveFailing(database: Queryable): Promise<boolean | undefined> {
  const archive = await readLogArchive(database);
  return archive.isOn ? archive.isFailing || isBehind(archive) : undefined;
}
