/** What the token endpoint answers and logs when something fails, and what no path allows. */
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DatabaseAway } from "../../postgres/database.ts";
import { ClockFault } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import { createAuthServer } from "./auth-server.ts";

let failure: Error;
const logged: string[] = [];
const server = createAuthServer({
  authUrl: () => "http://auth.test",
  keys: { published: () => [] },
  clients: { authenticate: () => Promise.reject(failure) },
  tokens: { issue: () => Promise.reject(failure) },
  ids: new IdSource(),
  log: pino({ level: "info" }, { write: (line: string) => void logged.push(line) }),
});
let url = "";
beforeAll(async () => {
  url = await server.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(() => server.close());

const FORM = new URLSearchParams({ grant_type: "client_credentials", client_id: "acme", client_secret: "secret" });
const [WARNING, ERROR] = [40, 50];
const INTERNAL = "internal error: quote the X-Request-Id when you report it";

test.each([
  [
    new ClockFault("the clock is 9 s ahead"),
    503,
    "temporarily_unavailable",
    "the clock is 9 s ahead",
    WARNING,
    "fault",
  ],
  [new DatabaseAway("gone"), 503, "temporarily_unavailable", "the database cannot be reached", WARNING, "fault"],
  [new TypeError("x of undefined"), 500, "server_error", INTERNAL, ERROR, "bug"],
] as const)("%s is %d", async (error, status, code, description, level, kind) => {
  failure = error;
  logged.length = 0;
  const response = await fetch(`${url}/oauth2/token`, {
    method: "POST",
    body: FORM,
    headers: { "x-request-id": "r-1" },
  });
  expect([response.status, await response.json()]).toEqual([status, { error: code, error_description: description }]);
  const lines = logged.map((line) => JSON.parse(line) as { err?: { message: string } });
  const expected = { level, request_id: "r-1", msg: `token request failed: ${kind}` };
  expect(lines).toMatchObject([{ ...expected, err: { message: error.message } }]);
});

test.each([
  "/healthz",
  "/readyz",
  "/.well-known/jwks.json",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
])("%s can only be read", async (path) => {
  const response = await fetch(url + path, { method: "DELETE" });
  expect([response.status, response.headers.get("allow"), await response.json()]).toEqual([
    405,
    "GET, HEAD",
    { error: "invalid_request", error_description: "this path allows GET, HEAD" },
  ]);
});
