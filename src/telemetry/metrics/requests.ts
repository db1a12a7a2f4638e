/**
 * Requests of both servers, by the pattern of their route: what callers write into a path is not kept, and all that
 * they invent has one name. Who is sent away before there is a request (not HTTP, too slow) is not counted.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Counter, Histogram, type Registry } from "prom-client";
import type { Dropped } from "../../web/connections/connections.ts";
import type { Limited } from "../../web/limits/rate-limiter.ts";
import { gauge } from "./gauge.ts";

const SERVERS = ["api", "auth"] as const;
export type ServerName = (typeof SERVERS)[number];

const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "DELETE"]);

/** Why a caller was sent away with 503, by how he is told. */
const REASONS: readonly (readonly [said: RegExp, reason: string])[] = [
  [/shutting down/, "closing"],
  [/to be read/, "unread"],
  [/the clock of this node/, "clock"],
  [/database/, "database"],
  [/waiting|as many/, "full"],
  [/in time/, "late"],
];

const DROPPED: Readonly<Record<Dropped["reason"], string>> = {
  "too many connections": "too_many",
  "too many connections from one address": "too_many_of_address",
  "idle while others need connections": "idle",
  "too many requests at once on a connection": "flooded",
  "too many small pieces of bodies": "flooded",
};

export class RequestMetrics {
  readonly #seconds: Histogram<"server" | "route" | "method" | "status">;
  readonly #unavailable: Counter<"reason">;
  readonly #limited: Counter<"rate" | "caller">;
  readonly #problems: Counter<"problem">;
  readonly #cutOff: Counter<"why">;
  readonly #underWay: Record<ServerName, number> = { api: 0, auth: 0 };

  constructor(registry: Registry) {
    const registers = [registry];
    this.#seconds = new Histogram({
      name: "parbook_http_request_duration_seconds",
      help: "Requests answered, from their headers to the end of the answer; status 0: the caller was gone before. Many 5xx: look at parbook_database_up and the log.",
      labelNames: ["server", "route", "method", "status"],
      buckets: SECONDS,
      registers,
    });
    this.#unavailable = new Counter({
      name: "parbook_http_unavailable_total",
      help: "Requests answered with 503, by reason. full: more comes in than is done; unread: callers do not read their answers; database: it is away or slow; clock: it is wrong; late: 10 s were not enough.",
      labelNames: ["reason"],
      registers,
    });
    this.#limited = new Counter({
      name: "parbook_rate_limited_total",
      help: "Requests answered with 429, by the rate that they passed and whom they were counted for.",
      labelNames: ["rate", "caller"],
      registers,
    });
    this.#problems = new Counter({
      name: "parbook_http_problems_total",
      help: "Problems answered by the API, by kind. A status stands for itself; 500 is a bug, and the log has it.",
      labelNames: ["problem"],
      registers,
    });
    this.#cutOff = new Counter({
      name: "parbook_http_connections_cut_off_total",
      help: "Connections closed for what was done on them. slow_reader: an answer was read at less than 32 KiB a second. too_many, too_many_of_address: past a bound on connections. flooded: more than 16 requests at once on one, and what else its address had. bug: the log has it. A flood is counted every ten seconds.",
      labelNames: ["why"],
      registers,
    });
    gauge(
      registry,
      {
        name: "parbook_http_requests_under_way",
        help: "Requests that have come and are not answered yet, feeds among them. It grows when the database is slow.",
        labels: ["server"],
      },
      () => SERVERS.map((server) => [{ server }, this.#underWay[server]]),
    );
  }

  /** To be called before other hooks are added: what they refuse is counted as well. */
  watch(name: ServerName, server: Pick<FastifyInstance, "addHook">): void {
    server.addHook("onRequest", (request, reply, done) => {
      const startedMs = performance.now();
      this.#underWay[name] += 1;
      // The end of the connection's part in it, answered or not.
      reply.raw.once("close", () => {
        this.#underWay[name] -= 1;
        const status = reply.raw.writableFinished ? reply.raw.statusCode : 0;
        this.#seconds.observe({ server: name, ...namesOf(request), status }, (performance.now() - startedMs) / 1_000);
      });
      done();
    });
  }

  readonly problem = ({ kind, message }: { readonly kind: string | number; readonly message: string }): void => {
    this.#problems.inc({ problem: String(kind) });
    if (kind === 503) this.#unavailable.inc({ reason: REASONS.find(([said]) => said.test(message))?.[1] ?? "other" });
  };

  readonly dropped = ({ count, reason }: Dropped): void => this.#cutOff.inc({ why: DROPPED[reason] }, count);

  readonly connectionBug = (): void => this.#cutOff.inc({ why: "bug" });

  readonly slowReaders = (count: number): void => this.#cutOff.inc({ why: "slow_reader" }, count);

  readonly limited = (limited: Limited): void => this.#limited.inc({ ...limited });
}

function namesOf({ is404, method, routeOptions }: FastifyRequest): { route: string; method: string } {
  const route = is404 ? "none" : (routeOptions.url ?? "none");
  return { route, method: METHODS.has(method) ? method : "other" };
}
