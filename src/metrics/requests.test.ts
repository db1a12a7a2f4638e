import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { RequestMetrics } from "./requests.ts";

/** Every text that a caller is sent away with, and the reason that it is counted under (docs/runbook.md). */
test.each([
  ["the service is shutting down", "closing"],
  ["shutting down", "closing"],
  ["more answers are waiting to be read than can be kept", "unread"],
  ["the database cannot be reached", "database"],
  ["the database took too long", "database"],
  ["the database is away: the ref_id tells what was done", "database"],
  ["there is more work waiting than can be taken on", "full"],
  ["too much is waiting", "full"],
  ["as many read the feeds as can", "full"],
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
