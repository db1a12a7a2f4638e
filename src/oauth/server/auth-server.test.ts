/** What the server on auth_url does around the token endpoint. */

import { connect } from "node:net";
import pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import type { Clients } from "../../customers/clients/clients.ts";
import { DatabaseAway } from "../../postgres/database.ts";
import { IdSource } from "../../std/id.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { reject } from "../../std/result.ts";
import { RateLimiter } from "../../web/limits/rate-limiter.ts";
import { DEFAULT_RATES } from "../../web/limits/rates.ts";
import { SCOPES } from "../scopes.ts";
import { type AuthServerOptions, createAuthServer } from "./auth-server.ts";

const authenticate = vi.fn<Clients["authenticate"]>(async () => reject("client_authentication_failed"));
const PUBLIC_KEY = { kty: "EC", crv: "P-256", kid: "k", x: "x", y: "y", alg: "ES256", use: "sig" };
const logged: string[] = [];
const outcomes: string[] = [];
let authUrl = "";

let databaseHolds = async (): Promise<boolean> => true;

const server = createAuthServer({
  authUrl: () => authUrl,
  readiness: { database: () => databaseHolds(), migrations: async () => true },
  keys: { published: () => [PUBLIC_KEY] },
  clients: { authenticate },
  tokens: { issue: () => Promise.reject(new Error("nobody is issued a token here")) },
  ids: new IdSource(),
  log: pino({ level: "trace" }, { write: (line: string) => void logged.push(line) }),
  onTokenRequest: (outcome) => outcomes.push(outcome),
});

beforeAll(async () => {
  authUrl = await server.listen({ host: "127.0.0.1", port: 0 });
});

afterAll(() => server.close());

const FORM = new URLSearchParams({
  grant_type: "client_credentials",
  client_id: "acme",
  client_secret: "correct horse",
});

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

