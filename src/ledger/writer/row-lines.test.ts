import { afterEach, expect, test, vi } from "vitest";
import { heldRows, pendingOf, rowOf } from "../../../test/support/held-rows.ts";
import type { Database } from "../../postgres/database.ts";
import { withResolvers } from "../../std/with-resolvers.ts";
import { LIMITS } from "./lane-options.ts";
import type { PendingCommand } from "./pending-command.ts";
import { RowLines } from "./row-lines.ts";

afterEach(() => vi.useRealTimers());

function linesOn(database: Database) {
  const left: PendingCommand[] = [];
  let ready = 0;
  const lines = new RowLines({
    database,
    slot: { number: 1 },
    onReady: () => {
      ready += 1;
    },
    onLeft: (commands) => left.push(...commands),
  });
  return { lines, left, ready: () => ready };
}

/** One that waits for the first of these rows. */
function heldOf(queueKey: string, ...names: string[]): PendingCommand {
  const pending = pendingOf(queueKey, ...names);
  pending.waitsFor = names.slice(0, 1).map(rowOf);
  return pending;
}

test("lines of customers are four, of one customer two, and of the house four; others rest for a moment", async () => {
  vi.useFakeTimers();
  const { asked, database } = heldRows();
  const { lines, left } = linesOn(database);
  const flood = Array.from({ length: 2 * LIMITS.turn + 2 }, (_, i) => heldOf("flooder", `${i}`));
  lines.lineUp(flood.slice(0, 1));
  await vi.advanceTimersByTimeAsync(0);
  for (const pending of flood.slice(1)) lines.lineUp([pending]);
  await vi.advanceTimersByTimeAsync(LIMITS.restMs);
  // The second line begins when the first has ended.
  expect([asked.length, left, lines.size]).toEqual([1, flood.slice(1 + LIMITS.turn), 1 + LIMITS.turn]);
  const ofOthers = ["one", "two", "three"].map((customer) => heldOf(customer, customer));
  for (const pending of ofOthers) lines.lineUp([pending]);
  await vi.advanceTimersByTimeAsync(LIMITS.restMs);
  expect([asked.length, left.slice(1 + LIMITS.turn)]).toEqual([3, ofOthers.slice(2)]);
  for (const market of ["v", "w", "x", "y", "z"]) lines.lineUp([heldOf("house", market)]);
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.length).toBe(7);
});

test("what comes while others of its customer wait for their turn is decided with them, and what comes later in the next", async () => {
  const { asked, answerTurn, database } = heldRows({ holdTurns: true });
  const { lines } = linesOn(database);
  const [first, second, third] = [heldOf("customer", "a"), heldOf("customer", "b"), heldOf("customer", "c")];
  const [alone, other] = [heldOf("customer", "d"), heldOf("other", "a")];
  alone.isAlone = true;
  expect(lines.gathers(first)).toBe(false);
  lines.lineUp([first]);
  await vi.waitUntil(() => answerTurn.length === 1);
  expect([second, alone, other].map((pending) => lines.gathers(pending))).toEqual([true, false, false]);
  // Nothing is locked for them yet, so nobody waits behind them.
  expect(lines.isFor(other.command)).toBe(false);
  lines.lineUp([second]);
  answerTurn[0]?.();
  await vi.waitUntil(() => asked.length === 1);
  expect(lines.isFor(other.command)).toBe(true);
  lines.lineUp([third]);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect([taken?.line?.keys, taken?.commands]).toEqual([["a", "b"].map(rowOf), [first, second]]);
  expect([lines.size, answerTurn.length]).toEqual([1, 1]);
  taken?.line?.leave();
  await vi.waitUntil(() => answerTurn.length === 2);
  answerTurn[1]?.();
  await vi.waitUntil(() => asked.length === 2);
  asked[1]?.();
  await vi.waitUntil(() => lines.isReady);
  expect(lines.take()?.commands).toEqual([third]);
});

