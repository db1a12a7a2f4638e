/** An authorization server without API clients: it rejects every token request. It is closed when the test ends. */
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { type AuthServerOptions, createAuthServer } from "../../../src/oauth/server/auth-server.ts";
import { IdSource } from "../../../src/std/id.ts";
import { reject } from "../../../src/std/result.ts";

export function toyAuthServer(options: Partial<AuthServerOptions> = {}) {
  const server = createAuthServer({
    authUrl: () => "http://auth.example",
    keys: { published: () => [] },
    clients: { authenticate: async () => reject("client_authentication_failed") },
    tokens: { issue: () => Promise.reject(new Error("nobody is issued a token here")) },
    ids: new IdSource(),
    log: pino({ level: "silent" }),
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}
