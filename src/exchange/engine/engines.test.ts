/** How the engines of a process are started, looked after and reported. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BTCUSD, BTCUSD_ROW } from "../../../test/support/exchange/btcusd.ts";
import { type Market, marketOf } from "../../catalogue/market.ts";
import { createEngines, type Engines, type EnginesOptions } from "./engines.ts";

const ETHUSD = marketOf({ ...BTCUSD_ROW, code: "ETHUSD", number: 7 }, []);

let markets: Market[];
/** The markets with work, as the database has them: since when. */
let waiting: { readonly market: string; readonly since: number }[];
let fault: Error | undefined;
let looks: number;
/** What an attempt to take a lease waits for. */
let taking: Promise<void>;
let engines: Engines;

beforeEach(() => {
  vi.useFakeTimers();
  [markets, waiting, fault, looks, taking] = [[BTCUSD], [], undefined, 0, Promise.resolve()];
  const rows = async (text: string) => {
    if (!text.includes("since")) {
      await taking;
      // Another process has all leases.
      return [];
    }
    looks += 1;
    if (fault !== undefined) throw fault;
    return waiting;
  };
  engines = createEngines({
    database: { rows, commits: { rows } },
    clock: { now: () => Date.now() },
    catalogue: { listMarkets: () => markets },
    holder: "this process",
    log: () => undefined,
  } as unknown as EnginesOptions);
  engines.start();
});

afterEach(async () => {
  await engines.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test("a market that the operator adds gets its engine without a restart", async () => {
  await vi.advanceTimersByTimeAsync(1_000);
  const standby = { state: "standing_by", lagMs: 0 };
  expect(engines.report()).toEqual([{ market: "BTCUSD", ...standby }]);
  markets = [BTCUSD, ETHUSD];
  await vi.advanceTimersByTimeAsync(200);
  expect(engines.report()).toEqual(["BTCUSD", "ETHUSD"].map((market) => ({ market, ...standby })));
});

test("the lag of a market is how long its oldest order or cancel waits, and none by a clock that is behind", async () => {
  waiting = [{ market: "BTCUSD", since: Date.now() }];
  await vi.advanceTimersByTimeAsync(1_500);
  expect(engines.report().map(({ lagMs }) => lagMs)).toEqual([1_500]);
  waiting = [{ market: "BTCUSD", since: Date.now() + 60_000 }];
  await vi.advanceTimersByTimeAsync(200);
  expect(engines.report().map(({ lagMs }) => lagMs)).toEqual([0]);
});

test("the markets are looked at about ten times a second, also after a look that failed", async () => {
  fault = new Error("the database is away");
  await vi.advanceTimersByTimeAsync(10_000);
  fault = undefined;
  waiting = [{ market: "BTCUSD", since: Date.now() - 1_000 }];
  await vi.advanceTimersByTimeAsync(10_000);
  expect(looks).toBeGreaterThan(160);
  expect(looks).toBeLessThan(270);
  expect(engines.report().map(({ lagMs }) => lagMs)).toEqual([11_000]);
});

test("a stop waits for what the engines are doing", async () => {
  let answer: (() => void) | undefined;
  taking = new Promise((resolve) => {
    answer = resolve;
  });
  await vi.advanceTimersByTimeAsync(2_000);
  let isStopped = false;
  const stopping = engines.stop().then(() => {
    isStopped = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isStopped).toBe(false);
  answer?.();
  await stopping;
  expect(engines.report()).toEqual([{ market: "BTCUSD", state: "stopped", lagMs: 0 }]);
});
