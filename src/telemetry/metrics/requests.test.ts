import { fastify } from "fastify";
import { Registry } from "prom-client";
import { expect, onTestFinished, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import { RequestMetrics } from "./requests.ts";

/** Every 503 text, and the reason it is counted under (docs/runbook.md). */
test.each([
  ["the service is shutting down", "closing"],
  ["shutting down", "closing"],
  ["too many responses are waiting to be read", "unread"],
  ["the database cannot be reached", "database"],
  ["the database took too long", "database"],
  ["the database is away: look up the ref_id to see what was done", "database"],
  ["the clock of this node is 10.0 s ahead of the database's, and 2 s are allowed", "clock"],
  ["the service is at capacity: too many requests are waiting", "full"],
  ["too much is waiting", "full"],
  ["the feeds have as many readers as they can serve", "full"],
  ["not in time", "late"],
  ["its ref_id is changing hands", "other"],
])("a 503 that says %j is counted as %s, and as a problem", async (message, reason) => {
  const registry = new Registry();
  const metrics = new RequestMetrics(registry);
  metrics.problem({ kind: 503, message });
  metrics.problem({ kind: "insufficient-funds", message });
  const lines = (await registry.metrics())
    .split("\n")
    .filter((line) => /^parbook_http_(unavail|prob).* [^0]/.test(line));
  expect(lines).toEqual([
    `parbook_http_unavailable_total{reason="${reason}"} 1`,
    'parbook_http_problems_total{problem="503"} 1',
    'parbook_http_problems_total{problem="insufficient-funds"} 1',
  ]);
});

test("connections that the service has closed are counted, each under its reason", async () => {
  const registry = new Registry();
  const metrics = new RequestMetrics(registry);
  const address = "203.0.113.9";
  metrics.dropped({ count: 1, address, reason: "too many connections" });
  metrics.dropped({ count: 2, address, reason: "too many connections from one address" });
  metrics.dropped({ count: 3, address, reason: "too many new connections from one address" });
  metrics.dropped({ count: 4, address, reason: "idle while others need connections" });
  metrics.dropped({ count: 10, address, reason: "too many requests at once on a connection" });
  metrics.dropped({ count: 20, address, reason: "too many small pieces of requests" });
  metrics.dropped({ count: 30, address, reason: "an endless TLS handshake" });
  metrics.dropped({ count: 40, address, reason: "too many messages to a feed" });
  metrics.slowReaders(6);
  metrics.connectionBug();
  const name = "parbook_http_connections_cut_off_total";
  expect((await registry.metrics()).split("\n").filter((line) => line.startsWith(name))).toEqual([
    `${name}{why="too_many"} 1`,
    `${name}{why="too_many_of_address"} 2`,
    `${name}{why="too_many_new"} 3`,
    `${name}{why="idle"} 4`,
    `${name}{why="flooded"} 100`,
    `${name}{why="slow_reader"} 6`,
    `${name}{why="bug"} 1`,
  ]);
});

test("a request is timed in seconds, and one whose caller disconnected early is counted under status 0", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const registry = new Registry();
  const server = fastify();
  new RequestMetrics(registry).watch("api", server);
  let answer = (): void => undefined;
  const hold = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let held = 0;
  server.get("/held", async () => {
    held += 1;
    await hold;
    return {};
  });
  server.get("/quick", async () => ({}));
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  try {
    await (await fetch(`${url}/quick`)).text();
    const gone = new AbortController();
    const asked = fetch(`${url}/held`, { signal: gone.signal });
    await until("the request is in flight", () => held === 1);
    vi.advanceTimersByTime(250);
    gone.abort();
    await expect(asked).rejects.toThrow("aborted");
    const counted = async (): Promise<string[]> =>
      (await registry.metrics())
        .split("\n")
        .filter((line) => /^parbook_http_request_duration_seconds_(sum|count)/.test(line));
    const lines = (route: string, status: number, seconds: number) => {
      const labels = `{server="api",route="${route}",method="GET",status="${status}"}`;
      const name = "parbook_http_request_duration_seconds";
      return [`${name}_sum${labels} ${seconds}`, `${name}_count${labels} 1`];
    };
    await until("both are counted", async () => (await counted()).length === 4);
    expect(await counted()).toEqual([...lines("/quick", 200, 0), ...lines("/held", 0, 0.25)]);
    expect(await registry.metrics()).toContain('parbook_http_requests_in_flight{server="api"} 0');
  } finally {
    answer();
    await server.close();
  }
});

test("unknown paths and methods share one name each, and rates that were passed are counted by caller", async () => {
  const registry = new Registry();
  const metrics = new RequestMetrics(registry);
  const server = fastify();
  onTestFinished(() => server.close());
  metrics.watch("auth", server);
  server.get("/toys/:id", async () => ({}));
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  for (const [path, method] of [
    ["/toys/1", "GET"],
    ["/toys/2", "GET"],
    ["/nowhere", "GET"],
    ["/elsewhere", "PROPFIND"],
    ["/toys/1", "LOCK"],
  ] as const)
    await (await fetch(url + path, { method })).text();
  metrics.limited({ rate: "token", caller: "client" });
  metrics.limited({ rate: "token", caller: "address" });
  metrics.limited({ rate: "token", caller: "address" });
  const served = async (): Promise<string[]> =>
    (await registry.metrics()).split("\n").filter((line) => /^parbook_(http_request_.*_count|rate_limited)/.test(line));
  await until("all are counted", async () => (await served()).join().includes('"other",status="404"} 2'));
  const count = (labels: string): string => `parbook_http_request_duration_seconds_count{server="auth",${labels}}`;
  expect(await served()).toEqual([
    `${count('route="/toys/:id",method="GET",status="200"')} 2`,
    `${count('route="none",method="GET",status="404"')} 1`,
    `${count('route="none",method="other",status="404"')} 2`,
    'parbook_rate_limited_total{rate="token",caller="client"} 1',
    'parbook_rate_limited_total{rate="token",caller="address"} 2',
  ]);
});
