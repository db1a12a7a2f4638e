/**
 * A PostgreSQL 15 of Debian with a synchronous standby, for tests that cancel, end and lose servers. Both run on sockets in
 * a directory of their own, and no other server is touched.
 */
import { access, appendFile, chmod, chown, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientConfig } from "pg";
import { pino } from "pino";
import type { TestContext } from "vitest";
import { Database } from "../../../src/postgres/database.ts";
import { chooseServerUser } from "../../../src/postgres/embedded/cluster.ts";
import { runProgram } from "../../../src/postgres/embedded/program.ts";
import { migrateAs } from "../../../src/service/core.ts";
import type { TestDatabase } from "../database.ts";
import { required } from "../required.ts";
import { until } from "../until.ts";

const PROGRAMS = "/usr/lib/postgresql/15/bin";

/** The servers by their ports: both have their socket in the same directory. */
const PORTS = { primary: 5432, standby: 5433 } as const;
type Server = keyof typeof PORTS;
export const STANDBY_PORT = PORTS.standby;

/**
 * What a batch is committed by, on the lane's connection or under lock, and what a look-up that has found something is.
 * Of a long statement the server shows the beginning.
 */
export const BATCH = /^with |insert into batch|^commit$/;
export const LOOK_UP = /pg_logical_emit_message/;

/** How a commit that waits for the standby is interrupted. After the last two the primary runs again. */
export const FAULTS = ["cancel", "terminate", "fast restart", "immediate restart"] as const;
export type Fault = (typeof FAULTS)[number];

export interface Pair {
  /** The primary's database as tests know one. It is closed with the pair. */
  readonly primary: TestDatabase;
  /** A pool as the service's role; closed with the pair. */
  database(server?: Server): Database;
  /** A pool as the owner of the tables; closed with the pair. */
  owner(server?: Server): Database;
  /** On the primary; closed with the pair. */
  superuser(): Database;
  stopStandby(): Promise<void>;
  /** An answer waits until the standby has the log that it rests on, and not until it can be queried there. */
  untilReplayed(): Promise<void>;
  startStandby(): Promise<void>;
  /** Commits of such statements that wait for the standby, by the ids of their server processes. */
  waiting(statement: RegExp): Promise<number[]>;
  /** Waits until one waits that is not among these, and answers all that do. */
  untilWaiting(statement: RegExp, but?: readonly number[]): Promise<number[]>;
  /** How many sessions wait for a lock. */
  blocked(): Promise<number>;
  inject(fault: Fault): Promise<void>;
  /** Ends the lanes' own connections. */
  terminateLanes(): Promise<void>;
  /** The primary is lost for good, and the standby takes its place, also one that was stopped. */
  failOver(): Promise<void>;
  /** The standby goes on as a server of its own, on the timeline of the primary: nothing of it tells that it took over. */
  startCopy(): Promise<void>;
  /** After a failover: the former primary runs again and has noticed nothing. */
  startFormerPrimary(): Promise<void>;
  close(): Promise<void>;
}

/** Skips the test where the programs are missing. */
export async function needsStandby(context: TestContext): Promise<void> {
  const isThere = await access(join(PROGRAMS, "pg_basebackup")).then(
    () => true,
    () => false,
  );
  required(context, isThere ? undefined : `there is no PostgreSQL in ${PROGRAMS}: apt-get install postgresql-15`);
}

