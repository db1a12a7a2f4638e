import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client, type QueryResultRow } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type EmbeddedServer, startEmbedded } from "./embedded.ts";
import { EmbeddedError } from "./embedded-error.ts";
import { listServerProcesses } from "./processes.ts";

const THROW_AWAY = { fsync: "off", shared_buffers: "8MB" };
/** Within which something happens that nothing holds up, on a machine that is busy. */
const SOON = { timeout: 20_000 };
const asRoot = test.skipIf(process.getuid?.() !== 0);

/** As root, these lie below a directory that only root can enter: mkdtemp makes it with mode 0700. */
function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "parbook-embedded-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, "data");
}

async function start(directory: string, settings: Record<string, string> = THROW_AWAY, log: string[] = []) {
  const server = await startEmbedded({ directory, settings, log: (line) => log.push(line) });
  onTestFinished(() => server.stop());
  return server;
}

/** The data directory of a database that was made before, for the tests that begin with one. They leave it stopped. */
const existing = mkdtempSync(join(tmpdir(), "parbook-embedded-"));
beforeAll(async () => {
  const server = await startEmbedded({ directory: existing, settings: THROW_AWAY, log: () => {} });
  await server.stop();
});
afterAll(() => rmSync(existing, { recursive: true }));

/** The error of a start in this directory. */
async function rejection(directory: string, settings: Record<string, string> = THROW_AWAY): Promise<string> {
  const answer = await start(directory, settings).catch((error: unknown) => error);
  expect(answer).toBeInstanceOf(EmbeddedError);
  const { message } = answer as EmbeddedError;
  expect(message).not.toContain("\n");
  return message;
}

async function connect(server: EmbeddedServer): Promise<Client> {
  const client = new Client(server.connection("postgres", "postgres"));
  // Several of these tests end the server under the client.
  client.on("error", () => {});
  onTestFinished(() => client.end());
  await client.connect();
  return client;
}

async function query(server: EmbeddedServer, sql: string): Promise<QueryResultRow[]> {
  return (await (await connect(server)).query(sql)).rows;
}

async function pidOfWriter(server: EmbeddedServer): Promise<number> {
  const [row] = await query(server, "select pid from pg_stat_activity where backend_type = 'background writer'");
  return row?.pid;
}

async function setting(server: EmbeddedServer, name: string): Promise<unknown> {
  return Object.values((await query(server, `show ${name}`))[0] ?? {})[0];
}

/** As `ps` says it: "T" is stopped, "Z" a zombie, and nothing no process. */
function stateOf(pid: number): string {
  return spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout.charAt(0);
}

/** Whether a process is alive; zombies do not count. */
const lives = (pid: number): boolean => !["", "Z"].includes(stateOf(pid).trim());

/** Simulates a crash. */
async function kill(server: EmbeddedServer): Promise<void> {
  process.kill(server.pid, "SIGKILL");
  await expect.poll(() => lives(server.pid), SOON).toBe(false);
  await server.stop();
}

test("a first start creates a durable database, and the next finds its data", async () => {
  const directory = freshDirectory();
  const log: string[] = [];
  const first = await start(directory, {}, log);
  expect(first.version).toMatch(/^18\./);
  expect(log[0]).toContain("creating a new PostgreSQL 18 database");
  await query(first, "create table kept as select 1 as one");
  await first.stop();
  // Only so the next start has nothing to recover.
  expect(readFileSync(join(directory, "postgres.log"), "utf8")).toContain("received fast shutdown request");
  expect(lives(first.pid)).toBe(false);

  const second = await start(directory, {}, log);
  expect(await query(second, "select one from kept")).toEqual([{ one: 1 }]);
  expect(log.filter((line) => line.startsWith("creating"))).toHaveLength(1);
  const [row] = await query(
    second,
    `select jsonb_object_agg(name, setting) as found, pg_encoding_to_char(encoding) as encoding, datlocprovider, datlocale
       from pg_settings, pg_database
      where datname = 'postgres' and name in ('fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums',
            'wal_level', 'wal_compression', 'jit', 'listen_addresses', 'TimeZone', 'log_min_error_statement',
            'log_error_verbosity', 'unix_socket_permissions')
      group by encoding, datlocprovider, datlocale`,
  );
  expect(row).toEqual({
    found: {
      fsync: "on",
      full_page_writes: "on",
      synchronous_commit: "on",
      data_checksums: "on",
      wal_level: "replica",
      wal_compression: "off",
      jit: "off",
      listen_addresses: "",
      TimeZone: "UTC",
      // A statement, and the row that an error is about, have what is nobody's who reads the log.
      log_min_error_statement: "panic",
      log_error_verbosity: "terse",
      unix_socket_permissions: "0700",
    },
    encoding: "UTF8",
    datlocprovider: "b",
    datlocale: "C.UTF-8",
  });
});

