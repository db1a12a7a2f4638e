import type { FastifyReply, FastifyRequest } from "fastify";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { ask, startToyApi, type ToyApi } from "../../test/support/http/toy-api.ts";
import { toyAuthServer } from "../../test/support/http/toy-auth-server.ts";
import { until } from "../../test/support/until.ts";
import type { Api } from "../api/api.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { done, reject } from "../std/result.ts";
import { CountsPerSecond } from "../web/limits/counts-per-second.ts";
import { createRequestLog, type RequestLogForm } from "./request-log.ts";

async function toyWith(
  form: RequestLogForm,
  add: (api: Api) => void = () => undefined,
  now?: () => number,
): Promise<{ toy: ToyApi; lines: Record<string, unknown>[] }> {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) });
  const toy = await startToyApi(add, { observe: createRequestLog(log, form, new CountsPerSecond(now)) });
  onTestFinished(() => toy.close());
  return { toy, lines };
}

test("the access log has route, status, time, client and request id of each response, and nothing that was sent", async () => {
  const { toy, lines } = await toyWith("record");
  await ask(toy, "/v2/toys?secret=hunter2");
  await ask(toy, "/v2/nothing/hunter2");
  await ask(toy, "/v2/toys", { token: "hunter2" });
  await until("three are logged", () => lines.length === 3);
  const common = { level: 30, msg: "request", method: "GET", ms: expect.any(Number), request_id: "r-1" };
  expect(lines).toEqual([
    { ...common, route: "/v2/toys", status: expect.any(Number), client: "acme" },
    { ...common, route: "none", status: 404 },
    { ...common, route: "/v2/toys", status: 401 },
  ]);
  expect(JSON.stringify(lines)).not.toContain("hunter2");
});

test("of a token request the client is whom the token was issued to", async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) });
  const known = { clientId: "acme", customerId: "0190d5a4-0000-7000-8000-000000000002" as CustomerId, scopes: ["*"] };
  const server = toyAuthServer({
    clients: {
      authenticate: async (_, secret) => (secret === "right" ? done(known) : reject("client_authentication_failed")),
    },
    tokens: { issue: async () => ({ accessToken: "a.b.c", tokenId: "t" }) },
    log,
    observe: createRequestLog(log, "record"),
  });
  const url = `${await server.listen({ host: "127.0.0.1", port: 0 })}/oauth2/token`;
  const ask = (secret: string) => {
    const form = { grant_type: "client_credentials", client_id: "acme", client_secret: secret };
    return fetch(url, { method: "POST", body: new URLSearchParams(form), headers: { "x-request-id": secret } });
  };
  for (const secret of ["right", "wrong"]) await (await ask(secret)).text();
  await until("both requests are logged, and the rejection", () => lines.length === 3);
  const request = { level: 30, msg: "request", method: "POST", route: "/oauth2/token", ms: expect.any(Number) };
  const reason = "client authentication failed";
  expect(lines).toEqual([
    { ...request, status: 200, client: "acme", request_id: "right" },
    {
      ...{ level: 30, msg: "token request rejected", request_id: "wrong", address: "127.0.0.1" },
      ...{ client_id: "acme", rejection: "invalid_client", reason },
    },
    { ...request, status: 401, request_id: "wrong" },
  ]);
});

test("the time of a response is in milliseconds, with a tenth at most", async () => {
  const { toy, lines } = await toyWith("record");
  const startedMs = performance.now();
  await ask(toy, "/v2/toys");
  await until("it is logged", () => lines.length === 1);
  const ms = Number(lines[0]?.ms);
  expect([ms >= 0, ms <= performance.now() - startedMs, Number((ms * 10).toFixed(6)) % 1]).toEqual([true, true, 0]);
});

test("on a terminal a request is one line, without its query", async () => {
  const { toy, lines } = await toyWith("line");
  await ask(toy, `/v2/toys/${"a".repeat(200)}?secret=hunter2`, { token: null });
  await until("it is logged", () => lines.length === 1);
  expect(lines[0]?.msg).toMatch(/^GET \/v2\/toys\/a{91}\.\.\. \d{3} [\d.]+ ms$/);
  await ask(toy, `/v2/toys/${"a".repeat(91)}`, { token: null });
  await until("the longest that is shown in full is logged", () => lines.length === 2);
  expect(lines[1]?.msg).toMatch(/^GET \/v2\/toys\/a{91} \d{3} /);
});

test("of a flood of 429 each caller has some lines, which say how many were left out; all else is logged", async () => {
  let now = 0;
  const add = (api: Api) => {
    const answer = (request: FastifyRequest, reply: FastifyReply) =>
      reply.code(Number(request.headers["x-status"])).send({});
    api.get("/full", { config: { scope: "public" }, schema: { hide: true } }, async (...both) => answer(...both));
    api.get("/mine", { config: { scope: "transfer:read_transfer" }, schema: { hide: true } }, async (...both) =>
      answer(...both),
    );
  };
  const { toy, lines } = await toyWith("record", add, () => now);
  const askFor = (status: number, path = "/full", token: string | null = null) =>
    ask(toy, path, { token, headers: { "x-status": String(status) } });
  for (let i = 0; i < 30; i++) await askFor(429);
  for (let i = 0; i < 12; i++) await askFor(404);
  await askFor(429, "/mine", "good");
  await until("all but the flood are logged", () => lines.length === 23);
  now = 1_000;
  await askFor(429);
  await until("that of the next second is logged", () => lines.length === 24);
  expect(lines.map(({ status, client, left_out }) => [status, client, left_out])).toEqual([
    ...Array<unknown>(10).fill([429, undefined, undefined]),
    ...Array<unknown>(12).fill([404, undefined, undefined]),
    [429, "acme", 20],
    [429, undefined, undefined],
  ]);
});

test("a probe is logged if it fails, and a caller that did not wait for its response has the status 0", async () => {
  let status = 200;
  let end: (() => void) | undefined;
  const { toy, lines } = await toyWith("record", (api) => {
    const open = { config: { scope: "public" }, schema: { hide: true } } as const;
    api.get("/readyz", open, async (_, reply) => reply.code(status).send({}));
    api.get("/never", open, async () => {
      await new Promise<void>((resolve) => (end = resolve));
    });
  });
  await ask(toy, "/readyz");
  status = 503;
  await ask(toy, "/readyz");
  const leaving = new AbortController();
  const left = fetch(`${toy.url}/never`, { signal: leaving.signal }).catch(() => undefined);
  await until("it is asked", () => end !== undefined);
  leaving.abort();
  await left;
  await until("both are logged", () => lines.length === 2);
  end?.();
  expect(lines).toMatchObject([
    { route: "/readyz", status: 503 },
    { route: "/never", status: 0 },
  ]);
});
