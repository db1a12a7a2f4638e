import type { Queryable } from "./database.ts";

/** Whether the last attempt to archive WAL failed; undefined if no archive is configured. */
export async function readArchiveFailing(database: Queryable): Promise<boolean | undefined> {
  const [row] = await database.rows<{ failing: boolean }>(
    `select coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) as failing
       from pg_stat_archiver where current_setting('archive_mode', true) <> 'off'`,
  );
  return row?.failing;
}