async function send(path: string, request: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${authUrl}${path}`, request);
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !NOT_OURS.has(name)));
  const text = await response.text();
  return { status: response.status, headers, body: text === "" ? undefined : JSON.parse(text) };
}

const NOT_OURS = new Set(["date", "connection", "keep-alive", "content-length"]);
const HEADERS = {
  "x-content-type-options": "nosniff",
  "content-type": "application/json; charset=utf-8",
  "x-request-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
};
const NOT_STORED = { ...HEADERS, "cache-control": "no-store", pragma: "no-cache" };

test.each(["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])("%s is not a method of the token endpoint", async (method) => {
  expect(await send("/oauth2/token?a=b", { method })).toEqual({
    status: 405,
    headers: { ...NOT_STORED, allow: "POST" },
    body: { error: "invalid_request", error_description: "this path allows POST" },
  });
});

test("the documents can only be read", async () => {
  expect(await send("/.well-known/jwks.json", { method: "POST", body: FORM })).toEqual({
    status: 405,
    headers: { ...NOT_STORED, allow: "GET, HEAD" },
    body: { error: "invalid_request", error_description: "this path allows GET, HEAD" },
  });
  expect((await send("/.well-known/jwks.json", { method: "HEAD" })).status).toBe(200);
});

test.each(["/oauth2/tokens", "/", "/oauth2/token/", "/oauth2/%74oken"])("there is nothing at %s", async (path) => {
  expect(await send(path, { method: "POST", body: FORM })).toEqual({
    status: 404,
    headers: NOT_STORED,
    body: { error: "invalid_request", error_description: "no such path" },
  });
});

test("a URL that cannot be decoded is rejected like any other request", async () => {
  expect(await send("/%zz")).toEqual({
    status: 400,
    headers: NOT_STORED,
    body: { error: "invalid_request", error_description: "the request cannot be read" },
  });
});

function sendBytes(...lines: string[]): Promise<string> {
  const { port, hostname } = new URL(authUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end(lines.join("\r\n")));
    let answered = "";
    socket.setEncoding("utf8").on("data", (text) => {
      answered += text;
    });
    socket.on("close", () => resolve(answered)).on("error", reject);
  });
}

const TOKEN_REQUEST = [
  "POST /oauth2/token HTTP/1.1",
  "Host: auth.example",
  "X-Request-Id: r-1",
  "Content-Type: application/x-www-form-urlencoded",
  "Content-Length: 68",
  "Connection: close",
];
const BODY = "grant_type=client_credentials&client_id=acme&client_secret=something";

/** Status, headers and body as they came, the date apart. */
function parsed(answered: string): Answer {
  const [head = "", body = ""] = answered.split("\r\n\r\n");
  const [line = "", ...fields] = head.split("\r\n");
  const headers = fields
    .map((field) => field.split(": "))
    .map(([name = "", value = ""]) => [name.toLowerCase(), value]);
  const ours = Object.fromEntries(headers.filter(([name]) => !NOT_OURS.has(name as string)));
  return { status: Number(line.split(" ")[1]), headers: ours, body: JSON.parse(body) };
}

const ofRequest = { ...NOT_STORED, "x-request-id": "r-1" };

test.each([
  ["authorization", "Authorization: Basic YWNtZTpnb29k", "authorization: Basic YWNtZTpiYWQ="],
  ["content-type", "content-type: text/plain"],
  ["host", "host: other.example"],
])("the header %s twice is rejected, and no client is looked up", async (name, ...more) => {
  authenticate.mockClear();
  expect(parsed(await sendBytes(...TOKEN_REQUEST, ...more, "", BODY))).toEqual({
    status: 400,
    headers: ofRequest,
    body: { error: "invalid_request", error_description: `the header ${name} occurs more than once` },
  });
  expect(authenticate).not.toHaveBeenCalled();
});

test("a form with a content coding is rejected, and one with identity is read", async () => {
  authenticate.mockClear();
  expect(parsed(await sendBytes(...TOKEN_REQUEST, "Content-Encoding: gzip", "", BODY))).toEqual({
    status: 400,
    headers: ofRequest,
    body: { error: "invalid_request", error_description: "the body has a Content-Encoding: send a form without one" },
  });
  expect(authenticate).not.toHaveBeenCalled();
  expect(parsed(await sendBytes(...TOKEN_REQUEST, "Content-Encoding: identity", "", BODY)).status).toBe(401);
});

test("an unknown expectation is ignored, and the request is answered", async () => {
  const usual = parsed(await sendBytes(...TOKEN_REQUEST, "", BODY));
  expect(usual.headers).toEqual(ofRequest);
  expect(parsed(await sendBytes(...TOKEN_REQUEST, "Expect: miracles", "", BODY))).toEqual(usual);
});

test.each([
  ["bytes that are not HTTP", 400, "the request is not HTTP", ["NONSENSE"]],
  [
    "headers that are too long",
    431,
    "the headers are too many, or too long together with the request line",
    ["GET / HTTP/1.1", `A: ${"a".repeat(17_000)}`],
  ],
])(
  "%s are answered in the form of the token endpoint, and affect no other caller",
  async (_, status, description, lines) => {
    expect(parsed(await sendBytes(...lines, "", ""))).toEqual({
      status,
      headers: NOT_STORED,
      body: { error: "invalid_request", error_description: description },
    });
    expect((await send("/oauth2/token", { method: "POST", body: FORM })).status).toBe(401);
  },
);

test("the caller's request id is returned if it may be logged, else a new one", async () => {
  const ids: (string | undefined)[] = [];
  for (const id of ["order-17.a_b", "a b", "a".repeat(65)]) {
    ids.push((await send("/oauth2/token", { headers: { "x-request-id": id } })).headers["x-request-id"]);
  }
  expect(ids).toEqual(["order-17.a_b", HEADERS["x-request-id"], HEADERS["x-request-id"]]);
});

test("while the database is away the endpoint sends Retry-After", async () => {
  authenticate.mockRejectedValueOnce(new DatabaseAway("the database cannot be reached"));
  expect(await send("/oauth2/token", { method: "POST", body: FORM })).toEqual({
    status: 503,
    headers: { ...NOT_STORED, "retry-after": "1" },
    body: { error: "temporarily_unavailable", error_description: "the database cannot be reached" },
  });
});

test.each([
  ["statement", "57014"],
  ["wait for a lock", "55P03"],
])("a %s that the database broke off for taking long is no bug", async (_, code) => {
  const broken = new pg.DatabaseError("canceling statement due to a timeout", 0, "error");
  authenticate.mockRejectedValueOnce(Object.assign(broken, { code }));
  expect(await send("/oauth2/token", { method: "POST", body: FORM })).toEqual({
    status: 503,
    headers: { ...NOT_STORED, "retry-after": "1" },
    body: { error: "temporarily_unavailable", error_description: "the database took too long" },
  });
});

test("a flood of token requests is processed in shares, and the rest is rejected before its body is read", async () => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let inHand = 0;
  authenticate.mockImplementation(async () => {
    inHand += 1;
    await finished;
    return reject("client_authentication_failed");
  });
  try {
    const answers: Answer[] = [];
    const flood = Array.from({ length: 300 }, () =>
      send("/oauth2/token", { method: "POST", body: FORM }).then((answer) => answers.push(answer)),
    );
    await until("some are rejected", () => answers.length > 0);
    expect(inHand).toBe(32);
    expect(answers[0]).toEqual({
      status: 503,
      headers: { ...NOT_STORED, "retry-after": "1" },
      body: {
        error: "temporarily_unavailable",
        error_description: "the service is at capacity: too many requests are waiting",
      },
    });
    expect((await send("/healthz")).status).toBe(200);
    finish();
    await Promise.all(flood);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 503]));
    expect((await send("/oauth2/token", { method: "POST", body: FORM })).status).toBe(401);
  } finally {
    finish();
    authenticate.mockImplementation(async () => reject("client_authentication_failed"));
  }
});

test("a bug is a server error that reveals only the request id", async () => {
  authenticate.mockRejectedValueOnce(new TypeError("x of undefined"));
  const answer = await send("/oauth2/token", { method: "POST", body: FORM });
  expect(answer).toEqual({
    status: 500,
    headers: NOT_STORED,
    body: { error: "server_error", error_description: "internal error: quote the X-Request-Id when you report it" },
  });
  const lines = logged.filter((line) => line.includes(answer.headers["x-request-id"] ?? "no id"));
  expect(lines.join()).toContain("x of undefined");
  expect(lines.join()).not.toContain("correct horse");
});

test("the outcome of every token request is reported once", async () => {
  const endings = [
    () => send("/oauth2/token", { method: "POST", body: FORM }),
    () => send("/oauth2/token", { method: "POST", body: "x".repeat(17_000) }),
    () => {
      authenticate.mockRejectedValueOnce(new DatabaseAway("away"));
      return send("/oauth2/token", { method: "POST", body: FORM });
    },
    () => {
      authenticate.mockRejectedValueOnce(new TypeError("x of undefined"));
      return send("/oauth2/token", { method: "POST", body: FORM });
    },
  ];
  outcomes.length = 0;
  for (const end of endings) await end();
  await send("/readyz%zz");
  expect(outcomes).toEqual(["invalid_client", "invalid_request", "temporarily_unavailable", "server_error"]);
});

test("the server describes itself", async () => {
  const described = {
    issuer: authUrl,
    token_endpoint: `${authUrl}/oauth2/token`,
    jwks_uri: `${authUrl}/.well-known/jwks.json`,
    scopes_supported: Object.keys(SCOPES),
    response_types_supported: [],
    grant_types_supported: ["client_credentials"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
  };
  expect(await send("/.well-known/oauth-authorization-server")).toEqual({
    status: 200,
    headers: HEADERS,
    body: described,
  });
  expect(await send("/.well-known/openid-configuration")).toEqual({
    status: 200,
    headers: HEADERS,
    body: { ...described, subject_types_supported: ["public"], id_token_signing_alg_values_supported: ["ES256"] },
  });
});

test("the key set may be kept for as long as a new key does not sign yet", async () => {
  expect(await send("/.well-known/jwks.json")).toEqual({
    status: 200,
    headers: { ...HEADERS, "cache-control": "public, max-age=10" },
    body: { keys: [PUBLIC_KEY] },
  });
});

test("it reports that it is alive, and whether it is ready", async () => {
  const received = (status: string) => ({ status: 200, headers: NOT_STORED, body: { status } });
  expect(await send("/healthz")).toEqual(received("alive"));
  expect(await send("/readyz")).toEqual(received("ready"));
  databaseHolds = () => Promise.reject(new Error("away"));
  expect(await send("/readyz")).toEqual({
    status: 503,
    headers: { ...NOT_STORED, "retry-after": "1" },
    body: { error: "temporarily_unavailable", error_description: "not ready: database" },
  });
  expect(await send("/healthz")).toEqual(received("alive"));
  databaseHolds = async () => true;
  expect((await send("/readyz", { method: "POST", body: FORM })).headers).toMatchObject({ allow: "GET, HEAD" });
});

/** Options of a server whose token limit is soon reached, and that issues no token. */
const fewTokens = (): AuthServerOptions => ({
  authUrl: () => "http://auth.test",
  keys: { published: () => [PUBLIC_KEY] },
  clients: { authenticate },
  tokens: { issue: () => Promise.reject(new Error("nobody is issued a token here")) },
  ids: new IdSource(),
  log: pino({ level: "silent" }),
  limiter: new RateLimiter({ ...DEFAULT_RATES, token: 0.01 }, { now: () => 0 }),
});

test("behind a trusted proxy each caller has limits of its own, by the address that the proxy has seen", async () => {
  const rejected: (string | undefined)[] = [];
  const limited = createAuthServer({
    ...fewTokens(),
    onDenied: ({ address }) => rejected.push(address),
    trustedProxies: [parseNetwork("127.0.0.0/8") as Network],
  });
  const url = await limited.listen({ host: "127.0.0.1", port: 0 });
  authenticate.mockClear();
  try {
    const statusFor = async (forwarded: string): Promise<number> =>
      (await fetch(`${url}/oauth2/token`, { method: "POST", body: FORM, headers: { "x-forwarded-for": forwarded } }))
        .status;
    const loud: number[] = [];
    for (let i = 0; i < 4; i += 1) loud.push(await statusFor("203.0.113.9"));
    expect(loud).toEqual([401, 401, 401, 429]);
    // What is left of the proxy's own entry was written by the caller.
    expect(await statusFor("198.51.100.1, 203.0.113.9")).toBe(429);
    expect(await statusFor("203.0.113.9:4711")).toBe(429);
    expect(await statusFor("203.0.113.10")).toBe(401);
    // What is not an address is recorded as the proxy's own.
    expect(await statusFor("<script>")).toBe(401);
    const addresses = ["203.0.113.9", "203.0.113.9", "203.0.113.9", "203.0.113.10", "127.0.0.1"];
    expect([authenticate.mock.calls.map(([, , address]) => address), rejected]).toEqual([addresses, addresses]);
  } finally {
    await limited.close();
  }
});

test("an address over its rate is rejected in the form of the token endpoint, before the body is read", async () => {
  const limited = createAuthServer(fewTokens());
  const url = await limited.listen({ host: "127.0.0.1", port: 0 });
  authenticate.mockClear();
  try {
    const ask = () => fetch(`${url}/oauth2/token`, { method: "POST", body: FORM });
    const left = { "ratelimit-limit": "3", "ratelimit-reset": "100", "ratelimit-remaining": "2" };
    expect(Object.fromEntries((await ask()).headers)).toMatchObject(left);
    expect([(await ask()).status, (await ask()).status]).toEqual([401, 401]);
    const rejected = await ask();
    expect(rejected.status).toBe(429);
    expect(Object.fromEntries(rejected.headers)).toMatchObject({
      "retry-after": "100",
      "cache-control": "no-store",
      "ratelimit-remaining": "0",
    });
    expect(await rejected.json()).toEqual({
      error: "temporarily_unavailable",
      error_description: "too many requests from this address: try again in 100 s",
    });
    expect(authenticate).toHaveBeenCalledTimes(3);
    // The keys have another rate: a caller that requested too many tokens can still verify those that exist.
    expect((await fetch(`${url}/.well-known/jwks.json`)).status).toBe(200);
    expect(Object.fromEntries((await fetch(`${url}/readyz`)).headers)).not.toHaveProperty("ratelimit-limit");
  } finally {
    await limited.close();
  }
});
