import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { gauge, plainGauge, type Sample } from "./gauge.ts";

test("what is not there any more is not served any more, with labels or without", async () => {
  const registry = new Registry();
  let holders: readonly Sample<"holder">[] = [[{ holder: "node 1" }, 1]];
  let lag: number | undefined = 2.5;
  gauge(registry, { name: "holder", help: "Who.", labels: ["holder"] }, () => holders);
  plainGauge(registry, "lag", "How long.", () => lag);
  const served = async () => (await registry.metrics()).split("\n").filter((line) => /^\w/.test(line));
  expect(await served()).toEqual(['holder{holder="node 1"} 1', "lag 2.5"]);
  holders = [[{ holder: "node 2" }, 1]];
  lag = 0;
  expect(await served()).toEqual(['holder{holder="node 2"} 1', "lag 0"]);
  holders = [];
  lag = undefined;
  expect(await served()).toEqual([]);
});
