/** The spans of a service that was started with an SDK of OpenTelemetry loaded before it. */
import { once } from "node:events";
import { request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import { fastify } from "fastify";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Unavailable } from "../../src/ledger/decision.ts";
import { must } from "../../src/std/assert.ts";
import { Traces } from "../../src/telemetry/traces/traces.ts";
import { expectBooksBalance } from "../support/books.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const exporter = new InMemorySpanExporter();
const withoutSdk = Traces.find();
let service: TestService;
let customer: TestCustomer;
let from: string;
let to: string;
beforeAll(async () => {
  new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
  service = await startTestService({ sandboxMaker: false });
  customer = await service.customer();
  [from, to] = await Promise.all([service.profile(customer, { USD: "1000" }), service.profile(customer)]);
});
afterAll(() => service.close());

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
}

/** Sends a request that is part of a trace of the caller's own, and answers that trace's spans once there are so many. */
async function traced(
  count: number,
  path: string,
  { method = "GET", body }: Sent = {},
): Promise<readonly ReadableSpan[]> {
  const { traceId, headers } = newTrace();
  await service.call(method, path, { as: customer.token, headers, ...(body !== undefined && { body }) });
  return spansOf(traceId, count);
}

function newTrace() {
  const traceId = Array.from({ length: 32 }, () => Math.floor(Math.random() * 16).toString(16)).join("");
  return { traceId, headers: { traceparent: `00-${traceId}-${CALLER}-01`, "x-request-id": `trace-${traceId}` } };
}

async function spansOf(traceId: string, count: number): Promise<readonly ReadableSpan[]> {
  const found = () => exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
  await until(`there are ${count} spans`, async () => found().length >= count);
  return found();
}

const CALLER = "00f067aa0ba902b7";

const pay = (refId: string, amount = "1") => ({
  method: "POST",
  body: { from_profile_id: from, to_profile_id: to, amount, asset: "USD", ref_id: refId },
});

const named = (spans: readonly ReadableSpan[], name: string): ReadableSpan => {
  const span = spans.find((one) => one.name === name);
  if (span === undefined) throw new Error(`there is no ${name} among ${spans.map((one) => one.name).join(", ")}`);
  return span;
};

/** Of a span. */
const milliseconds = ([seconds, nanoseconds]: readonly [number, number]): number => seconds * 1_000 + nanoseconds / 1e6;

test("without an SDK there are no traces", () => {
  expect(withoutSdk).toBeUndefined();
});

