/** What an engine does with its lease and its failures, and what it reports. What it does with orders is in test/exchange. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BTCUSD } from "../../../test/support/exchange/btcusd.ts";
import { stateOf } from "../../../test/support/states.ts";
import type { Market } from "../../catalogue/market.ts";
import type { Command, Rejection } from "../../ledger/decision.ts";
import { DatabaseAway } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import { pause } from "../../std/pause.ts";
import { reject } from "../../std/result.ts";
import { type CommittedRound, Engine, type EngineEvent, type EngineParts } from "./engine.ts";
import { ExpiryTurns } from "./expiry-turns.ts";

type Statement = "take" | "renew" | "release" | "backlog" | "delete";

let engine: Engine;
/** The market, as the catalogue has it. */
let listed: Market;
/** Whether the lease can be taken, and is kept when it is renewed; and whether another engine then turns out to have it. */
let isFree: boolean;
let isKept: boolean;
let isFenced: boolean;
/** What these fail with, if anything: to take the lease, renew it or release it, to read the backlog, to delete cancels. */
let faults: Partial<Record<Statement, Error>>;
/** If it is set, renewals are answered when these are called. */
let held: (() => void)[] | undefined;
/** Cancels of orders that are closed, unless `open` has them. */
let cancels: object[];
/** The resting orders. */
let open: object[];
/** How long it takes to read the backlog, and to commit a round. */
let backlogMs: number;
let clock: { now: () => Instant; fault: string | undefined };
let commitMs: number;
/** What was done, and when: by the clock in seconds, after the name. */
let done: string[];
let events: EngineEvent[];
let rounds: CommittedRound[];
let began: number;
let expiryTurns: ExpiryTurns;

async function answer(what: Statement, rows: object[]): Promise<object[]> {
  done.push(`${what} ${Math.round(performance.now() - began) / 1_000}`);
  const fault = faults[what];
  if (fault !== undefined) throw fault;
  return rows;
}

async function rows(text: string): Promise<object[]> {
  if (text.includes("insert into lease")) return answer("take", isFree ? [{ fence: "7" }] : []);
  if (text.includes("synchronous_commit")) {
    const renewed = answer("renew", isKept ? [{}] : []);
    if (held !== undefined) await new Promise<void>((resolve) => held?.push(resolve));
    return renewed;
  }
  if (text.includes("update lease")) return answer("release", []);
  if (text.includes("delete from order_cancel")) {
    cancels = [];
    return answer("delete", []);
  }
  if (text.includes("from order_cancel c")) return cancels;
  if (backlogMs > 0) await pause(backlogMs);
  return answer("backlog", [{ status: "OPEN", has_cancels: cancels.length > 0, id: null }]);
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0);
  [isFree, isKept, isFenced, faults, held, cancels] = [true, true, false, {}, undefined, []];
  [open, backlogMs, commitMs] = [[], 0, 0];
  listed = BTCUSD;
  clock = { now: () => Date.now() as Instant, fault: undefined };
  [done, events, rounds, began] = [[], [], [], performance.now()];
  expiryTurns = new ExpiryTurns();
  const parts = {
    expiryTurns,
    database: {
      rows,
      commits: { rows },
      transaction: (work: (transaction: object) => unknown) => {
        let found: object[] = [];
        const inTransaction = async (text: string) => {
          if (text.startsWith("declare")) found = text.includes("trim_scale") ? open : [];
          return text.startsWith("fetch") ? found : [];
        };
        return work({ rows: inTransaction });
      },
    },
    lane: {
      execute: async (command: Command<unknown, Rejection>) => {
        // A round, which also depends on what it changes.
        if (command.dependsOn.length > 1) {
          await pause(commitMs);
          return { kind: "done", value: { head: { version: 2n }, orders: [CLOSED], executions: [] } };
        }
        if (!isFenced) return command.decide(stateOf(), Date.now() as Instant);
        isFree = false;
        return reject({ code: "fenced" });
      },
    },
    clock,
    holder: "this process",
    leaseMs: 15_000,
    log: (event: EngineEvent) => void events.push(event),
    publish: (round: CommittedRound) => void rounds.push(round),
  };
  engine = new Engine(() => listed, parts as unknown as EngineParts);
});