test("settings can be overridden, except the fixed ones", async () => {
  const server = await start(existing, { ...THROW_AWAY, max_connections: "17", listen_addresses: "*" });
  expect(await setting(server, "max_connections")).toBe("17");
  expect(await setting(server, "fsync")).toBe("off");
  expect(await setting(server, "listen_addresses")).toBe("");
});

test("the next start recovers after the postmaster was killed", async () => {
  const first = await start(existing);
  await query(first, "create table kept as select 1 as one");
  await kill(first);
  expect(await query(await start(existing), "select one from kept")).toEqual([{ one: 1 }]);
});

test("orphans of a killed postmaster are stopped before the next start", async () => {
  const first = await start(existing);
  const orphan = await connect(first);
  const [row] = (await orphan.query<{ pid: number }>("select pg_backend_pid() as pid")).rows;
  // A stopped process cannot notice that its postmaster is gone.
  process.kill(Number(row?.pid), "SIGSTOP");
  await expect.poll(() => stateOf(Number(row?.pid)), SOON).toBe("T");
  process.kill(first.pid, "SIGKILL");
  await expect.poll(() => lives(first.pid), SOON).toBe(false);
  await first.stop();
  await start(existing);
  expect(lives(Number(row?.pid))).toBe(false);
});

test("a stale lock file with a reused process id does not prevent a start", async () => {
  await kill(await start(existing));
  const { uid, gid } = statSync(join(existing, "postgres"));
  const other = spawn("sleep", ["60"], process.getuid?.() === 0 ? { uid, gid } : {});
  onTestFinished(() => void other.kill("SIGKILL"));
  for (const name of ["postmaster.pid", ".s.PGSQL.5432.lock"]) {
    const path = join(existing, "postgres", name);
    writeFileSync(path, readFileSync(path, "utf8").replace(/^[0-9]+/, String(other.pid)));
  }
  await start(existing);
  expect(other.exitCode ?? other.signalCode).toBe(null);
});

test("an empty lock file does not prevent a start", async () => {
  await kill(await start(existing));
  writeFileSync(join(existing, "postgres/postmaster.pid"), "");
  await start(existing);
});

