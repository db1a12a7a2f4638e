import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { MarketCode } from "../../catalogue/market.ts";
import { ExchangeMetrics } from "./exchange.ts";

const market = "BTCUSD" as MarketCode;

async function served(act: (metrics: ExchangeMetrics) => void, name: RegExp): Promise<string[]> {
  const registry = new Registry();
  act(new ExchangeMetrics(registry));
  return (await registry.metrics()).split("\n").filter((line) => name.test(line));
}

test("open feeds are counted, and disconnections by reason", async () => {
  const lines = await served((metrics) => {
    for (let i = 0; i < 3; i += 1) metrics.onFeedEvent({ kind: "reader_came" });
    metrics.onFeedEvent({ kind: "reader_gone", sentAway: undefined });
    metrics.onFeedEvent({ kind: "reader_gone", sentAway: "too_slow" });
  }, /^parbook_feed_readers/);
  expect(lines).toEqual(['parbook_feed_readers_disconnected_total{why="too_slow"} 1', "parbook_feed_readers 1"]);
});

test("engine failures are counted by kind, and successes are not", async () => {
  const lines = await served((metrics) => {
    metrics.onEngineEvent({ kind: "market_opened", market, orders: 1, ms: 1 });
    metrics.onEngineEvent({ kind: "round_committed", market, orders: 1, ms: 250 });
    metrics.onEngineEvent({ kind: "market_lost", market });
    metrics.onEngineEvent({ kind: "market_failed", market, error: new Error("stale") });
  }, /^parbook_engine_(failures|round_seconds_(sum|count))/);
  expect(lines).toEqual([
    'parbook_engine_round_seconds_sum{market="BTCUSD"} 0.25',
    'parbook_engine_round_seconds_count{market="BTCUSD"} 1',
    'parbook_engine_failures_total{market="BTCUSD",kind="market_lost"} 1',
    'parbook_engine_failures_total{market="BTCUSD",kind="market_failed"} 1',
  ]);
});

test("engines that serve, books that were reread and failures of the market maker are served by market and kind", async () => {
  const other = "ETHUSD" as MarketCode;
  const lines = await served((metrics) => {
    metrics.watch({
      report: () => [
        { market, state: "serving", lagMs: 0 },
        { market: other, state: "standing_by", lagMs: 0 },
      ],
    });
    for (const of of [market, market, other]) metrics.onFeedGap(of);
    metrics.onMakerEvent({ kind: "pass_failed", error: new Error("away") });
  }, /^parbook_(engine_serving|feed_gaps|maker)/);
  expect(lines).toEqual([
    'parbook_feed_gaps_total{market="BTCUSD"} 2',
    'parbook_feed_gaps_total{market="ETHUSD"} 1',
    'parbook_maker_failures_total{kind="pass_failed"} 1',
    'parbook_engine_serving{market="BTCUSD"} 1',
    'parbook_engine_serving{market="ETHUSD"} 0',
  ]);
});