afterEach(async () => {
  await engine.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** An order as it rests, and what a cancel makes of it. */
const RESTING = {
  ...{ id: "order", profile_id: "profile", customer_id: "customer", side: "SELL", price: "25000", lots: "1" },
  ...{ priority: "1", recipient_profile_id: null, expiration_date: null, version: "3" },
};
const CLOSED = { id: "order", side: "SELL", price: undefined, status: "CANCELLED", closedAt: 1 };

const runFor = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000);

/** The times of these. */
const timesOf = (name: string): number[] =>
  done.filter((what) => what.startsWith(name)).map((what) => Number(what.split(" ")[1]));

test("opening a market is published as a round of its version, and logged", async () => {
  engine.start();
  await runFor(0);
  const { code: market } = BTCUSD;
  const head = { market, fence: 7n, lastPrice: undefined, lastExecutionId: 0n, lastSequence: 0n, version: 1n };
  const change = { market, version: 1n, levels: [] };
  expect(rounds).toEqual([{ head, orders: [], executions: [], market: BTCUSD, effects: [], change }]);
  expect(events).toEqual([{ kind: "market_opened", market, orders: 0, ms: 0 }]);
  expect([engine.state, engine.stateHash()]).toEqual(["serving", expect.stringMatching(/^[0-9a-f]{16}$/)]);
});

test("a lease is renewed three times in its life, one renewal at a time, and released at the end", async () => {
  engine.start();
  await runFor(11);
  expect(timesOf("renew")).toEqual([5, 10]);
  held = [];
  await runFor(15);
  expect(timesOf("renew")).toEqual([5, 10, 15]);
  held[0]?.();
  held = undefined;
  await runFor(5);
  expect(timesOf("renew")).toEqual([5, 10, 15, 30]);
  await engine.stop();
  expect([timesOf("take"), timesOf("release"), engine.state]).toEqual([[0], [31], "stopped"]);
});

test("an engine whose lease is lost says so, forgets its book, renews nothing, and stands by", async () => {
  engine.start();
  await runFor(1);
  [isKept, isFree] = [false, false];
  await runFor(19);
  expect(events.slice(1)).toEqual([{ kind: "market_lost", market: "BTCUSD" }]);
  expect(timesOf("renew")).toEqual([5]);
  expect(timesOf("take").slice(0, 4)).toEqual([0, 5, 5.75, 6.5]);
  expect([engine.state, engine.stateHash(), engine.hasDue(0 as Instant)]).toEqual(["standing_by", undefined, false]);
});

test("a market that has failed is opened as the catalogue has it by then, with more decimals", async () => {
  engine.start();
  await runFor(1);
  listed = { ...BTCUSD, priceDecimals: 7 };
  faults.backlog = new Error("the order is not a whole number of lots");
  engine.wake();
  await runFor(0);
  faults = {};
  await runFor(3);
  expect([engine.state, rounds.map(({ market }) => market)]).toEqual(["serving", [BTCUSD, listed]]);
});

test("an engine that another one has fenced off has lost its market", async () => {
  isFenced = true;
  engine.start();
  await runFor(0);
  expect([events, rounds, timesOf("release")]).toEqual([[{ kind: "market_lost", market: "BTCUSD" }], [], [0]]);
});

test("with a wrong clock an engine does not even ask for the lease, until it is right", async () => {
  clock.fault = "it is an hour ahead";
  engine.start();
  await runFor(3);
  expect([done, engine.state]).toEqual([[], "standing_by"]);
  clock.fault = undefined;
  await runFor(1);
  expect([timesOf("take"), engine.state]).toEqual([[3.75], "serving"]);
});

test("a renewal that fails loses nothing", async () => {
  faults.renew = new Error("no connection");
  engine.start();
  await runFor(11);
  expect([timesOf("renew"), engine.state]).toEqual([[5, 10], "serving"]);
  expect(events.map(({ kind }) => kind)).toEqual(["market_opened"]);
});

test("a market that fails is opened again after longer and longer pauses, of two seconds at most, until a look succeeds", async () => {
  const error = new Error("the disk is full");
  faults.backlog = error;
  engine.start();
  await runFor(3);
  const failing = [0, 0.05, 0.15, 0.35, 0.75, 1.55, 2.55];
  expect([timesOf("backlog"), engine.state]).toEqual([failing, "failing"]);
  expect(events.filter(({ kind }) => kind === "market_failed")).toEqual(
    failing.map(() => ({ kind: "market_failed", market: "BTCUSD", error })),
  );
  expect(engine.stateHash()).toBeUndefined();
  faults = {};
  await runFor(1);
  expect(engine.state).toBe("serving");
  faults.backlog = error;
  done = [];
  engine.wake();
  await runFor(0.1);
  expect(timesOf("backlog")).toEqual([4, 4.05]);
});

test("while the database is away the lease is asked for without a report; what else prevents it is reported", async () => {
  faults.take = new DatabaseAway("gone");
  engine.start();
  await runFor(2);
  expect([timesOf("take"), events]).toEqual([[0, 0.75, 1.5], []]);
  faults.take = new Error("no such table");
  await runFor(0.5);
  expect(events).toEqual([{ kind: "market_failed", market: "BTCUSD", error: faults.take }]);
});

test("cancels of closed orders are deleted at once; if that fails, the market is opened again", async () => {
  engine.start();
  await runFor(1);
  const cancel = { profile_id: "profile", order_id: "order", requested_at: 1, caller: null, status: "FILLED" };
  cancels = [cancel];
  engine.wake();
  await runFor(0);
  expect([timesOf("delete"), events.length]).toEqual([[1], 1]);
  faults.delete = new Error("read-only");
  cancels = [cancel];
  engine.wake();
  await runFor(1);
  expect(events.slice(1)).toEqual([
    { kind: "market_failed", market: "BTCUSD", error: faults.delete },
    { kind: "market_opened", market: "BTCUSD", orders: 0, ms: 0 },
  ]);
});

test("an opening tells how many orders the book has; a round how many it changed, and its time from reading the backlog on", async () => {
  open = [RESTING, { ...RESTING, id: "another", priority: "2" }];
  engine.start();
  await runFor(1);
  expect(events).toEqual([{ kind: "market_opened", market: "BTCUSD", orders: 2, ms: 0 }]);
  cancels = [{ profile_id: "profile", order_id: "order", requested_at: 1, caller: null, status: "OPEN" }];
  [backlogMs, commitMs] = [20, 30];
  engine.wake();
  await runFor(1);
  expect(events.slice(1)).toEqual([{ kind: "round_committed", market: "BTCUSD", orders: 1, ms: 50 }]);
});

test("what is overdue waits for a turn, and is not forgotten if the one that is woken for it does not take it", async () => {
  const stopped = () => undefined;
  expect([1, 2, 3].map(() => expiryTurns.take(stopped))).toEqual([true, true, false]);
  open = [{ ...RESTING, expiration_date: Date.now() + 2_000 }];
  engine.start();
  await runFor(3);
  const due = () => engine.hasDue(Date.now() as Instant);
  expect(due()).toBe(true);
  engine.wake();
  await runFor(1);
  expect([rounds.length, due()]).toEqual([1, false]);
  expiryTurns.giveBack();
  await runFor(1);
  expect([rounds.length, due()]).toEqual([1, true]);
  engine.wake();
  await runFor(1);
  expect([rounds.length, due(), expiryTurns.isFree]).toEqual([2, false, true]);
});

test("a lease that cannot be released is left to end, and the engine stands by for it", async () => {
  engine.start();
  await runFor(1);
  [isKept, isFree, faults.release] = [false, false, new DatabaseAway("gone")];
  await runFor(5);
  expect([timesOf("release"), engine.state]).toEqual([[5], "standing_by"]);
  [isKept, isFree] = [true, true];
  await runFor(1);
  expect(engine.state).toBe("serving");
});

test("a renewal of a lost lease that is not answered does not keep the next lease from its renewals", async () => {
  held = [];
  engine.start();
  await runFor(6);
  [faults.backlog, isFenced] = [new Error("no connection"), true];
  engine.wake();
  await runFor(0.5);
  expect(events.at(-1)).toEqual({ kind: "market_lost", market: "BTCUSD" });
  [faults, isFenced, isFree] = [{}, false, true];
  await runFor(1);
  const opened = timesOf("take").at(-1) ?? 0;
  await runFor(5);
  expect(timesOf("renew").slice(1)).toEqual([opened + 5]);
  // The answer to the first is none to the second, which is still one at a time.
  held[0]?.();
  await runFor(5);
  expect(timesOf("renew").slice(1)).toEqual([opened + 5]);
  held[1]?.();
  await runFor(5);
  expect(timesOf("renew").slice(1)).toEqual([opened + 5, opened + 15]);
  for (const answer of held) answer();
});
