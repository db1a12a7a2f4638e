import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { IdSource } from "../../std/id.ts";
import { reject } from "../../std/result.ts";
import { createAuthServer } from "./auth-server.ts";

test("requests have as long to arrive, and connections as long to be idle, as SECURITY.md says", () => {
  const server = createAuthServer({
    authUrl: () => "http://auth.test",
    keys: { published: () => [] },
    clients: { authenticate: async () => reject("client_authentication_failed") },
    tokens: { issue: () => Promise.reject(new Error("nobody is issued a token here")) },
    ids: new IdSource(),
    log: pino({ level: "silent" }),
  });
  onTestFinished(() => server.close());
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = server.server;
  expect({ headersTimeout, requestTimeout, keepAliveTimeout, timeout }).toEqual({
    headersTimeout: 10_000,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000,
    timeout: 20_000,
  });
});
