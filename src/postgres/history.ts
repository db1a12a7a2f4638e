/**
 * A column that names the history of the database, which is another one after each start of its server: after a restore to an
 * earlier moment, and on a standby that took over. A copy beside it, or tables made anew from a dump, have ids of their own. Rows
 * that are never deleted, and that durable look-ups found in one history, were there together. A hash, because callers see it.
 */
export const HISTORY = `(select encode(substr(sha256(convert_to(
    concat_ws('/', extract(epoch from pg_postmaster_start_time()), oid, to_regclass('migration')::oid), 'UTF8')), 1, 8), 'hex')
   from pg_database where datname = current_database())`;
