/**
 * Request metrics of both servers, by route pattern; unknown routes and methods share one label value each. Connections
 * closed before a complete request are not counted.
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

/** The reason for a 503, derived from its text. */
const REASONS: readonly (readonly [text: RegExp, reason: string])[] = [
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
  "too many new connections from one address": "too_many_new",
  "idle while others need connections": "idle",
  "too many requests at once on a connection": "flooded",
  "too many small pieces of requests": "flooded",
  "too many bytes beside requests": "flooded",
  "an endless TLS handshake": "flooded",
  "too many messages to a feed": "flooded",
};

export class RequestMetrics {
  readonly #seconds: Histogram<"server" | "route" | "method" | "status">;
  readonly #unavailable: Counter<"reason">;
  readonly #limited: Counter<"rate" | "caller">;
  readonly #problems: Counter<"problem">;
  readonly #cutOff: Counter<"why">;
  readonly #inFlight: Record<ServerName, number> = { api: 0, auth: 0 };

  constructor(registry: Registry) {
    const registers = [registry];
    this.#seconds = new Histogram({
      name: "parbook_http_request_duration_seconds",
      help: "Request duration, from the headers to the end of the response; status 0: the caller disconnected first. Many 5xx: see parbook_database_up and the log.",
      labelNames: ["server", "route", "method", "status"],
      buckets: SECONDS,
      registers,
    });
    this.#unavailable = new Counter({
      name: "parbook_http_unavailable_total",
      help: "Responses with 503, by reason. full: overload; unread: callers do not read their responses; database: unreachable or slow; clock: wrong; late: not done within 10 s.",
      labelNames: ["reason"],
      registers,
    });
    this.#limited = new Counter({
      name: "parbook_rate_limited_total",
      help: "Responses with 429, by the rate limit exceeded and the kind of caller it is counted for.",
      labelNames: ["rate", "caller"],
      registers,
    });
    this.#problems = new Counter({
      name: "parbook_http_problems_total",
      help: "Problem responses of the API, by problem type or status. 500 is a bug: see the log.",
      labelNames: ["problem"],
      registers,
    });
    this.#cutOff = new Counter({
      name: "parbook_http_connections_cut_off_total",
      help: "Connections closed by the service. slow_reader: read a response at less than 32 KiB/s. too_many, too_many_of_address: over a connection limit. too_many_new: would have waited over 5 s for its turn among the new connections of its address. flooded: more than 16 requests at once, too many small pieces or bytes beside requests, TLS messages without data, or messages to a feed, including the other connections of that address. bug: see the log. Floods are counted every ten seconds.",
      labelNames: ["why"],
      registers,
    });
    gauge(
      registry,
      {
        name: "parbook_http_requests_in_flight",
        help: "Requests in flight, including open feeds. It grows when the database is slow.",
        labels: ["server"],
      },
      () => SERVERS.map((server) => [{ server }, this.#inFlight[server]]),
    );
  }

  /** Call before other hooks are added, to include the requests that they reject. */
  watch(name: ServerName, server: Pick<FastifyInstance, "addHook">): void {
    server.addHook("onRequest", (request, reply, done) => {
      const startedMs = performance.now();
      this.#inFlight[name] += 1;
      reply.raw.once("close", () => {
        this.#inFlight[name] -= 1;
        const status = reply.raw.writableFinished ? reply.raw.statusCode : 0;
        this.#seconds.observe({ server: name, ...namesOf(request), status }, (performance.now() - startedMs) / 1_000);
      });
      done();
    });
  }

  readonly problem = ({ kind, message }: { readonly kind: string | number; readonly message: string }): void => {
    this.#problems.inc({ problem: String(kind) });
    if (kind === 503) this.#unavailable.inc({ reason: REASONS.find(([text]) => text.test(message))?.[1] ?? "other" });
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
