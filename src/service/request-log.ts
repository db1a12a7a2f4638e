/**
 * A log line for each response, when it has left: for the operator's access log, and live on a developer's terminal.
 * Of what a caller sends only the path is in it, never a query, a header or a body. Connections that close before a
 * complete request are not in it, nor are the probes of load balancers that succeed. Of 429 only some are.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { CountsPerSecond } from "../web/limits/counts-per-second.ts";
import { LinesPerSecond } from "./lines-per-second.ts";

/** `record`: fields, for programs. `line`: a text, for people. */
export type RequestLogForm = "record" | "line";

export type RequestLog = (server: Pick<FastifyInstance, "addHook">) => void;

const PROBES: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);
const SHOWN_CHARACTERS = 100;
const TOO_MANY_REQUESTS = 429;

/** @returns Adds the hook to a server. Call before other hooks are added, to include the requests that they reject. */
export function createRequestLog(log: Logger, form: RequestLogForm, counts?: CountsPerSecond): RequestLog {
  const write = form === "record" ? writeRecord : writeLine;
  const rejections = new LinesPerSecond(log, counts);
  return (server) => {
    server.addHook("onRequest", (request, reply, done) => {
      const startedMs = performance.now();
      reply.raw.once("close", () => {
        const response = responseOf(request, reply, performance.now() - startedMs);
        if (response.status === 200 && PROBES.has(response.route)) return;
        // Of each client, and of strangers together: these cost a caller nothing.
        const lines = response.status === TOO_MANY_REQUESTS ? rejections.next(response.client ?? "") : log;
        if (lines !== undefined) write(lines, request, response);
      });
      done();
    });
  };
}

interface Response {
  /** The pattern of the path; "none" for an unknown one. */
  readonly route: string;
  /** 0: the caller disconnected first. */
  readonly status: number;
  readonly ms: number;
  /** Undefined without a valid token, and of the token endpoint if none was issued. */
  readonly client: string | undefined;
}

function responseOf(
  { is404, routeOptions, known, issuedTo }: FastifyRequest,
  { raw }: FastifyReply,
  ms: number,
): Response {
  return {
    route: is404 ? "none" : (routeOptions.url ?? "none"),
    status: raw.writableFinished ? raw.statusCode : 0,
    ms: Math.round(ms * 10) / 10,
    client: known?.clientId ?? issuedTo,
  };
}

function writeRecord(log: Logger, { method, id }: FastifyRequest, { route, status, ms, client }: Response): void {
  log.info({ method, route, status, ms, client, request_id: id }, "request");
}

function writeLine(log: Logger, { method, url }: FastifyRequest, { status, ms, client }: Response): void {
  const [path = ""] = url.split("?", 1);
  const shown = path.length > SHOWN_CHARACTERS ? `${path.slice(0, SHOWN_CHARACTERS)}...` : path;
  log.info([method, shown, status, `${ms} ms`, client].filter((part) => part !== undefined).join(" "));
}
