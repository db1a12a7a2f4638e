import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { MarketCode } from "../../catalogue/market.ts";
import { ExchangeMetrics } from "./exchange.ts";

const market = "BTCUSD" as MarketCode;

async function served(tell: (metrics: ExchangeMetrics) => void, name: RegExp): Promise<string[]> {
  const registry = new Registry();
  tell(new ExchangeMetrics(registry));
  return (await registry.metrics()).split("\n").filter((line) => name.test(line));
}

test("a reader of a feed counts from its coming to its going, and those sent away by the reason", async () => {
  const lines = await served((metrics) => {
    for (let i = 0; i < 3; i += 1) metrics.feedTold({ kind: "reader_came" });
    metrics.feedTold({ kind: "reader_gone", sentAway: undefined });
    metrics.feedTold({ kind: "reader_gone", sentAway: "too_slow" });
  }, /^parbook_feed_readers/);
  expect(lines).toEqual(['parbook_feed_readers_sent_away_total{why="too_slow"} 1', "parbook_feed_readers 1"]);
});

test("an engine's failures are counted by kind, and what goes well is none", async () => {
  const lines = await served((metrics) => {
    metrics.engineTold({ kind: "market_opened", market, orders: 1, ms: 1 });
    metrics.engineTold({ kind: "round_committed", market, orders: 1, ms: 1 });
    metrics.engineTold({ kind: "market_lost", market });
    metrics.engineTold({ kind: "market_failed", market, error: new Error("stale") });
  }, /^parbook_engine_(failures|round_seconds_count)/);
  expect(lines).toEqual([
    'parbook_engine_round_seconds_count{market="BTCUSD"} 1',
    'parbook_engine_failures_total{market="BTCUSD",kind="market_lost"} 1',
    'parbook_engine_failures_total{market="BTCUSD",kind="market_failed"} 1',
  ]);
});
