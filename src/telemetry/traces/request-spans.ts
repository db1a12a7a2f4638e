import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { FastifyInstance, FastifyRequest } from "fastify";

export type Hooked = Pick<FastifyInstance, "addHook">;

/**
 * A span from a request's headers to the end of its response, by OpenTelemetry's semantic conventions for HTTP. It
 * continues the caller's `traceparent` when a propagator is loaded.
 */
export function traceRequests(server: Hooked, tracer: Tracer): void {
  server.addHook("onRequest", (request, reply, done) => {
    const { name, attributes } = descriptionOf(request);
    const parent = parentOf(request);
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    reply.raw.once("close", () => {
      const status = reply.raw.writableFinished ? reply.raw.statusCode : undefined;
      if (status === undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: "the caller disconnected" });
      else span.setAttribute("http.response.status_code", status);
      if (status !== undefined && status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    context.with(trace.setSpan(parent, span), done);
  });
}

/** An http instrumentation loaded by the operator has already extracted the parent. */
function parentOf({ headers }: FastifyRequest): Context {
  const active = context.active();
  return trace.getSpan(active) === undefined ? propagation.extract(ROOT_CONTEXT, headers) : active;
}

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "DELETE"]);

function descriptionOf({ id, is404, method: sent, routeOptions }: FastifyRequest) {
  // _OTHER: the semantic conventions' value for an unknown method.
  const method = METHODS.has(sent) ? sent : "_OTHER";
  const route = is404 ? undefined : routeOptions.url;
  const name = [method === "_OTHER" ? "HTTP" : method, ...(route === undefined ? [] : [route])].join(" ");
  const attributes = {
    "http.request.method": method,
    ...(route !== undefined && { "http.route": route }),
    "parbook.request_id": id,
  };
  return { name, attributes };
}
