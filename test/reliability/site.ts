/**
 * The service as a user starts it, with an embedded PostgreSQL on a data directory of its own, and every place where
 * something bad can happen to it: its processes, its disk, its clock, and the connections to it and to its database.
 * Clients meet it at the address of a relay, as behind a load balancer; that stays the same from start to start.
 */
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClientConfig } from "pg";
import { Database, OutcomeUnknown } from "../../src/postgres/database.ts";
import { listServerProcesses, readPostmasterPid, stopServer } from "../../src/postgres/embedded/processes.ts";
import { assert, must } from "../../src/std/assert.ts";
import { writeAtomically } from "../../src/std/write-atomically.ts";
import { type Ended, parbook, type ServiceProcess, type Settings, startInVain, startService } from "../cli/parbook.ts";
import { freePort } from "../support/free-port.ts";
import { type Relay, startRelay } from "../support/postgres/relay.ts";
import { type SmallDisk, smallDisk } from "./small-disk.ts";

const SHIFTED_CLOCK = fileURLToPath(new URL("shifted-clock.mjs", import.meta.url));
const SMALL_DISK_MB = 700;
/** Long enough for some conversions to be cancelled before they are settled. */
const SETTLEMENT_DELAY_MS = "300";
const SOCKET = ".s.PGSQL.5432";
const SOCKET_BEHIND_PORT = 54_320;

/**
 * A `clock_timestamp()` of our own at the place of PostgreSQL's, whatever the search path. It is the only clock that the
 * service asks; the one that PostgreSQL itself goes by is that of the machine, and not ours to set.
 */
const SHIFTED_DATABASE_CLOCK = `do $$ begin
  create schema shifted;
  grant usage on schema shifted to public;
  create table shifted.clock as select interval '0' as off_by;
  grant select on shifted.clock to public;
  alter function pg_catalog.clock_timestamp() rename to true_clock_timestamp;
  create function pg_catalog.clock_timestamp() returns timestamptz volatile language sql
    as 'select pg_catalog.true_clock_timestamp() + off_by from shifted.clock';
end $$`;

interface Ports {
  readonly api: number;
  readonly auth: number;
}

export class Site {
  /** As an operator would look at it: past the service, as PostgreSQL's superuser. */
  readonly database: Database;
  /** Undefined where none can be mounted, or none was asked for. */
  readonly disk: SmallDisk | undefined;
  /** Between clients and service. */
  readonly frontDoor: Relay;
  readonly authUrl: string;
  readonly #outside: string;
  readonly #settings: Settings & { readonly PARBOOK_DATA_DIR: string };
  #service: ServiceProcess | undefined;

  private constructor(outside: string, disk: SmallDisk | undefined, frontDoor: Relay, ports: Ports) {
    this.#outside = outside;
    this.disk = disk;
    this.frontDoor = frontDoor;
    this.authUrl = `http://127.0.0.1:${ports.auth}`;
    const dataDir = join(disk?.path ?? outside, "data");
    this.#settings = {
      PARBOOK_DATA_DIR: dataDir,
      PARBOOK_BOOTSTRAP: join(outside, "storm.json"),
      PARBOOK_PORT: String(ports.api),
      PARBOOK_AUTH_PORT: String(ports.auth),
      PARBOOK_BASE_URL: this.baseUrl,
      PARBOOK_AUTH_URL: this.authUrl,
      PARBOOK_SETTLEMENT_DELAY_MS: SETTLEMENT_DELAY_MS,
      PARBOOK_LOG_LEVEL: "warn",
    };
    this.database = new Database({
      connection: { host: this.#cluster, port: 5432, database: "parbook", user: "postgres" },
      maxConnections: 2,
      onIdleError: () => undefined,
    });
  }

  /** Starts the service; on the small disk, when one is asked for and can be had. */
  static async open(bootstrap: object, disk: "any disk" | "small disk"): Promise<Site> {
    const outside = await mkdtemp(join(tmpdir(), "parbook-storm-"));
    await writeFile(join(outside, "storm.json"), JSON.stringify(bootstrap));
    const small = disk === "small disk" ? await smallDisk(SMALL_DISK_MB) : undefined;
    const ports = { api: await freePort(), auth: await freePort() };
    const frontDoor = await startRelay({ host: "127.0.0.1", port: ports.api });
    const site = new Site(outside, small, frontDoor, ports);
    try {
      await site.setClock(0);
      const { exitCode, stderr } = await site.run("checkpoint", "--new-key", site.checkpoint.key);
      assert(exitCode === 0, `there is a key to sign checkpoints with: ${stderr}`);
      await mkdir(site.#settings.PARBOOK_DATA_DIR, { mode: 0o700 });
      await site.start();
      return site;
    } catch (error) {
      await site.close();
      throw error;
    }
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.frontDoor.connection.port}`;
  }

  /** For a process that writes beside the service, in its role. */
  get databaseUrl(): string {
    return `postgres://parbook@localhost/parbook?host=${encodeURIComponent(this.#cluster)}`;
  }