test("after its turn a customer's next one waits for three times as long as that took", async () => {
  vi.useFakeTimers();
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const [first, second] = [heldOf("customer", "a"), heldOf("customer", "b")];
  lines.lineUp([first]);
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.();
  await vi.advanceTimersByTimeAsync(200);
  const taken = lines.take();
  await vi.advanceTimersByTimeAsync(20);
  taken?.line?.leave();
  await vi.advanceTimersByTimeAsync(1);
  expect(lines.gathers(second)).toBe(true);
  lines.lineUp([second]);
  await vi.advanceTimersByTimeAsync(3 * 20 - 2);
  expect(asked.length).toBe(1);
  await vi.advanceTimersByTimeAsync(2);
  expect(asked.length).toBe(2);
});

test("while others of its customer have waited for long, a command is tried", async () => {
  vi.useFakeTimers();
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const [first, second] = [heldOf("customer", "a"), heldOf("customer", "b")];
  lines.lineUp([first]);
  await vi.advanceTimersByTimeAsync(LIMITS.stuckMs);
  expect([asked.length, lines.gathers(second)]).toEqual([1, true]);
  await vi.advanceTimersByTimeAsync(1);
  expect(lines.gathers(second)).toBe(false);
});

test("what one customer's commands wait for they wait for together, and are decided in one batch", async () => {
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const own = ["a", "b", "c"].map((name) => heldOf("customer", name));
  lines.lineUp([...own, heldOf("other", "d")]);
  await vi.waitUntil(() => asked.length === 2);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect([taken?.line?.keys, taken?.commands]).toEqual([["a", "b", "c"].map(rowOf), own]);
  taken?.line?.leave();
});

test("rounds of markets wait together only if they wait for the same rows, also by way of a third", async () => {
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const rounds = [["a"], ["b"], ["c"], ["a", "c"]].map((names) => {
    const pending = pendingOf("house", ...names);
    pending.waitsFor = names.map(rowOf);
    return pending;
  });
  lines.lineUp(rounds);
  await vi.waitUntil(() => asked.length === 2);
  for (const answer of asked) answer();
  await vi.waitUntil(() => lines.isReady);
  await new Promise(setImmediate);
  const taken = [lines.take(), lines.take()];
  const [first, second, third, both] = rounds;
  expect(taken.map((one) => one?.commands)).toEqual([[second], [first, third, both]]);
  expect(taken.map((one) => one?.line?.keys)).toEqual([["b"], ["a", "c"]].map((names) => names.map(rowOf)));
  for (const one of taken) one?.line?.leave();
});

test.each([
  ["no more wait together than are decided at a time", LIMITS.turn, 1],
  ["nor more than a batch has rows for, unless it is one", 2, LIMITS.turnRows / 2],
  ["one that is too heavy waits alone", 1, LIMITS.turnRows + 1],
])("%s", async (_, most, weight) => {
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const many = Array.from({ length: most + 2 }, (_unused, i) => heldOf("customer", `${i}`));
  for (const { command } of many) Object.assign(command, { weight });
  lines.lineUp(many);
  expect(lines.size).toBe(many.length);
  await vi.waitUntil(() => asked.length === 1);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect(taken?.commands).toEqual(many.slice(0, most));
  taken?.line?.leave();
});

test("those who have waited together in vain rest and then wait alone: the row that was not to be had may be that of one", async () => {
  vi.useFakeTimers();
  const failure = withResolvers<never>();
  const rows = async (text: string) => (text.includes("for update") ? failure.promise : []);
  const transaction = (work: (inside: { rows: typeof rows }) => Promise<void>) => work({ rows });
  const database = { transaction } as unknown as Database;
  const { lines, left } = linesOn(database);
  const own = ["a", "b"].map((name) => heldOf("customer", name));
  lines.lineUp(own);
  await vi.advanceTimersByTimeAsync(0);
  failure.reject(new Error("lock timeout"));
  await vi.advanceTimersByTimeAsync(LIMITS.restMs - 1);
  expect([left, lines.size]).toEqual([[], 2]);
  await vi.advanceTimersByTimeAsync(1);
  expect([left, lines.size]).toEqual([own, 0]);
  const { asked, database: second } = heldRows();
  const { lines: anew } = linesOn(second);
  anew.lineUp(left);
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.length).toBe(2);
});

