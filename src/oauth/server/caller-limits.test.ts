/** What one caller of auth_url may take from the others, whatever lies between. */
import { request } from "node:http";
import { expect, test } from "vitest";
import { toyAuthServer } from "../../../test/support/http/toy-auth-server.ts";
import { until } from "../../../test/support/until.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { reject } from "../../std/result.ts";
import { RateLimiter } from "../../web/limits/rate-limiter.ts";
import { DEFAULT_RATES } from "../../web/limits/rates.ts";
import type { AuthServerOptions } from "./auth-server.ts";

const FORM = new URLSearchParams({ grant_type: "client_credentials", client_id: "acme", client_secret: "guess" });
const OVER = { admitted: false, headers: { "retry-after": "7" }, retryAfter: 7 };

const listening = (options: Partial<AuthServerOptions>): Promise<string> =>
  toyAuthServer(options).listen({ host: "127.0.0.1", port: 0 });

/** Of a request that says that it has a body, and sends none of it. */
function statusWithoutBody(url: string, address: string): Promise<number | undefined> {
  const type = "application/x-www-form-urlencoded";
  const headers = { "x-forwarded-for": address, "content-type": type, "content-length": 45 };
  return new Promise((resolve, fail) => {
    const asked = request(url, { method: "POST", headers, agent: false }, ({ statusCode }) => {
      resolve(statusCode);
      asked.destroy();
    });
    asked.on("error", fail).flushHeaders();
  });
}

test("behind a trusted proxy a caller that floods the token endpoint leaves room for others", async () => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const url = await listening({
    trustedProxies: [parseNetwork("127.0.0.0/8") as Network],
    clients: {
      authenticate: async () => {
        await finished;
        return reject("client_authentication_failed");
      },
    },
  });
  const statuses: number[] = [];
  const ask = async (address: string): Promise<number> => {
    const headers = { "x-forwarded-for": address };
    const { status } = await fetch(`${url}/oauth2/token`, { method: "POST", body: FORM, headers });
    return status;
  };
  const flood = Array.from({ length: 300 }, async () => statuses.push(await ask("203.0.113.9")));
  await until("it is at its bound", () => statuses.length > 0);
  const other = ask("203.0.113.10");
  expect(await statusWithoutBody(`${url}/oauth2/token`, "203.0.113.9")).toBe(503);
  finish();
  expect(await other).toBe(401);
  await Promise.all(flood);
});

test("health checks have a rate of their own, by address", async () => {
  const asked: string[] = [];
  class Limiter extends RateLimiter {
    override ofHealth(address: string) {
      asked.push(address);
      return OVER;
    }
  }
  const url = await listening({ limiter: new Limiter(DEFAULT_RATES) });
  for (const path of ["/healthz", "/readyz"]) {
    const response = await fetch(url + path);
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await response.json()).toEqual({
      error: "temporarily_unavailable",
      error_description: "too many requests from this address: try again in 7 s",
    });
  }
  expect(asked).toEqual(["127.0.0.1", "127.0.0.1"]);
});

test.each(["/oauth2/token", "/.well-known/jwks.json", "/nothing", "/%zz"])(
  "requests for %s that arrive together are taken in turn by address, a few in each turn",
  async (url) => {
    const taken: string[] = [];
    let turn = 0;
    const server = toyAuthServer();
    await server.ready();
    const method = url === "/oauth2/token" ? "POST" : "GET";
    const all = Array.from({ length: 101 }, async (_, i) => {
      const remoteAddress = i === 100 ? "198.51.100.7" : "203.0.113.9";
      await server.inject({ method, url, remoteAddress });
      taken.push(`${turn} ${remoteAddress}`);
    });
    while (taken.length < 101) {
      await new Promise(setImmediate);
      turn += 1;
    }
    await Promise.all(all);
    const turns = taken.map((text) => text.split(" ")[0]);
    expect(Math.max(...turns.map((one) => turns.filter((other) => other === one).length))).toBeLessThanOrEqual(40);
    expect(taken.findIndex((text) => text.endsWith("198.51.100.7"))).toBeLessThan(50);
  },
);
