import { fastify } from "fastify";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
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

test("a request whose caller disconnected early is counted under status 0", async () => {
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
    gone.abort();
    await expect(asked).rejects.toThrow("aborted");
    const counted = async (): Promise<string[]> =>
      (await registry.metrics())
        .split("\n")
        .filter((line) => /^parbook_http_request_duration_seconds_count/.test(line));
    const line = (route: string, status: number) =>
      `parbook_http_request_duration_seconds_count{server="api",route="${route}",method="GET",status="${status}"} 1`;
    await until("both are counted", async () => (await counted()).length === 2);
    expect(await counted()).toEqual([line("/quick", 200), line("/held", 0)]);
    expect(await registry.metrics()).toContain('parbook_http_requests_in_flight{server="api"} 0');
  } finally {
    answer();
    await server.close();
  }
});
