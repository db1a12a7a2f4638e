/** The server on auth_url without clients: it denies whoever asks for a token, and ends with the test. */
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