test("a transfer is a span of the caller's trace, with its command in it, and the batch that made it durable", async () => {
  const spans = await traced(3, "/v2/transfer/platform", pay("one"));
  expect(spans).toHaveLength(3);
  const [request, command, batch] = ["POST /v2/transfer/platform", "lane.execute", "lane.batch"].map((name) =>
    named(spans, name),
  ) as [ReadableSpan, ReadableSpan, ReadableSpan];
  expect([request.kind, request.parentSpanContext?.spanId, request.status.code]).toEqual([
    SpanKind.SERVER,
    CALLER,
    SpanStatusCode.UNSET,
  ]);
  expect(request.attributes).toEqual({
    "http.request.method": "POST",
    "http.route": "/v2/transfer/platform",
    "http.response.status_code": 200,
    "parbook.request_id": `trace-${request.spanContext().traceId}`,
  });
  const where = { "parbook.slot": 1, "parbook.batch": expect.any(Number) };
  expect(command.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
  expect(command.attributes).toEqual({
    ...where,
    "parbook.command": "transfer",
    "parbook.outcome": "done",
    "parbook.waited_ms": expect.any(Number),
    "parbook.commit_ms": expect.any(Number),
  });
  expect(batch.attributes).toEqual({
    ...where,
    "parbook.batch": command.attributes["parbook.batch"],
    "parbook.commands": 1,
  });
  expect(batch.links.map(({ context }) => context.spanId)).toEqual([command.spanContext().spanId]);
  expect(command.links.map(({ context }) => context.spanId)).toEqual([batch.spanContext().spanId]);
  const { "parbook.waited_ms": waitedMs, "parbook.commit_ms": commitMs } = command.attributes;
  expect(milliseconds(batch.duration)).toBeCloseTo(Number(commitMs), 1);
  expect(Number(waitedMs) + Number(commitMs)).toBeLessThanOrEqual(milliseconds(command.duration));
});

test("a body that comes after the headers belongs to the same trace", async () => {
  const { traceId, headers } = newTrace();
  const late = request(`${service.baseUrl}/v2/transfer/platform`, {
    method: "POST",
    headers: { ...headers, authorization: `Bearer ${customer.token}`, "content-type": "application/json" },
  });
  late.flushHeaders();
  // Until the service reads the body: sooner, and it would be there already, which is the test before this one.
  await pause(150);
  late.end(JSON.stringify(pay("late").body));
  const [answer] = await once(late, "response");
  answer.resume();
  const spans = await spansOf(traceId, 3);
  const parent = named(spans, "lane.execute").parentSpanContext;
  expect([answer.statusCode, parent]).toEqual([200, named(spans, "POST /v2/transfer/platform").spanContext()]);
});

test("a rejection is named in its span, and is no error", async () => {
  const spans = await traced(3, "/v2/transfer/platform", pay("too much", "5000"));
  const command = named(spans, "lane.execute");
  expect([command.attributes["parbook.outcome"], command.status.code]).toEqual([
    "insufficient_funds",
    SpanStatusCode.UNSET,
  ]);
  expect(named(spans, "POST /v2/transfer/platform").attributes["http.response.status_code"]).toBe(403);
});

test("each of many requests at once is linked to the one batch that it was in", async () => {
  const many = await Promise.all(
    Array.from({ length: 20 }, (_, i) => traced(2, "/v2/transfer/platform", pay(`many-${i}`))),
  );
  const commands = many.map((spans) => named(spans, "lane.execute"));
  const links = exporter
    .getFinishedSpans()
    .filter(({ name }) => name === "lane.batch")
    .flatMap((batch) => batch.links.map(({ context }) => [context.spanId, batch.spanContext().spanId]));
  const batchOf = new Map(links as [string, string][]);
  expect(batchOf.size).toBe(links.length);
  expect(commands.map(({ links: [link] }) => link?.context.spanId)).toEqual(
    commands.map((command) => batchOf.get(command.spanContext().spanId)),
  );
  await expectBooksBalance(service.db.owner);
});

test("a round of an engine is a trace of its own, with the command that commits it", async () => {
  const body = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.001", price: "10000", ref_id: "order" };
  await traced(2, `/v2/profiles/${from}/orders`, { method: "POST", body });
  const rounds = () => exporter.getFinishedSpans().filter(({ name }) => name === "engine.round");
  await until("there is a round", async () => rounds().length > 0);
  const [round] = rounds();
  expect([round?.parentSpanContext, round?.attributes]).toEqual([undefined, { "parbook.market": "BTCUSD" }]);
  const inRound = exporter.getFinishedSpans().filter(({ parentSpanContext }) => {
    return parentSpanContext?.spanId === round?.spanContext().spanId;
  });
  expect(inRound.map(({ name, attributes }) => [name, attributes["parbook.outcome"]])).toEqual([
    ["lane.execute", "done"],
  ]);
});

test("requests that follow on one connection are traces of their own", async () => {
  const before = exporter.getFinishedSpans().length;
  for (let i = 0; i < 3; i += 1) await service.call("GET", "/v2/profiles", { as: customer.token });
  const lists = () =>
    exporter
      .getFinishedSpans()
      .slice(before)
      .filter(({ name }) => name === "GET /v2/profiles");
  await until("there are three", async () => lists().length === 3);
  expect(lists().map(({ parentSpanContext }) => parentSpanContext)).toEqual([undefined, undefined, undefined]);
  expect(new Set(lists().map((span) => span.spanContext().traceId)).size).toBe(3);
});

test("what fails, or whose caller disconnects, is an error of its span, without what was thrown", async () => {
  const traces = must(Traces.find(), "an SDK is loaded");
  const before = exporter.getFinishedSpans().length;
  const server = fastify();
  traces.watch(server);
  server.get("/broken", async () => Promise.reject(new RangeError("hunter2")));
  let asked = false;
  server.get("/held", () => {
    asked = true;
    return new Promise(() => undefined);
  });
  onTestFinished(() => server.close());
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  await fetch(`${url}/broken`);
  const leaving = new AbortController();
  const left = fetch(`${url}/held`, { signal: leaving.signal }).catch(() => undefined);
  await until("it is asked", () => asked);
  leaving.abort();
  await left;
  const failed = new RangeError("hunter2");
  for (const error of [failed, new Unavailable("the database cannot be reached")])
    traces.lane.onExecute({} as never, Promise.reject(error));
  const inFlight = { market: "BTCUSD", startedMs: performance.now() - 5_000 };
  const round = traces.aroundRound(inFlight, () => Promise.reject(failed));
  await expect(round).rejects.toBe(failed);
  const names = ["GET /broken", "GET /held", "lane.execute", "engine.round"];
  const found = () =>
    exporter
      .getFinishedSpans()
      .slice(before)
      .filter(({ name }) => names.includes(name));
  await until("all have ended", () => found().length === 5);
  const told = found().map(({ name, status, attributes }) => [name, status, attributes["http.response.status_code"]]);
  // It began when the engine looked for work.
  expect(Math.round(milliseconds(named(found(), "engine.round").duration) / 5_000)).toBe(1);
  const code = SpanStatusCode.ERROR;
  expect(told).toHaveLength(5);
  expect(told).toEqual(
    expect.arrayContaining([
      ["GET /broken", { code }, 500],
      ["GET /held", { code, message: "the caller disconnected" }, undefined],
      ["lane.execute", { code, message: "RangeError" }, undefined],
      ["lane.execute", { code, message: "the database cannot be reached" }, undefined],
      ["engine.round", { code, message: "RangeError" }, undefined],
    ]),
  );
});

test("no span contains text from callers or identifies them", async () => {
  const [unknown] = await traced(1, `/v2/nothing/${from}`);
  const [invented] = await traced(1, `/v2/transfer/transfers/${from}`, { method: "PATCH" });
  expect([unknown?.name, invented?.name]).toEqual(["GET", "HTTP"]);
  const received = JSON.stringify(
    exporter.getFinishedSpans().map(({ name, attributes, status, events }) => [name, attributes, status, events]),
  );
  expect(received).toContain("POST /oauth2/token");
  for (const secret of [customer.id, customer.clientId, customer.secret, customer.token, from, to, "127.0.0.1"]) {
    expect(received).not.toContain(secret);
  }
});
