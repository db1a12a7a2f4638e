/** What /metrics tells of a service that has had something to do. */
import { request, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { DEFAULT_RATES } from "../../src/web/limits/rates.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type Scrape, scrape } from "../support/http/metrics.ts";
import { sendRaw } from "../support/http/raw-connection.ts";
import { type Relay, startRelay } from "../support/postgres/relay.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let relay: Relay;
let service: TestService;
let customer: TestCustomer;
beforeAll(async () => {
  service = await startTestService(
    { metricsPort: 0, rateLimits: { ...DEFAULT_RATES, order_book: 0.01 } },
    async (database) => {
      relay = await startRelay(database);
      return relay.connection;
    },
  );
  customer = await service.customer();
});
afterAll(async () => {
  await service.close();
  await relay.close();
});

const look = (): Promise<Scrape> => scrape(service.service.metricsUrl);

/** One of each: what goes well, and what is rejected. */
async function doBusiness(): Promise<void> {
  const [from, to] = await Promise.all([service.profile(customer, { USD: "100" }), service.profile(customer)]);
  const as = customer.token;
  const transfer = { from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD", ref_id: "metrics" };
  const mint = { profile_id: from, amount: "30", source_asset: "USD", target_asset: "PYUSD", ref_id: "metrics" };
  const order = {
    side: "BUY",
    market: "BTCUSD",
    type: "LIMIT",
    base_amount: "0.001",
    price: "10000",
    ref_id: "metrics",
  };
  const statuses: number[] = [];
  const call = async (method: string, path: string, options: object): Promise<void> => {
    statuses.push((await service.call(method, path, options)).status);
  };
  await call("POST", "/v2/transfer/platform", { as, body: transfer });
  await call("POST", "/v2/transfer/platform", { as, body: { ...transfer, amount: "1000", ref_id: "too much" } });
  await call("POST", "/v2/conversion/stablecoins", { as, body: mint });
  await call("POST", `/v2/profiles/${from}/orders`, { as, body: order });
  await call("GET", "/v2/profiles", {});
  await call("GET", "/v2/profiles", { as: "nonsense" });
  await call("GET", "/v2/nothing", {});
  for (let i = 0; i < 4; i += 1) await call("GET", "/v2/markets/BTCUSD/order-book", {});
  await expect(service.token({ clientId: customer.clientId, secret: "wrong" })).rejects.toThrow("invalid_client");
  expect(statuses).toEqual([200, 403, 200, 200, 401, 401, 404, 200, 200, 200, 429]);
}

test("shows requests, batches, tokens, denials, markets and the ledger", async () => {
  await doBusiness();
  const settled = "select 1 from conversion where status = 'SETTLED'";
  await until("the conversion is settled", async () => (await service.db.owner.rows(settled)).length === 1);
  let seen = await look();
  const route = { route: "/v2/transfer/platform", method: "POST" };
  const market = { market: "BTCUSD" };
  // A look at the database may take longer than a scrape waits for it, and what was seen is reported for ten seconds.
  const isThere = async () => {
    seen = await look();
    const rounds = seen.value("parbook_engine_round_seconds_count", market) ?? 0;
    return rounds > 0 && seen.value("parbook_market_served", market) === 1;
  };
  await until("the engine has had its round, and the market is known to be served", isThere, 25);
  const value = (name: string, labels?: Readonly<Record<string, string>>) => seen.value(`parbook_${name}`, labels);
  expect({
    transfers: value("http_request_duration_seconds_count", { ...route, status: "200" }),
    rejectedTransfers: value("http_request_duration_seconds_count", { ...route, status: "403" }),
    unknownPaths: value("http_request_duration_seconds_count", { route: "none", status: "404" }),
    tokensIssued: value("token_requests_total", { outcome: "issued" }),
    tokensRejected: value("token_requests_total", { outcome: "invalid_client" }),
    tokenRequests: value("http_request_duration_seconds_count", { server: "auth", route: "/oauth2/token" }),
    noToken: value("access_denied_total", { kind: "no_token" }),
    badToken: value("access_denied_total", { kind: "invalid_token" }),
    badClient: value("access_denied_total", { kind: "invalid_client" }),
    shortOfFunds: value("http_problems_total", { problem: "insufficient-funds" }),
    underWay: value("http_requests_in_flight", { server: "api" }),
    inside: value("lane_commands_pending"),
    running: value("lane_state", { state: "running" }),
    slot: value("lane_slot"),
    databaseUp: value("database_up"),
    served: value("market_served", { market: "BTCUSD" }),
    serving: value("engine_serving", { market: "BTCUSD" }),
    open: value("market_open", { market: "BTCUSD" }),
    reserve: value("reserve_usd", { asset: "PYUSD" }),
    gap: value("reserve_minus_supply_usd", { asset: "PYUSD" }),
    pyusd: value("supply_usd", { asset: "PYUSD" }),
    due: value("settlement_due_conversions"),
    info: value("info", { mode: "sandbox", database: "external", node: process.version }),
  }).toEqual({
    transfers: 1,
    rejectedTransfers: 1,
    unknownPaths: 1,
    tokensIssued: 1,
    tokensRejected: 1,
    tokenRequests: 2,
    noToken: 1,
    badToken: 1,
    badClient: 1,
    shortOfFunds: 1,
    underWay: 0,
    inside: 0,
    running: 1,
    slot: 1,
    databaseUp: 1,
    served: 1,
    serving: 1,
    open: 1,
    reserve: 30,
    gap: 0,
    pyusd: 30,
    due: 0,
    info: 1,
  });
  expect(value("lane_commit_seconds_count")).toBeGreaterThan(5);
  expect(value("lane_batch_commands_sum")).toBeGreaterThanOrEqual(value("lane_commit_seconds_count") ?? 0);
  expect(value("rate_limited_total", { rate: "order_book", caller: "address" })).toBe(1);
  expect(Math.abs(value("database_clock_skew_seconds") ?? 9)).toBeLessThan(1);
  expect(value("lane_clock_wrong")).toBe(0);
  await expectBooksBalance(service.db.owner);
});

test("unusual paths, names and methods add hardly any series, and none contains a name", async () => {
  const storm = async (seed: string): Promise<readonly string[]> => {
    const odd = Array.from({ length: ODD_NAMES }, (_, i) => `${seed}-${i}`);
    const as = customer.token;
    for (const name of odd) {
      await Promise.all([
        service.call("GET", `/${name}`, {}),
        service.call("GET", `/v2/transfer/transfers/${name}`, { as }),
        service.call("GET", `/v2/markets/${name}/order-book`, {}),
        service.call("POST", `/v2/profiles/${name}/orders`, { as, body: { market: name, side: name } }),
        service.call("PUT", "/v2/profiles", { as: name }),
        service.call("GET", `/v2/executions?order_id=${name}&${name}=1`, { as }),
        ask(name, ["PROPFIND", "LOCK", "REPORT", "TRACE", "PATCH"][name.length % 5] ?? "LOCK"),
      ]);
    }
    // A secret that is no good costs what a good one does.
    await service.token({ clientId: seed, secret: seed }).catch(() => undefined);
    const { text, samples } = await look();
    expect(text).not.toContain(seed);
    expect(samples.length).toBeLessThan(3_000);
    // Of a histogram one; what the process itself adds when it likes (a kind of garbage collection) is not ours.
    const ours = samples.filter(({ name }) => name.startsWith("parbook_") && !name.endsWith("_bucket"));
    return ours.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`);
  };
  const first = new Set(await storm("curious"));
  const added = (await storm("peculiar")).filter((series) => !first.has(series));
  // A label that took the names would add one for each. Some may come by the way: a rate that is passed only now.
  expect([added.length < ODD_NAMES / 2, added]).toEqual([true, added]);
});

const ODD_NAMES = 25;

/** `fetch` knows fewer methods. */
function ask(name: string, method: string): Promise<void> {
  const { hostname, port } = new URL(service.baseUrl);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path: `/v2/${name}`, method }, (response) => response.resume().on("end", resolve))
      .on("error", reject)
      .end();
  });
}

test("names no customer, client, profile, address or secret", async () => {
  const { text } = await look();
  for (const received of [
    customer.id,
    customer.clientId,
    customer.secret,
    customer.defaultProfile,
    customer.token,
    "127.0.0.1",
  ]) {
    expect(text).not.toContain(received);
  }
});

test("there is /metrics and nothing else, for GET and HEAD", async () => {
  const url = new URL(service.service.metricsUrl ?? "");
  const status = async (path: string, method = "GET") => (await fetch(new URL(path, url), { method })).status;
  expect(await Promise.all([status("/"), status("/metrics", "POST"), status("/metrics", "HEAD")])).toEqual([
    404, 405, 200,
  ]);
  const onApi = await service.call("GET", "/metrics", { as: customer.token });
  expect(onApi.status).toBe(404);
});

test("without the database it reports that, and the other metrics", async () => {
  relay.reject(true);
  relay.cut();
  let away = await look();
  // What was seen last is reported for ten seconds.
  const isKnown = async () => {
    await pause(250);
    away = await look();
    return away.value("parbook_database_up") === 0 && away.value("parbook_lane_database_away") === 1;
  };
  await until("it is known, also to the lane, that the database is away", isKnown, 60);
  expect({
    up: away.value("parbook_database_up"),
    reserve: away.value("parbook_reserve_usd", { asset: "PYUSD" }),
    served: away.value("parbook_market_served"),
    laneAway: away.value("parbook_lane_database_away"),
    state: away.value("parbook_lane_state", { state: "recovering" }),
  }).toEqual({ up: 0, reserve: undefined, served: undefined, laneAway: 1, state: 1 });
  expect(away.value("parbook_http_request_duration_seconds_count")).toBeGreaterThan(100);
  expect((await service.call("GET", "/v2/profiles", { as: customer.token })).status).toBe(503);
  expect((await look()).value("parbook_http_unavailable_total", { reason: "database" })).toBeGreaterThan(0);
  relay.reject(false);
  await until("it is back", async () => (await look()).value("parbook_database_up") === 1, 30);
});

test("a bug in a request for metrics ends its connection and nothing else", async () => {
  const { metricsUrl = "" } = service.service;
  const bugs = async () => (await look()).value("parbook_http_connections_cut_off_total", { why: "bug" });
  const before = await bugs();
  const write = vi.spyOn(ServerResponse.prototype, "writeHead").mockImplementation(() => {
    throw new Error("a bug");
  });
  try {
    for (const path of ["/nowhere", "/metrics"]) {
      expect(await sendRaw(metricsUrl, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`), path).toBe("");
    }
  } finally {
    write.mockRestore();
  }
  expect(((await bugs()) ?? 0) - (before ?? 0)).toBe(1);
});