test("those whose turn does not come rest and then wait together again", async () => {
  vi.useFakeTimers();
  const transaction = () => Promise.reject(new Error("lock timeout"));
  const { lines, left } = linesOn({ transaction } as unknown as Database);
  const own = ["a", "b"].map((name) => heldOf("customer", name));
  lines.lineUp(own);
  await vi.advanceTimersByTimeAsync(LIMITS.restMs);
  expect([left, own.map(({ isAlone }) => isAlone)]).toEqual([own, [false, false]]);
});

test("of those that have their rows the house is first: everybody's orders on a market wait for its round", async () => {
  const { asked, database } = heldRows();
  const { lines, ready } = linesOn(database);
  const [customer, round] = [heldOf("customer", "a"), heldOf("house", "b")];
  for (const pending of [customer, round]) lines.lineUp([pending]);
  await vi.waitUntil(() => asked.length === 2);
  asked[0]?.();
  asked[1]?.();
  await vi.waitUntil(() => ready() === 2);
  const taken = [lines.take(), lines.take()];
  expect(taken.map((one) => one?.commands)).toEqual([[round], [customer]]);
  for (const one of taken) one?.line?.leave();
});

test("who needs a row that somebody is in line for waits behind, and is decided together with it", async () => {
  const { asked, database } = heldRows();
  const { lines, left } = linesOn(database);
  const [first, second, third] = [heldOf("one", "a"), pendingOf("two", "b", "a"), pendingOf("three", "b")];
  lines.lineUp([first]);
  await vi.waitUntil(() => asked.length === 1);
  expect([first, second, third].map(({ command }) => lines.isFor(command))).toEqual([true, true, false]);
  expect([lines.join(second), lines.join(third)]).toEqual([true, false]);
  expect([lines.isReady, lines.take()]).toEqual([false, undefined]);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect(taken?.commands).toEqual([first, second]);
  expect([lines.size, lines.isReady, left]).toEqual([0, false, []]);
  taken?.line?.leave();
});

test("those for whom there is no room in one batch wait in line anew, each customer's for its own turn", async () => {
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const first = heldOf("0", "a");
  lines.lineUp([first]);
  await vi.waitUntil(() => asked.length === 1);
  const behind = Array.from({ length: LIMITS.locking + 2 }, (_, i) => pendingOf(`${i + 1}`, "a", "b"));
  for (const pending of behind) lines.join(pending);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect(taken?.commands).toEqual([first, ...behind.slice(0, LIMITS.locking)]);
  await vi.waitUntil(() => asked.length === 3);
  expect([lines.size, lines.isReady]).toEqual([2, false]);
  taken?.line?.leave();
  for (const [i, pending] of behind.slice(LIMITS.locking).entries()) {
    asked[1 + i]?.();
    await vi.waitUntil(() => lines.isReady);
    const next = lines.take();
    expect([next?.line?.keys, next?.commands]).toEqual([[rowOf("a")], [pending]]);
  }
});

test("one that waits for a row for which somebody is in line waits behind", async () => {
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const first = pendingOf("one", "a", "b");
  first.waitsFor = ["a", "b"].map(rowOf);
  const [second, third] = [heldOf("two", "a", "c"), heldOf("three", "c")];
  lines.lineUp([first]);
  await vi.waitUntil(() => asked.length === 1);
  lines.lineUp([second, third]);
  await vi.waitUntil(() => asked.length === 2);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect([taken?.line?.keys, taken?.commands]).toEqual([first.waitsFor, [first, second]]);
  taken?.line?.leave();
});

test("one that is not taken in time gives its row up, and is tried again", async () => {
  vi.useFakeTimers();
  const { asked, database } = heldRows();
  const { lines, left } = linesOn(database);
  const [first, second] = [heldOf("one", "a"), heldOf("two", "a")];
  lines.lineUp([first]);
  await vi.advanceTimersByTimeAsync(0);
  lines.lineUp([second]);
  asked[0]?.();
  await vi.advanceTimersByTimeAsync(LIMITS.lineIdleMs - 1);
  expect([lines.isReady, left]).toEqual([true, []]);
  await vi.advanceTimersByTimeAsync(1);
  expect([lines.isReady, lines.size, left]).toEqual([false, 0, [first, second]]);
  expect([first.isAlone, second.isAlone]).toEqual([false, false]);
});
