/** Whether answered writes survive the loss of the primary. */
import type { Queryable } from "../../postgres/database.ts";
import { type Finding, finding, present } from "./finding.ts";

export interface Standbys {
  /** `synchronous_standby_names`. Empty: commits wait for no standby. */
  readonly names: string;
  /** Standbys that are connected. Receivers of backups, of the log for an archive, and of logical changes do not count. */
  readonly connected: number;
  /** Those that a commit may wait for; undefined if the role may not see it. */
  readonly confirming: number | undefined;
  /** Of the one that is furthest behind. */
  readonly behindSeconds: number | undefined;
}

/** Some columns of pg_stat_replication are shown to members of pg_monitor only. */
const STANDBYS = `
  select current_setting('synchronous_standby_names') as names,
         count(r.pid)::int as connected,
         case when bool_and(r.state is not null)
              then count(*) filter (where r.sync_state in ('sync', 'quorum'))::int end as confirming,
         extract(epoch from max(r.replay_lag))::float8 as behind
    from pg_stat_replication r
   where r.application_name not in ('pg_receivewal', 'pg_basebackup', 'barman_receive_wal')
     and r.state is distinct from 'backup'
     and not exists (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')`;

export async function readStandbys(database: Queryable): Promise<Standbys> {
  const [row] = await database.rows<{
    names: string;
    connected: number;
    confirming: number | null;
    behind: number | null;
  }>(STANDBYS);
  const { names = "", connected = 0, confirming, behind } = row ?? {};
  return {
    names,
    connected,
    confirming: connected === 0 ? 0 : (confirming ?? undefined),
    behindSeconds: behind ?? undefined,
  };
}

const LONGEST_LAG_SECONDS = 10;
const PAGE = "docs/high-availability.md";

export function judgeStandbys({ names, connected, confirming, behindSeconds = 0 }: Standbys): Finding[] {
  if (names === "") return present(withoutSynchronous(connected), behind(behindSeconds));
  if (connected === 0 || confirming === 0) {
    const what = `commits wait for ${names}, and ${connected === 0 ? "no standby" : "none of them"} is connected`;
    return [
      finding("standby-away", what, `start it, or, without Patroni, correct synchronous_standby_names (${PAGE})`),
    ];
  }
  const named = namedStandbys(names);
  return present(
    connected === 1 && finding("one-standby", "one standby is connected", `add a second one (${PAGE})`),
    connected > 1 &&
      named === 1 &&
      finding(
        "named-standby",
        `synchronous_standby_names names one standby: ${names}`,
        "under Patroni nothing; else alter system set synchronous_standby_names = 'ANY 1 (a, b)'",
      ),
    confirming === undefined &&
      finding(
        "unreadable",
        "the role may not see which standbys confirm commits",
        "grant pg_monitor to the service's role",
      ),
    behind(behindSeconds),
  );
}

function withoutSynchronous(connected: number): Finding {
  if (connected === 0) return finding("no-standby", "the database has no standby", `add two (${PAGE})`);
  const what = `${connected === 1 ? "the standby is" : `all ${connected} standbys are`} asynchronous`;
  return finding("asynchronous", what, `set synchronous_standby_names, best by Patroni (${PAGE})`);
}

const behind = (seconds: number): Finding | false =>
  seconds > LONGEST_LAG_SECONDS &&
  finding(
    "standby-behind",
    `a standby is ${Math.round(seconds)} s behind`,
    "look at its disk, its network and its log",
  );

/** @param names `a`, `a, b`, `2 (a, b, c)`, `FIRST 1 (a, b)` or `ANY 1 (*)` @returns Infinity for `*` */
function namedStandbys(names: string): number {
  const list = /\((.*)\)\s*$/s.exec(names)?.[1] ?? names;
  const entries: readonly string[] = list.match(/"(?:[^"]|"")*"|[^,\s]+/g) ?? [];
  return entries.includes("*") ? Number.POSITIVE_INFINITY : entries.length;
}
