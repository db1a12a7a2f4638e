import { afterEach, expect, test } from "vitest";
import { ask, problem, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { RateLimiter } from "../../web/limits/rate-limiter.ts";
import { DEFAULT_RATES } from "../../web/limits/rates.ts";

let toy: ToyApi;
afterEach(() => toy.close());

/** Six requests at once, then one in fifty seconds. */
const SLOW = { ...DEFAULT_RATES, rest: 0.02, order_book: 0.01 };

async function start(trustedProxies: readonly string[] = []): Promise<{ pass: (seconds: number) => void }> {
  let now = 1_000_000;
  toy = await startToyApi(
    (api) => {
      const open = { schema: { hide: true } };
      api.get("/book", { ...open, config: { scope: "public", rate: "order_book" } }, async () => ({}));
      api.get("/long", { ...open, config: { scope: "public" } }, async (_request, reply) =>
        reply.send(Buffer.alloc(2 * 65_536, " ")),
      );
      api.get("/just-short", { ...open, config: { scope: "public" } }, async (_request, reply) =>
        reply.send(Buffer.alloc(65_535, " ")),
      );
      api.get("/open", { ...open, config: { scope: "public" } }, async () => ({}));
      api.get("/watched", { ...open, config: { scope: "public", rate: "health" } }, async () => ({}));
    },
    {
      limiter: new RateLimiter(SLOW, { now: () => now }),
      trustedProxies: trustedProxies.map((text) => parseNetwork(text) as Network),
      verify: async (token) => {
        if (token.startsWith("good")) return { ...GRANT, clientId: token };
        return token === "restricted good 1" ? { restricted: { ...GRANT, clientId: "good 1" } } : undefined;
      },
    },
  );
  return { pass: (seconds) => (now += seconds * 1_000) };
}

const GRANT = {
  customerId: "0190d5a4-0000-7000-8000-000000000001" as never,
  scopes: new Set(["transfer:read_transfer"]),
  tokenId: "0190d5a4-0000-7000-8000-000000000002",
};

const statusOf = async (path: string, token: string | null, headers = {}): Promise<number> =>
  (await ask(toy, path, { token, headers })).status;

async function statuses(times: number, path: string, token: string | null, headers = {}): Promise<number[]> {
  const received: number[] = [];
  for (let i = 0; i < times; i += 1) received.push(await statusOf(path, token, headers));
  return received;
}

const SIX = [200, 200, 200, 200, 200, 200];

test("every response has the remaining rate; past it 429 has Retry-After, after which requests succeed", async () => {
  const { pass } = await start();
  expect((await ask(toy, "/v2/toys", { token: "good 1" })).headers).toMatchObject({
    "ratelimit-limit": "6",
    "ratelimit-remaining": "5",
    "ratelimit-reset": "50",
  });
  expect(await statuses(5, "/v2/toys", "good 1")).toEqual(SIX.slice(1));
  expect(await ask(toy, "/v2/toys", { token: "good 1" })).toEqual(
    problem(429, "Too Many Requests", "too many requests: try again in 50 seconds", {
      headers: {
        "ratelimit-limit": "6",
        "ratelimit-remaining": "0",
        "ratelimit-reset": "300",
        "retry-after": "50",
      },
    }),
  );
  pass(49);
  expect((await ask(toy, "/v2/toys", { token: "good 1" })).body).toMatchObject({
    detail: "too many requests: try again in 1 second",
  });
  pass(1);
  expect(await statuses(2, "/v2/toys", "good 1")).toEqual([200, 429]);
});

test("one client's requests are not another's, and an error counts as a request", async () => {
  await start();
  expect(await statuses(7, "/v2/toys?limit=0", "good 1")).toEqual([400, 400, 400, 400, 400, 400, 429]);
  expect(await statuses(6, "/v2/toys", "good 2")).toEqual(SIX);
});

test("a client over its rate is rejected before its body is read, and missing scopes count too", async () => {
  await start();
  const write = () => ask(toy, "/v2/toys/default", { method: "POST", token: "good 1", json: "{" });
  for (let i = 0; i < 6; i += 1) expect((await write()).status).toBe(403);
  expect((await write()).status).toBe(429);
});

test("callers without a valid token are limited by address, and take nothing from clients at that address", async () => {
  await start();
  expect(await statuses(4, "/v2/toys", "bad")).toEqual([401, 401, 401, 401]);
  expect(await statuses(3, "/v2/toys", null)).toEqual([401, 401, 429]);
  expect(await statuses(1, "/open", null)).toEqual([429]);
  expect(await statuses(6, "/v2/toys", "good 1")).toEqual(SIX);
});

test("public operations are counted by address, with a valid token too, and take nothing from its client", async () => {
  await start();
  expect(await statuses(4, "/open", "good 1")).toEqual([200, 200, 200, 200]);
  expect(await statuses(2, "/open", null)).toEqual([200, 200]);
  expect(await statuses(1, "/open", "good 2")).toEqual([429]);
  expect(await statuses(6, "/v2/toys", "good 1")).toEqual(SIX);
});

test("a token that was found and is sent from elsewhere takes nothing from its client", async () => {
  await start();
  expect(await statuses(7, "/v2/toys", "restricted good 1")).toEqual([401, 401, 401, 401, 401, 401, 429]);
  expect(await statuses(6, "/v2/toys", "good 1")).toEqual(SIX);
});

test("unknown paths and methods count for the address of every caller", async () => {
  await start();
  expect(await statuses(4, "/nowhere", "good 1")).toEqual([404, 404, 404, 404]);
  const noMethod = () => ask(toy, "/open", { method: "DELETE", token: null });
  expect([(await noMethod()).status, (await noMethod()).status, (await noMethod()).status]).toEqual([405, 405, 429]);
  expect(await statuses(2, "/nowhere", "good 1")).toEqual([429, 429]);
  expect(await statuses(1, "/v2/toys", "good 1")).toEqual([200]);
});

test("a public request counts as one more for each 64 KiB that it is sent", async () => {
  const { pass } = await start();
  expect(await statuses(3, "/long", null)).toEqual([200, 200, 429]);
  pass(300);
  expect(await statuses(7, "/just-short", null)).toEqual([...SIX, 429]);
});

test("each rate has a bucket of its own, and monitoring is not limited", async () => {
  await start();
  expect(await statuses(4, "/book", null)).toEqual([200, 200, 200, 429]);
  expect(await statuses(7, "/open", null)).toEqual([...SIX, 429]);
  const watched = await ask(toy, "/watched", { token: null });
  expect(watched.status).toBe(200);
  expect(Object.keys(watched.headers).filter((name) => name.startsWith("ratelimit"))).toEqual([]);
});

test("health checks are limited as well, except from loopback and trusted proxies", async () => {
  await start(["127.0.0.0/8"]);
  const asking = async (from: string): Promise<Record<number, number>> => {
    const received: Record<number, number> = {};
    for (let at = 0; at < 31; at += 1) {
      const found = await Promise.all(
        Array.from({ length: 100 }, () => statusOf("/watched", null, { "x-forwarded-for": from })),
      );
      for (const status of found) received[status] = (received[status] ?? 0) + 1;
    }
    return received;
  };
  expect(await asking("203.0.113.9")).toEqual({ 200: 3_000, 429: 100 });
  expect(await statusOf("/watched", null, { "x-forwarded-for": "203.0.113.10" })).toBe(200);
  expect(await statusOf("/watched", null)).toBe(200);
});

test("X-Forwarded-For counts when a trusted proxy sent it, and only what that proxy itself has seen", async () => {
  await start(["127.0.0.0/8"]);
  expect(await statuses(7, "/open", null, { "x-forwarded-for": "203.0.113.9" })).toEqual([...SIX, 429]);
  expect(await statusOf("/open", null, { "x-forwarded-for": "203.0.113.10" })).toBe(200);
  expect(await statusOf("/open", null, { "x-forwarded-for": "198.51.100.1, 203.0.113.9" })).toBe(429);
  expect(await statusOf("/open", null, { "x-forwarded-for": "203.0.113.9:4711" })).toBe(429);
});

test("an IPv6 network of 48 bits has the rate of four addresses, and of it only what an address is allowed", async () => {
  await start(["127.0.0.0/8"]);
  const from = (times: number, address: string) => statuses(times, "/open", null, { "x-forwarded-for": address });
  expect(await from(30, "2001:db8:0:1::1")).toEqual([...SIX, ...new Array<number>(24).fill(429)]);
  for (const network of [2, 3]) expect(await from(6, `2001:db8:0:${network}::1`)).toEqual(SIX);
  expect(await from(5, "2001:db8:0:4::1")).toEqual(SIX.slice(1));
  expect(await from(2, "2001:db8:0:5::1")).toEqual([200, 429]);
  expect(await from(1, "2001:db8:1:1::1")).toEqual([200]);
  expect(
    (await ask(toy, "/open", { token: null, headers: { "x-forwarded-for": "2001:db8:1:1::1" } })).headers,
  ).toMatchObject({ "ratelimit-limit": "6", "ratelimit-remaining": "4" });
});

test("without trusted proxies no caller can choose its address", async () => {
  await start();
  const received: number[] = [];
  for (let i = 1; i <= 7; i += 1) received.push(await statusOf("/open", null, { "x-forwarded-for": `203.0.113.${i}` }));
  expect(received).toEqual([...SIX, 429]);
});

test("a request counts once for each 1,024 characters of its URL, and for all of a bucket at most", async () => {
  await start();
  // What is admitted is 400: it has no such parameter.
  const left = async (length: number, token: string | null, path = "/v2/toys?x=") => {
    const { status, headers } = await ask(toy, path.padEnd(length, "y"), { token });
    return [status, headers["ratelimit-remaining"], headers["retry-after"]];
  };
  expect(await left(1_024, "good 1")).toEqual([400, "5", undefined]);
  expect(await left(1_025, "good 1")).toEqual([400, "3", undefined]);
  expect(await left(3_073, "good 1")).toEqual([429, "3", "50"]);
  expect(await left(3_072, "good 1")).toEqual([400, "0", undefined]);
  expect(await left(40_000, "good 2")).toEqual([400, "0", undefined]);
  expect(await left(5_000, null, "/open?x=")).toEqual([200, "1", undefined]);
  expect(await left(5_000, null)).toEqual([429, "1", "200"]);
});
