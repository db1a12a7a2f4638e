/**
 * Three PostgreSQL 15 under Patroni, with etcd beside each, and two nodes of Parbook behind a load balancer: the recipe of
 * docs/high-availability.md on machines of their own, configured by the files of ops/high-availability.
 */
import type { ChildProcess } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Database } from "../../src/postgres/database.ts";
import { assert, must } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import { type Ended, parbook, type Settings } from "../cli/parbook.ts";
import { until } from "../support/until.ts";
import { Disk } from "./disk.ts";
import { type Machine, Network } from "./machines.ts";
import { type DatabaseName, type Member, readMembers } from "./members.ts";
import { readServerUser, type User } from "./programs.ts";
import { areAllPrimary } from "./proxied-primary.ts";
import { readRecipe, withLoadBalancer } from "./recipe.ts";

const PARBOOK = fileURLToPath(new URL("../../bin/parbook.mjs", import.meta.url));
/** The last numbers of their addresses; those of the databases as in the recipe. */
const MACHINES = { db1: 1, db2: 2, db3: 3, app1: 11, app2: 12, edge: 20 } as const;
export const DATABASES: readonly DatabaseName[] = ["db1", "db2", "db3"];
export const NODES = ["app1", "app2"] as const;
export type NodeName = (typeof NODES)[number];
/** It reaches the proxy through PgBouncer, the other one directly. */
const POOLED: NodeName = "app2";
/** As in the recipe. */
const PASSWORD = "change-this-1";
/** On a machine that others keep busy. */
const START_S = 180;
const COPIED_ANEW_AFTER_MS = 30_000;

const SAID_BY_PATRONI = /^[0-9-]+ \S+ (INFO|WARNING|ERROR)|LOG: |FATAL: |PANIC: |^pg_\w+: /;

/** Patroni and PostgreSQL, without etcd. */
export const PATRONI_AND_POSTGRES = /patroni|postgres/;
export const ETCD = /etcd/;

export class Cluster {
  readonly network: Network;
  /** As an operator looks at it: the primary, whichever that is, as PostgreSQL's superuser. */
  readonly database: Database;
  /** The directory of everything, that all machines share. */
  readonly place: string;
  readonly #settings: Settings;
  readonly #disks = new Map<DatabaseName, Disk>();
  readonly #nodes = new Map<string, ChildProcess>();

  private constructor(place: string, network: Network) {
    this.place = place;
    this.network = network;
    this.database = new Database({
      connection: { ...this.#primary, database: "parbook", user: "postgres", password: PASSWORD },
      maxConnections: 2,
      onIdleError: () => undefined,
    });
    this.#settings = {
      PARBOOK_BOOTSTRAP: join(place, "bootstrap.json"),
      PARBOOK_BASE_URL: this.baseUrl,
      PARBOOK_AUTH_URL: this.authUrl,
      PARBOOK_SETTLEMENT_DELAY_MS: "300",
      PARBOOK_LOG_LEVEL: "info",
      PARBOOK_SANDBOX_MAKER: "off",
    };
  }