  async close(): Promise<void> {
    await this.database.close();
    await this.#service?.end("SIGKILL");
    await stopServer(this.#cluster);
    await this.frontDoor.close();
    await this.disk?.close();
    await rm(this.#outside, { recursive: true, force: true, maxRetries: 10 });
  }

  async start(): Promise<void> {
    this.#service = await startService({ ...this.#settings, ...this.#clock });
  }

  startInVain(afterMs: number): Promise<void> {
    return startInVain({ ...this.#settings, ...this.#clock }, afterMs);
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async stop(): Promise<void> {
    const { exitCode, stderr } = await this.#end("SIGTERM");
    assert(exitCode === 0, `the service stops with exit code 0: ${stderr}`);
  }

  #end(signal: "SIGKILL" | "SIGTERM"): Promise<Ended> {
    const service = this.#running;
    this.#service = undefined;
    return service.end(signal);
  }

  /** What the service and its database have said at last, and what the database's processes are doing. */
  async lastWords(): Promise<string> {
    const service = this.#service?.output() ?? "";
    const database = await readFile(`${this.#cluster}.log`, "utf8").catch(String);
    const processes = await Promise.all(
      (await this.listServerProcesses()).map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(String)),
    );
    return [
      ...["The service has said, at last:", service.slice(-20_000)],
      ...["Its database:", database.slice(-20_000)],
      ...["Whose processes are:", ...processes.map((title) => title.replaceAll("\0", " ").slice(0, 200)), ""],
    ].join("\n");
  }

  /** What /readyz says, undefined where nobody answers. */
  async readiness(): Promise<string | undefined> {
    const answer = await fetch(`${this.baseUrl}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
    return answer?.text().catch(() => undefined);
  }

  signalService(signal: "SIGSTOP" | "SIGCONT"): void {
    process.kill(this.#running.ready.pid, signal);
  }

  /** Runs a command of the operator beside the service, or without it. */
  run(...command: string[]): Promise<Ended> {
    return parbook(this.#settings, ...command);
  }

  /** The checkpoint of the chains and the key that signs it lie outside of what a fault can hit. */
  get checkpoint(): { readonly file: string; readonly key: string } {
    return { file: join(this.#outside, "parbook.checkpoint"), key: join(this.#outside, "parbook.key") };
  }

  // The database -----------------------------------------------------------------------------------------------------

  /** The postmaster first. Empty while there is none. */
  async listServerProcesses(): Promise<number[]> {
    const postmaster = readPostmasterPid(this.#cluster);
    const residents = await listServerProcesses(this.#cluster);
    return residents.sort((a, b) => Number(b === postmaster) - Number(a === postmaster));
  }

  /**
   * Puts a relay between the service and its database: at the place of the server's socket, which is moved aside. The
   * service is then made to connect anew. A server that is started again makes its socket anew, and is free of it.
   */
  async relayDatabase(): Promise<Relay> {
    await rename(join(this.#cluster, SOCKET), join(this.#cluster, `.s.PGSQL.${SOCKET_BEHIND_PORT}`));
    const behind: ClientConfig = { host: this.#cluster, port: SOCKET_BEHIND_PORT };
    const relay = await startRelay(behind, { host: this.#cluster, port: 5432 });
    await this.#reconnectService();
    return relay;
  }

  async unrelayDatabase(relay: Relay): Promise<void> {
    await relay.close();
    await rename(join(this.#cluster, `.s.PGSQL.${SOCKET_BEHIND_PORT}`), join(this.#cluster, SOCKET));
  }

  /** Ends the service's connections, so that what was changed for new ones holds for all of them. */
  async #reconnectService(): Promise<void> {
    const end = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'parbook'";
    await this.database.rows(end).catch((error: unknown) => {
      // PostgreSQL warns of a connection that has ended meanwhile; all others are ended.
      if (!(error instanceof OutcomeUnknown)) throw error;
    });
  }

  // Clocks -----------------------------------------------------------------------------------------------------------

  /** By how much the service's time of day is off. */
  async setClock(shiftMs: number): Promise<void> {
    await writeAtomically(this.#clockFile, String(shiftMs));
  }

  /** By how much PostgreSQL's clock is off, for all its clients. */
  async setDatabaseClock(shiftMs: number): Promise<void> {
    const [known] = await this.database.rows("select from pg_namespace where nspname = 'shifted'");
    if (known === undefined) {
      await this.database.rows(SHIFTED_DATABASE_CLOCK);
      await this.#reconnectService();
    }
    await this.database.rows("update shifted.clock set off_by = $1 * interval '1 millisecond'", [shiftMs]);
    const [off] = await this.database.rows<{ ms: number }>(
      "select (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::float8 as ms",
    );
    assert(Math.abs((off?.ms ?? Number.NaN) - shiftMs) < 1_000, `the clock is off by ${shiftMs} ms, not ${off?.ms}`);
  }

  get #clock(): Settings {
    return { NODE_OPTIONS: `--import=${SHIFTED_CLOCK}`, STORM_CLOCK: this.#clockFile };
  }

  get #clockFile(): string {
    return join(this.#outside, "clock");
  }

  get #cluster(): string {
    return join(this.#settings.PARBOOK_DATA_DIR, "postgres");
  }

  get #running(): ServiceProcess {
    return must(this.#service, "the service was started");
  }
}
