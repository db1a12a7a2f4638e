/** Two nodes of the real program on one database; either is killed or paused at any moment, and comes back. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { must } from "../../../src/std/assert.ts";
import { pause } from "../../../src/std/pause.ts";
import { WEBHOOKS_LEASE } from "../../../src/webhooks/deliveries.ts";
import { type ServiceProcess, type Settings, startService } from "../../cli/parbook.ts";
import type { TestDatabase } from "../../support/database.ts";
import { freePort } from "../../support/free-port.ts";
import { urlOf } from "../../support/service.ts";

interface Node {
  readonly settings: Settings & { readonly PARBOOK_DATA_DIR: string };
  readonly baseUrl: string;
  readonly authUrl: string;
  running: ServiceProcess | undefined;
}

export class TwoNodes {
  readonly #db: TestDatabase;
  readonly #directory: string;
  readonly #nodes: readonly Node[];

  private constructor(db: TestDatabase, directory: string, nodes: readonly Node[]) {
    this.#db = db;
    this.#directory = directory;
    this.#nodes = nodes;
  }

  static async open(db: TestDatabase, bootstrap: object): Promise<TwoNodes> {
    const directory = await mkdtemp(join(tmpdir(), "parbook-webhooks-"));
    await writeFile(join(directory, "storm.json"), JSON.stringify(bootstrap));
    const nodes: Node[] = [];
    for (const name of ["one", "other"]) {
      const [port, authPort] = [await freePort(), await freePort()];
      const [first] = nodes;
      const [baseUrl, authUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${authPort}`];
      const settings = {
        PARBOOK_DATA_DIR: join(directory, name),
        PARBOOK_DATABASE_URL: urlOf(db),
        PARBOOK_MIGRATE_URL: urlOf(db, "owner"),
        PARBOOK_BOOTSTRAP: join(directory, "storm.json"),
        PARBOOK_PORT: String(port),
        PARBOOK_AUTH_PORT: String(authPort),
        // The same, so that a token is for both.
        PARBOOK_BASE_URL: first?.baseUrl ?? baseUrl,
        PARBOOK_AUTH_URL: first?.authUrl ?? authUrl,
        PARBOOK_SETTLEMENT_DELAY_MS: "300",
        PARBOOK_SANDBOX_MAKER: "off",
        PARBOOK_RATE_LIMITS: "off",
        PARBOOK_LOG_LEVEL: "warn",
      };
      nodes.push({ settings, baseUrl, authUrl, running: undefined });
    }
    const site = new TwoNodes(db, directory, nodes);
    for (const node of nodes) await site.#start(node);
    return site;
  }

  /** Which may be down or paused. */
  addressOf(place: number): { readonly baseUrl: string; readonly authUrl: string } {
    return must(this.#nodes[place % this.#nodes.length], "there are two nodes");
  }

  /** The place of the node that delivers; undefined while none does. */
  async delivering(): Promise<number | undefined> {
    const [row] = await this.#db.owner.rows<{ holder: string }>(
      "select holder from lease where name = $1 and expires_at > clock_timestamp()",
      [WEBHOOKS_LEASE],
    );
    const place = this.#nodes.findIndex(({ running }) => row?.holder.split("/").at(-2) === String(running?.ready.pid));
    return place === -1 ? undefined : place;
  }

  /** Kills it, and starts it again. The other one need not wait for its leases to end. */
  async kill(place: number): Promise<void> {
    const node = must(this.#nodes[place], "there is such a node");
    const running = must(node.running, "it runs");
    node.running = undefined;
    await running.end("SIGKILL");
    await this.#endLeases(running.ready.pid, "%");
    await this.#start(node);
  }

  /** Stops it for a while, in which the other one takes over what it delivered. It goes on not knowing that. */
  async pauseFor(place: number, ms: number): Promise<void> {
    const { pid } = must(this.#nodes[place]?.running, "it runs").ready;
    process.kill(pid, "SIGSTOP");
    try {
      await this.#endLeases(pid, WEBHOOKS_LEASE);
      await pause(ms);
    } finally {
      process.kill(pid, "SIGCONT");
    }
  }

  async #endLeases(pid: number, name: string): Promise<void> {
    await this.#db.owner.rows(
      "update lease set expires_at = clock_timestamp() - interval '1 second' where holder like '%/' || $1 || '/%' and name like $2",
      [String(pid), name],
    );
  }

  async #start(node: Node): Promise<void> {
    node.running = await startService(node.settings);
  }

  /** What the nodes have said. */
  output(): string {
    return this.#nodes.map(({ running }) => running?.output() ?? "").join("\n");
  }

  async close(): Promise<void> {
    for (const { running } of this.#nodes) await running?.end("SIGKILL");
    await rm(this.#directory, { recursive: true, force: true });
  }
}
