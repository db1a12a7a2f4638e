/** What `/readyz` of both nodes says throughout a round, as a load balancer sees it. */
import { assert } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import { type Cluster, NODES, type NodeName } from "./cluster.ts";

export interface Readiness {
  readonly blows: readonly string[];
  /** For how long the node did not say that it is ready: 503, or no response. */
  readonly notReadyMs: Readonly<Record<NodeName, number>>;
}

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

  /** After a round with these blows: both nodes are ready again. */
  async end(blows: readonly string[]): Promise<Readiness> {
    for (const name of NODES) await this.#cluster.untilReady(name, READY_AFTER_S);
    this.#isOver = true;
    await this.#running;
    return { blows, notReadyMs: this.#notReadyMs };
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

/** For how long each node was not ready, by blow, as a table of Markdown. */
export function readinessTableOf(readiness: readonly Readiness[]): string {
  if (readiness.length === 0) return "";
  const lines = ["", "| blow | rounds | not ready s, p50 / max |", "| --- | --- | --- |"];
  const nameOf = ({ blows }: Readiness): string => blows.join(", ");
  for (const name of new Set(readiness.map(nameOf))) {
    const own = readiness.filter((one) => nameOf(one) === name);
    const times = own.flatMap(({ notReadyMs }) => Object.values(notReadyMs)).sort((a, b) => a - b);
    const seconds = [times[Math.floor(times.length / 2)], times.at(-1)].map((ms = 0) => (ms / 1_000).toFixed(1));
    lines.push(`| ${name} | ${own.length} | ${seconds.join(" / ")} |`);
  }
  return [...lines, ""].join("\n");
}
