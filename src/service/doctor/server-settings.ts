/** The database server's settings and version. */
import type { Queryable } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import { type Finding, finding, present } from "./finding.ts";

/** Settings that some versions or services lack are undefined. */
export type ServerSettings = Readonly<Record<(typeof NAMES)[number], string | undefined>>;

const NAMES = [
  "server_version",
  "server_version_num",
  "fsync",
  "full_page_writes",
  "zero_damaged_pages",
  "ignore_checksum_failure",
  "data_checksums",
  "wal_level",
  "autovacuum",
  "track_counts",
  "archive_timeout",
  "max_connections",
  "superuser_reserved_connections",
  "reserved_connections",
  "synchronous_standby_names",
] as const;

export async function readServerSettings(database: Queryable): Promise<ServerSettings> {
  const rows = await database.rows<{ name: string; setting: string | null }>(
    "select name, setting from pg_settings where name = any($1)",
    [NAMES],
  );
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting ?? undefined])) as ServerSettings;
}

const setTo = (name: string, value: string): string => `alter system set ${name} = ${value}; select pg_reload_conf()`;

/** Without them a crash or a damaged disk can take back or change what was answered. */
export function judgeDurability(settings: ServerSettings): Finding[] {
  const isOff = (name: keyof ServerSettings): boolean => settings[name] === "off";
  const ignored = (["zero_damaged_pages", "ignore_checksum_failure"] as const).filter(
    (name) => settings[name] === "on",
  );
  return present(
    isOff("fsync") && finding("fsync", "the database runs with fsync=off", setTo("fsync", "on")),
    isOff("full_page_writes") &&
      finding("full-page-writes", "the database runs with full_page_writes=off", setTo("full_page_writes", "on")),
    ...ignored.map((name) => finding("damage-ignored", `the database runs with ${name}=on`, setTo(name, "off"))),
  );
}

export function judgeServer(settings: ServerSettings): Finding[] {
  const { wal_level: walLevel } = settings;
  const off = (["autovacuum", "track_counts"] as const).filter((name) => settings[name] === "off");
  return present(
    settings.data_checksums === "off" &&
      finding(
        "checksums",
        "data checksums are off",
        "while the server is stopped: pg_checksums --enable -D <directory>",
      ),
    walLevel === "minimal" &&
      finding("wal-level", "wal_level is minimal", "alter system set wal_level = replica, then restart the server"),
    ...off.map((name) => finding("autovacuum", `${name} is off`, setTo(name, "on"))),
  );
}

const OLDEST = 15;

/** https://www.postgresql.org/support/versioning/ */
const MAINTAINED_UNTIL: Readonly<Record<number, string>> = {
  15: "2027-11-11",
  16: "2028-11-09",
  17: "2029-11-08",
  18: "2030-11-14",
};

/** The newest minor releases when this was written. Older ones lack fixes for sure. */
const MINORS: Readonly<Record<number, number>> = { 15: 18, 16: 14, 17: 10, 18: 4 };

function versionOf(settings: ServerSettings): { major: number; minor: number; is: string } {
  const number = Number(settings.server_version_num);
  const is = `the database is PostgreSQL ${settings.server_version}`;
  return { major: Math.floor(number / 10_000), minor: number % 10_000, is };
}

export function judgeSupport(settings: ServerSettings): Finding[] {
  const { major, is } = versionOf(settings);
  return present(major < OLDEST && finding("postgres-unsupported", is, `move it to ${OLDEST} or newer (pg_upgrade)`));
}

export function judgeVersion(settings: ServerSettings, now: Instant): Finding[] {
  const { major, minor, is } = versionOf(settings);
  const until = MAINTAINED_UNTIL[major];
  if (until !== undefined && now >= Date.parse(until)) {
    return [
      finding("postgres-old", `${is}, which is not maintained since ${until}`, "move it to a newer one (pg_upgrade)"),
    ];
  }
  const newest = MINORS[major];
  if (newest === undefined || minor >= newest) return [];
  return [finding("postgres-old", `${is}, and there is ${major}.${newest} at least`, "install its last minor release")];
}
