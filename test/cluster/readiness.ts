/** What `/readyz` of both nodes says throughout a round, as a load balancer sees it. */
import { assert } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import { type Cluster, NODES, type NodeName } from "./cluster.ts";

/** For how long each node did not say that it is ready: 503, or no response. */
export type NotReadyMs = Readonly<Record<NodeName, number>>;

const EVERY_MS = 200;
/** A node is asked for a database that has just come back, and has to connect to it. On a busy machine. */
const READY_AFTER_S = 30;

export class ReadinessWatch {
  readonly #cluster: Cluster;
  readonly #notReadyMs: Record<NodeName, number> = { app1: 0, app2: 0 };
  readonly #running: Promise<unknown>;
  #isOver = false;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#running = Promise.all(NODES.map((name) => this.#follow(name)));
    // It is awaited at the end.
    this.#running.catch(() => undefined);
  }

  /** After a round: both nodes are ready again. */
  async untilReady(): Promise<NotReadyMs> {
    for (const name of NODES) await this.#cluster.untilReady(name, READY_AFTER_S);
    this.stop();
    await this.#running;
    return this.#notReadyMs;
  }

  stop(): void {
    this.#isOver = true;
  }

  async #follow(name: NodeName): Promise<void> {
    while (!this.#isOver) {
      const since = performance.now();
      const { status, saysWhen, body } = await this.#cluster.readiness(name);
      assert([200, 503, 0].includes(status), `/readyz of ${name} is 200 or 503, not ${status} ${body}`);
      assert(status !== 503 || saysWhen, `/readyz of ${name} says when to ask again: ${body}`);
      await pause(EVERY_MS);
      if (status !== 200) this.#notReadyMs[name] += performance.now() - since;
    }
  }
}
