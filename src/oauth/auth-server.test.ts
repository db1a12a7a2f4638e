/** What the server on auth_url does around the token endpoint. */
import { connect } from "node:net";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Clients } from "../customers/clients.ts";
import { DatabaseAway } from "../postgres/database.ts";
import { IdSource } from "../std/id.ts";
import { createAuthServer } from "./auth-server.ts";
import { SCOPES } from "./scopes.ts";

const authenticate = vi.fn<Clients["authenticate"]>(async () => "client_authentication_failed");
const PUBLIC_KEY = { kty: "EC", crv: "P-256", kid: "k", x: "x", y: "y", alg: "ES256", use: "sig" };
const logged: string[] = [];
let authUrl = "";

const server = createAuthServer({
  authUrl: () => authUrl,
  keys: { published: () => [PUBLIC_KEY] },
  clients: { authenticate },
  tokens: { issue: () => Promise.reject(new Error("nobody is issued a token here")) },
  ids: new IdSource(),
  log: pino({ level: "trace" }, { write: (line: string) => void logged.push(line) }),
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
  "content-type": "application/json; charset=utf-8",
  "x-request-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
};
const NOT_STORED = { ...HEADERS, "cache-control": "no-store", pragma: "no-cache" };

test.each(["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])("%s is not a method of the token endpoint", async (method) => {
  expect(await send("/oauth2/token?a=b", { method })).toEqual({
    status: 405,
    headers: { ...NOT_STORED, allow: "POST" },
    body: { error: "invalid_request", error_description: "the methods of this path are POST" },
  });
});

test("the documents can only be read", async () => {
  expect(await send("/.well-known/jwks.json", { method: "POST", body: FORM })).toEqual({
    status: 405,
    headers: { ...NOT_STORED, allow: "GET, HEAD" },
    body: { error: "invalid_request", error_description: "the methods of this path are GET, HEAD" },
  });
  expect((await send("/.well-known/jwks.json", { method: "HEAD" })).status).toBe(200);
});

test.each(["/oauth2/tokens", "/", "/oauth2/token/"])("there is nothing at %s", async (path) => {
  expect(await send(path, { method: "POST", body: FORM })).toEqual({
    status: 404,
    headers: NOT_STORED,
    body: { error: "invalid_request", error_description: "there is nothing at this path" },
  });
});

test("an address that cannot be decoded is refused like any other request", async () => {
  expect(await send("/%zz")).toEqual({
    status: 400,
    headers: NOT_STORED,
    body: { error: "invalid_request", error_description: "the request cannot be read" },
  });
});

test("bytes that are not HTTP are answered and harm nobody", async () => {
  const { port, hostname } = new URL(authUrl);
  const answered = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end("NONSENSE\r\n\r\n"));
    socket.on("data", (data) => resolve(data.toString()));
    socket.on("error", reject);
  });
  expect(answered).toMatch(/^HTTP\/1.1 400 /);
  expect((await send("/oauth2/token", { method: "POST", body: FORM })).status).toBe(401);
});

test("the caller's request id comes back when it may stand in a log, else a new one", async () => {
  const ids: (string | undefined)[] = [];
  for (const id of ["order-17.a_b", "a b", "a".repeat(65)]) {
    ids.push((await send("/oauth2/token", { headers: { "x-request-id": id } })).headers["x-request-id"]);
  }
  expect(ids).toEqual(["order-17.a_b", HEADERS["x-request-id"], HEADERS["x-request-id"]]);
});

test("while the database is away the endpoint says when to come back", async () => {
  authenticate.mockRejectedValueOnce(new DatabaseAway("the database cannot be reached"));
  expect(await send("/oauth2/token", { method: "POST", body: FORM })).toEqual({
    status: 503,
    headers: { ...NOT_STORED, "retry-after": "1" },
    body: { error: "temporarily_unavailable", error_description: "the database cannot be reached" },
  });
});

test("a bug is a server error that tells nothing but where to look", async () => {
  authenticate.mockRejectedValueOnce(new TypeError("x of undefined"));
  const answer = await send("/oauth2/token", { method: "POST", body: FORM });
  expect(answer).toEqual({
    status: 500,
    headers: NOT_STORED,
    body: { error: "server_error", error_description: "the request failed; the log has why, under its X-Request-Id" },
  });
  const lines = logged.filter((line) => line.includes(answer.headers["x-request-id"] ?? "no id"));
  expect(lines.join()).toContain("x of undefined");
  expect(lines.join()).not.toContain("correct horse");
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