test("of two concurrent starts one succeeds and the other is rejected", async () => {
  const directory = freshDirectory();
  const starts = await Promise.allSettled([start(directory), start(directory)]);
  expect(starts.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(await rejection(directory)).toContain(`another service (process ${process.pid})`);
});

test("a rejected start releases the directory", async () => {
  expect(await rejection(existing, { shared_buffers: "plenty" })).toMatch(
    /^PostgreSQL did not start \(exit code 1\): .*invalid value for parameter "shared_buffers": "plenty"/,
  );
  await start(existing);
});

test("a server that is not ready in time is stopped, with the reason; a recovery has a limit of its own", async () => {
  // It waits for a primary, and until then rejects connections as in a recovery.
  const signal = join(existing, "postgres/standby.signal");
  writeFileSync(signal, "");
  onTestFinished(() => rmSync(signal));
  const settings = { ...THROW_AWAY, hot_standby: "off" };
  const options = { directory: existing, settings, log: () => undefined, recoveryLimitMs: 300 };
  const answer = await startEmbedded(options).catch((error: unknown) => error);
  expect(answer).toBeInstanceOf(EmbeddedError);
  expect((answer as Error).message).toMatch(
    /^PostgreSQL was not ready within 0\.3 s \(the database system is .*\): .+/,
  );
  expect(await listServerProcesses(join(existing, "postgres"))).toEqual([]);
});

test("leftovers of killed attempts are removed, a long log is rotated, and an empty directory is accepted", async () => {
  const directory = freshDirectory();
  mkdirSync(join(directory, "postgres"), { recursive: true });
  mkdirSync(join(directory, "postgres.new-000000000000/global"), { recursive: true });
  writeFileSync(join(directory, "postgres.new-000000000000/PG_VERSION"), "18\n");
  writeFileSync(join(directory, "postgres.log"), "");
  truncateSync(join(directory, "postgres.log"), 16 * 1024 * 1024 + 1);
  const server = await start(directory);
  // The log was too long, and a new one was begun.
  expect(readdirSync(directory).sort()).toEqual(["holder.1", "postgres", "postgres.log", "postgres.log.1"]);
  expect(statSync(join(directory, "postgres.log")).size).toBeLessThan(100_000);
  expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("a directory that is not a database is rejected and left unchanged", async () => {
  const directory = freshDirectory();
  mkdirSync(join(directory, "postgres"), { recursive: true });
  writeFileSync(join(directory, "postgres/letters.txt"), "keep me");
  expect(await rejection(directory)).toContain("is not empty and holds no PostgreSQL database: move it away");
  expect(readdirSync(join(directory, "postgres"))).toEqual(["letters.txt"]);
});

test("a database of another major version is rejected, naming both", async () => {
  writeFileSync(join(existing, "postgres/PG_VERSION"), "16\n");
  onTestFinished(() => writeFileSync(join(existing, "postgres/PG_VERSION"), "18\n"));
  const line = await rejection(existing);
  expect(line).toContain("was created by PostgreSQL 16, but this is PostgreSQL 18");
  expect(line).toContain("pg_dump");
});

test("a server in another container is left alone, and so is its data", async () => {
  const unseen = createServer().listen(join(existing, "postgres/.s.PGSQL.5432"));
  await once(unseen, "listening");
  onTestFinished(() => void unseen.close());
  expect(await rejection(existing)).toContain("perhaps in another container");
});

test("an unwritable data directory is rejected", async () => {
  const file = freshDirectory();
  writeFileSync(file, "");
  expect(await rejection(join(file, "data"))).toMatch(/^the data directory .* cannot be written \(ENOTDIR\)/);
});

test("a path too long for a socket address works", async () => {
  const directory = join(freshDirectory(), "deep".repeat(30));
  const server = await start(directory);
  expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
  expect(await rejection(directory)).toContain("another service");
  await server.stop();
  // On Linux it has a short name through an open file of this process.
  if (process.platform === "linux") {
    const links = readdirSync("/proc/self/fd").map((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`);
      } catch {
        return undefined;
      }
    });
    expect(links).not.toContain(directory);
  }
  await start(directory);
});

asRoot(
  "as root the server is an unprivileged user without our groups, and the data stays where it was wanted",
  async () => {
    const directory = freshDirectory();
    expect(statSync(dirname(directory)).mode & 0o077).toBe(0);
    const server = await start(directory);
    const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
    expect(status).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
    expect(status).toMatch(/^Gid:\t65534\t65534\t65534\t65534$/m);
    expect(status).toMatch(/^Groups:\s*$/m);
    expect(statSync(join(directory, "postgres"))).toMatchObject({ uid: 65534, mode: 0o40700 });
  },
);

asRoot("as root a database of another user is served as that user, and one of root's is rejected", async () => {
  const directory = freshDirectory();
  await (await start(directory)).stop();
  spawnSync("chown", ["-R", "54321:54321", join(directory, "postgres")]);
  const server = await start(directory);
  expect(statSync(`/proc/${server.pid}`).uid).toBe(54321);
  await server.stop();
  spawnSync("chown", ["-R", "0:0", join(directory, "postgres")]);
  expect(await rejection(directory)).toContain("chown -R 65534:65534");
});

asRoot(
  "as root a database starts again and again on an archive directory of root that its user may write to",
  async () => {
    const directory = freshDirectory();
    const walArchive = mkdtempSync(join(tmpdir(), "parbook-wal-"));
    onTestFinished(() => rmSync(walArchive, { recursive: true, force: true }));
    chmodSync(walArchive, 0o777);
    for (let time = 0; time < 2; time += 1) {
      const server = await startEmbedded({ directory, settings: THROW_AWAY, log: () => undefined, walArchive });
      onTestFinished(() => server.stop());
      const [row] = await query(server, "select pg_walfile_name(pg_switch_wal()) as name");
      await expect.poll(() => readdirSync(walArchive), SOON).toContain(row?.["name"]);
      await server.stop();
    }
    expect(statSync(walArchive).uid).toBe(0);
  },
);

test("an unexpected exit is logged, and stopping afterwards works, even twice", async () => {
  const log: string[] = [];
  const server = await start(existing, THROW_AWAY, log);
  process.kill(server.pid, "SIGINT");
  // Not only the last line: the server may be running again already.
  await expect.poll(() => log, SOON).toContainEqual(expect.stringContaining("PostgreSQL exited unexpectedly"));
  await Promise.all([server.stop(), server.stop()]);
});

test.each([
  ["the server", async (server: EmbeddedServer) => server.pid],
  ["one of the server's processes", pidOfWriter],
])("when %s is killed the server is restarted, and stop still stops it", async (_, find) => {
  const log: string[] = [];
  const server = await start(existing, THROW_AWAY, log);
  const before = server.pid;
  process.kill(await find(server), "SIGKILL");
  const isBack = (): Promise<boolean> =>
    query(server, "select 1").then(
      () => server.pid !== before,
      () => false,
    );
  await expect.poll(isBack, { timeout: 20_000 }).toBe(true);
  expect(log.some((line) => line.startsWith("PostgreSQL exited unexpectedly; restarting"))).toBe(true);
  const { pid } = server;
  await server.stop();
  expect([lives(before), lives(pid)]).toEqual([false, false]);
});