/** A pair with a migrated database, whose standby every commit waits for. */
export async function startPair(): Promise<Pair> {
  const place = await mkdtemp(join(tmpdir(), "parbook-pair-"));
  await chmod(place, 0o755);
  const user = await chooseServerUser(place, false);
  if (user !== undefined) await chown(place, user.uid, user.gid);
  const run = async (script: string): Promise<string> => {
    const surroundings = `export PATH=${PROGRAMS}:$PATH PGHOST=${place} PGUSER=postgres PGPORT=${PORTS.primary}\n`;
    const { succeeded, output } = await runProgram("/bin/sh", ["-ec", surroundings + script], {
      directory: place,
      user,
    });
    if (!succeeded) throw new Error(`${script} failed: ${output}`);
    return output.trim();
  };
  const pools: Database[] = [];
  const connection = (server: Server, as: string, database = "parbook"): ClientConfig => {
    return { host: place, port: PORTS[server], user: as, database };
  };
  const open = (server: Server, as: string, database?: string): Database => {
    const own = connection(server, as, database);
    const pool = new Database({
      connection: own,
      maxConnections: 8,
      onIdleError: () => undefined,
    });
    pools.push(pool);
    return pool;
  };
  const start = (server: Server): Promise<string> => run(`pg_ctl -D ${server} -l ${server}.log -w start`);
  const close = async (): Promise<void> => {
    for (const server of ["primary", "standby"]) {
      await run(`pg_ctl -D ${server} -m immediate stop`).catch(() => undefined);
    }
    for (const pool of pools) await pool.close();
    await rm(place, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    await run("initdb -D primary -U postgres -A trust --no-sync -E UTF8 --locale=C.UTF-8");
    // Servers are killed here, and never the machine.
    const settings = `unix_socket_directories = '${place}'\nlisten_addresses = ''\nfsync = off\n`;
    await appendFile(join(place, "primary", "postgresql.conf"), settings);
    await start("primary");
    await run("psql -qc 'create role parbook_owner login' -c 'create role parbook login'");
    await run("psql -qc 'create database parbook owner parbook_owner'");
    await migrateAs(open("primary", "parbook_owner"), "parbook", pino({ level: "silent" }), {
      config: { mode: "production", catalogue: undefined, coin: undefined },
      fills: true,
    });
    await run("pg_basebackup -D standby -R -c fast --no-sync");
    const standby = `port = ${PORTS.standby}\ncluster_name = 'standby'\nsynchronous_standby_names = ''\n`;
    await appendFile(join(place, "standby", "postgresql.conf"), standby);
    await start("standby");
    await run(`psql -qc "alter system set synchronous_standby_names = 'ANY 1 (standby)'" -c "select pg_reload_conf()"`);
  } catch (error) {
    await close();
    throw error;
  }
  const admin = open("primary", "postgres", "postgres");
  const waiting = async (statement: RegExp): Promise<number[]> => {
    // A server that starts just now is asked again.
    const rows = await admin
      .rows<{ pid: number; query: string }>("select pid, query from pg_stat_activity where wait_event = 'SyncRep'")
      .catch(() => []);
    return rows.filter(({ query }) => statement.test(query)).map(({ pid }) => pid);
  };
  const isSynchronous = async (): Promise<boolean> => {
    const ask = () => admin.rows("select 1 from pg_stat_replication where sync_state = 'quorum'");
    // A connection that a restart has broken is found out by the first statement on it.
    const found = await ask().catch(ask);
    return found.length === 1;
  };
  const end = (how: "cancel" | "terminate") =>
    admin.rows(`select pg_${how}_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`);
  await until("the standby is synchronous", isSynchronous);
  return {
    primary: {
      database: open("primary", "parbook"),
      owner: open("primary", "parbook_owner"),
      connection: connection("primary", "parbook"),
      ownerConnection: connection("primary", "parbook_owner"),
      another: () => open("primary", "parbook"),
      close: async () => undefined,
    },
    database: (server = "primary") => open(server, "parbook"),
    owner: (server = "primary") => open(server, "parbook_owner"),
    superuser: () => admin,
    stopStandby: async () => {
      await run("pg_ctl -D standby -m immediate stop");
      await until("the standby is gone", async () => !(await isSynchronous()));
    },
    startStandby: async () => {
      if (!(await isSynchronous())) await start("standby");
      await until("the standby is synchronous", isSynchronous);
    },
    untilReplayed: async () => {
      const replica = open("standby", "postgres", "postgres");
      await until("the standby shows what it has", async () => {
        const [row] = await replica
          .rows<{ all: boolean }>("select pg_last_wal_replay_lsn() = pg_last_wal_receive_lsn() as all")
          .catch(() => []);
        return row?.all === true;
      });
    },
    waiting,
    untilWaiting: async (statement, but = []) => {
      let now: number[] = [];
      await until(`${statement} waits for the standby`, async () => {
        now = await waiting(statement);
        return now.some((pid) => !but.includes(pid));
      });
      return now;
    },
    blocked: async () => (await admin.rows("select 1 from pg_stat_activity where wait_event_type = 'Lock'")).length,
    inject: async (fault) => {
      if (fault === "cancel" || fault === "terminate") await end(fault);
      else await run(`pg_ctl -D primary -l primary.log -m ${fault.split(" ")[0]} -w restart`);
    },
    terminateLanes: async () => {
      await admin.rows(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'parbook lane'",
      );
    },
    failOver: async () => {
      const pid = Number((await readFile(join(place, "primary", "postmaster.pid"), "utf8")).split("\n")[0]);
      process.kill(pid, "SIGKILL");
      await run("pg_ctl -D standby status").catch(() => start("standby"));
      await run("pg_ctl -D standby -w promote");
    },
    startCopy: async () => {
      await run("pg_ctl -D standby -m fast -w stop && rm standby/standby.signal");
      await start("standby");
    },
    // The processes of the one that was killed end within moments.
    startFormerPrimary: () => until("the former primary runs", () => start("primary").then(Boolean, () => false)),
    close,
  };
}