  /** Makes the machines and starts everything on them; `bootstrap` is the customers' file. */
  static async open(bootstrap: object): Promise<Cluster> {
    const place = await mkdtemp(join(tmpdir(), `parbook-cluster-${process.pid}-`));
    await chmod(place, 0o755);
    await writeFile(join(place, "bootstrap.json"), JSON.stringify(bootstrap));
    const cluster = new Cluster(place, Network.open(MACHINES));
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      process.stdout.write(await cluster.lastWords());
      await cluster.close();
      throw error;
    }
  }

  get baseUrl(): string {
    return `http://${this.machine("edge").address}:8080`;
  }

  get authUrl(): string {
    return `http://${this.machine("edge").address}:8081`;
  }

  get databaseUrl(): string {
    return must(this.#urls(this.machine("edge").address).PARBOOK_DATABASE_URL, "it is set");
  }

  get checkpoint(): { readonly file: string; readonly key: string } {
    return { file: join(this.place, "parbook.checkpoint"), key: join(this.place, "parbook.key") };
  }

  machine(name: keyof typeof MACHINES): Machine {
    return this.network.machine(name);
  }

  /** Runs a command of the operator. */
  run(...command: string[]): Promise<Ended> {
    const { address } = this.machine("edge");
    return parbook(
      { ...this.#settings, ...this.#urls(address), PARBOOK_DATA_DIR: join(this.place, "operator") },
      ...command,
    );
  }

  /** Ends the nodes in order. */
  async stop(): Promise<void> {
    for (const name of NODES) await this.stopNode(name, "SIGTERM");
  }

  async close(): Promise<void> {
    await this.database.close();
    this.network.remove();
    for (const disk of this.#disks.values()) disk.unmount();
    await rm(this.place, { recursive: true, force: true, maxRetries: 10 });
  }

  async lastWords(): Promise<string> {
    const texts: string[] = [];
    for (const name of Object.keys(MACHINES)) {
      for (const log of ["etcd", "patroni", "haproxy", "pgbouncer", "parbook"]) {
        const text = await readFile(join(this.place, name, `${log}.log`), "utf8").catch(() => "");
        // Without the statements that PostgreSQL has rejected.
        const lines = text.split("\n").filter((line) => log !== "patroni" || SAID_BY_PATRONI.test(line));
        if (text !== "") texts.push(`${name}: ${log}`, lines.join("\n").slice(-16_000));
      }
    }
    return texts.join("\n");
  }

  // The database -----------------------------------------------------------------------------------------------------

  /** What Patroni says of its members, if all that answer agree. */
  members(asked: readonly DatabaseName[] = DATABASES): Promise<readonly Member[]> {
    return readMembers(asked.map((name) => this.machine(name).address));
  }

  async memberWithRole(role: string): Promise<DatabaseName> {
    return (await this.#memberWithRole(role)).name;
  }

  /** The primary and the number of its timeline. */
  async primary(): Promise<{ readonly name: DatabaseName; readonly timeline: number }> {
    const { name, timeline } = await this.#memberWithRole("leader");
    return { name, timeline: must(timeline, "a primary has a timeline") };
  }

  async #memberWithRole(role: string): Promise<Member> {
    let found: Member | undefined;
    await until(
      `a member is the ${role}`,
      async () => {
        found = (await this.members()).find((member) => member.role === role);
        return found !== undefined;
      },
      60,
    );
    return must(found, `there is a ${role}`);
  }

  /** Waits until all three are there, one of them the primary and one the synchronous standby, and it can be used. */
  async untilWhole(): Promise<void> {
    await this.#untilRunning();
    await until("the primary can be connected to", () => this.#meetPrimary(), START_S);
  }

  async #untilRunning(): Promise<void> {
    let last: readonly Member[] = [];
    let failedAt: number | undefined;
    const isWhole = async (): Promise<boolean> => {
      last = await this.members();
      const failed = last.find(({ state }) => state === "start failed");
      if (failed !== undefined) failedAt ??= performance.now();
      if (failed !== undefined && performance.now() - must(failedAt, "it has failed") > COPIED_ANEW_AFTER_MS) {
        failedAt = undefined;
        await this.#copyAnew(failed.name);
      }
      const roles = last.map(({ role }) => role).sort();
      const areRunning = last.every(({ state }) => state === "running" || state === "streaming");
      await pause(100);
      return areRunning && roles.join() === "leader,replica,sync_standby";
    };
    await until("the cluster is whole", isWhole, START_S).catch((error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(last)}`);
    });
  }

  /** As the page tells the operator: its log went another way than its successor's, and Patroni does not rewind it. */
  async #copyAnew(name: DatabaseName): Promise<void> {
    process.stdout.write(`${name} does not start any more, and is copied anew.\n`);
    await this.patronictl(name, "reinit", "parbook", name, "--force");
  }

  /**
   * A session that was opened during a promotion does not know the server's timeline yet, and is closed in the middle of a
   * statement when the next one does. So that no check meets this, the next one is opened here.
   */
  async #meetPrimary(): Promise<boolean> {
    const client = await this.database.connect({}).catch(() => undefined);
    await client?.end();
    return client !== undefined;
  }

  /** Starts Patroni, which starts PostgreSQL, on a machine where it was killed. */
  startPatroni(name: DatabaseName): void {
    const directory = join(this.place, name);
    this.machine(name).start({
      command: ["/usr/bin/patroni", join(directory, "patroni.yml")],
      user: "postgres",
      directory,
      log: join(directory, "patroni.log"),
    });
  }

  startEtcd(name: DatabaseName): void {
    const directory = join(this.place, name);
    this.machine(name).start({
      command: ["/usr/bin/etcd", "--config-file", join(directory, "etcd.conf.yml")],
      user: "postgres",
      directory,
      log: join(directory, "etcd.log"),
      environment: { ETCD_UNSUPPORTED_ARCH: process.arch },
    });
  }

  /** As the operator's tool does it on the machine itself. */
  patronictl(name: DatabaseName, ...words: string[]): Promise<string> {
    const file = join(this.place, name, "patroni.yml");
    return this.machine(name).run("postgres", "/usr/bin/patronictl", "-c", file, ...words);
  }

  disk(name: DatabaseName): Disk {
    return must(this.#disks.get(name), "each database has a disk of its own");
  }

  // Parbook's nodes --------------------------------------------------------------------------------------------------

  startNode(name: NodeName): void {
    const directory = join(this.place, name);
    const { address } = this.machine(name);
    const child = this.machine(name).start({
      command: [process.execPath, PARBOOK, "start"],
      directory,
      log: join(directory, "parbook.log"),
      environment: {
        ...this.#settings,
        ...this.#urls("127.0.0.1", name === POOLED ? 6432 : 5000),
        PARBOOK_HOST: address,
        PARBOOK_DATA_DIR: join(directory, "data"),
      },
    });
    this.#nodes.set(name, child);
  }

  async stopNode(name: NodeName, signal: NodeJS.Signals): Promise<void> {
    const child = must(this.#nodes.get(name), "it runs");
    this.#nodes.delete(name);
    child.kill(signal);
    await until(`${name} has ended`, () => child.exitCode !== null || child.signalCode !== null, 60);
    assert(signal !== "SIGTERM" || child.exitCode === 0, `${name} stops with exit code 0, not ${child.exitCode}`);
  }

  async untilReady(name: NodeName, seconds = START_S): Promise<void> {
    await until(`${name} is ready`, async () => (await this.readiness(name)).status === 200, seconds);
  }

  /** What /readyz of a node says, and whether with Retry-After; status 0 where nobody answers. */
  async readiness(name: NodeName): Promise<{ status: number; body: string; saysWhen: boolean }> {
    try {
      const response = await fetch(`http://${this.machine(name).address}:8080/readyz`, {
        signal: AbortSignal.timeout(3_000),
      });
      return { status: response.status, body: await response.text(), saysWhen: response.headers.has("retry-after") };
    } catch {
      return { status: 0, body: "", saysWhen: false };
    }
  }

  // ------------------------------------------------------------------------------------------------------------------

  async #start(): Promise<void> {
    const user = readServerUser();
    for (const name of Object.keys(MACHINES)) {
      const directory = join(this.place, name);
      await mkdir(directory);
      await chown(directory, user.uid, user.gid);
    }
    for (const name of DATABASES) await this.#configureDatabase(name, user);
    for (const name of DATABASES) this.startEtcd(name);
    for (const name of DATABASES) this.startPatroni(name);
    await this.#untilRunning();
    await this.#startProxies();
    await this.#createDatabase();
    for (const name of NODES) {
      this.startNode(name);
      await this.untilReady(name);
    }
    const { exitCode, stderr } = await this.run("checkpoint", "--new-key", this.checkpoint.key);
    assert(exitCode === 0, `there is a key to sign checkpoints with: ${stderr}`);
  }

  async #configureDatabase(name: DatabaseName, user: User): Promise<void> {
    const directory = join(this.place, name);
    const data = join(directory, "disk");
    this.#disks.set(name, Disk.mount(data, user));
    for (const file of ["etcd.conf.yml", "patroni.yml"]) {
      const own = { name, number: MACHINES[name] };
      const text = await readRecipe(file, this.network.prefix, own, {
        "/var/lib/etcd/default": join(directory, "etcd"),
        "/var/lib/postgresql/15/parbook": join(data, "postgresql"),
        "/var/run/postgresql": directory,
        // The disk is small, so that it can be filled. A former primary that is rewound needs room for its successor's log too.
        "wal_keep_size: 1GB": "wal_keep_size: 128MB\n        max_wal_size: 128MB",
      });
      await writeFile(join(directory, file), text);
    }
  }

  async #startProxies(): Promise<void> {
    for (const name of [...NODES, "edge"] as const) {
      const directory = join(this.place, name);
      const { address } = this.machine(name);
      const database = await readRecipe("database.cfg", this.network.prefix, undefined, {});
      const nodes = NODES.map((node) => ({ name: node, address: this.machine(node).address }));
      const text = name === "edge" ? withLoadBalancer(database, address, nodes) : database;
      await writeFile(join(directory, "haproxy.cfg"), text);
      this.machine(name).start({
        command: ["/usr/sbin/haproxy", "-db", "-f", join(directory, "haproxy.cfg")],
        directory,
        log: join(directory, "haproxy.log"),
      });
    }
    await this.#startPooler();
  }

  async #startPooler(): Promise<void> {
    const directory = join(this.place, POOLED);
    const users = join(directory, "userlist.txt");
    const text = await readRecipe("pgbouncer.ini", this.network.prefix, undefined, {
      "/etc/pgbouncer/userlist.txt": users,
    });
    await writeFile(join(directory, "pgbouncer.ini"), text);
    await writeFile(users, `"parbook" "${PASSWORD}"\n`);
    this.machine(POOLED).start({
      command: ["/usr/sbin/pgbouncer", join(directory, "pgbouncer.ini")],
      user: "postgres",
      directory,
      log: join(directory, "pgbouncer.log"),
    });
  }

  async #createDatabase(): Promise<void> {
    const admin = new Database({
      connection: { ...this.#primary, database: "postgres", user: "postgres", password: PASSWORD },
      maxConnections: 1,
      onIdleError: () => undefined,
    });
    try {
      await until("the proxy knows the primary", () => areAllPrimary(admin), 60);
      await admin.rows(`create role parbook_owner login password '${PASSWORD}'`);
      await admin.rows(`create role parbook login password '${PASSWORD}'`);
      await admin.rows("create database parbook owner parbook_owner");
    } finally {
      await admin.close();
    }
    const { address } = this.machine("edge");
    const migrateUrl = `postgres://parbook_owner:${PASSWORD}@${address}:5000/parbook`;
    const settings = {
      ...this.#urls(address),
      PARBOOK_MIGRATE_URL: migrateUrl,
      PARBOOK_DATA_DIR: join(this.place, "operator"),
    };
    const { exitCode, stderr } = await parbook(settings, "migrate");
    assert(exitCode === 0, `the database is migrated: ${stderr}`);
  }

  #urls(host: string, port = 5000): Settings {
    return { PARBOOK_DATABASE_URL: `postgres://parbook:${PASSWORD}@${host}:${port}/parbook` };
  }

  get #primary(): { readonly host: string; readonly port: number } {
    return { host: this.machine("edge").address, port: 5000 };
  }
}
