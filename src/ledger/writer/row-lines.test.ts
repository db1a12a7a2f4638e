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

test("of one customer two wait in line at a time, of all four, and four of the house; others rest for a moment", async () => {
  vi.useFakeTimers();
  const { asked, database } = heldRows();
  const { lines, left } = linesOn(database);
  const flood = ["a", "b", "c", "d"].map((name) => heldOf("flooder", name));
  for (const pending of flood) lines.lineUp([pending]);
  await vi.advanceTimersByTimeAsync(0);
  expect([asked.length, lines.size]).toEqual([2, 4]);
  await vi.advanceTimersByTimeAsync(LIMITS.restMs);
  expect([left, lines.size]).toEqual([flood.slice(2), 2]);
  for (const customer of ["one", "two", "three"]) lines.lineUp([heldOf(customer, customer)]);
  await vi.advanceTimersByTimeAsync(0);
  expect([asked.length, lines.size]).toEqual([4, 5]);
  for (const market of ["v", "w", "x", "y", "z"]) lines.lineUp([heldOf("house", market)]);
  await vi.advanceTimersByTimeAsync(0);
  expect([asked.length, lines.size]).toEqual([8, 10]);
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

test("no more wait together than are decided at a time", async () => {
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const many = Array.from({ length: LIMITS.locking + 2 }, (_, i) => heldOf("customer", `${i}`));
  lines.lineUp(many);
  expect(lines.size).toBe(many.length);
  await vi.waitUntil(() => asked.length === 1);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect(taken?.commands).toEqual(many.slice(0, LIMITS.locking));
  taken?.line?.leave();
});

test("those who have waited together in vain rest and then wait alone: the row that was not to be had may be that of one", async () => {
  vi.useFakeTimers();
  const failure = withResolvers<never>();
  const database = { transaction: () => failure.promise } as unknown as Database;
  const { lines, left } = linesOn(database);
  const own = ["a", "b"].map((name) => heldOf("customer", name));
  lines.lineUp(own);
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
  expect([first, second, third].map(({ command }) => lines.isFor(command))).toEqual([true, true, false]);
  expect([lines.join(second), lines.join(third)]).toEqual([true, false]);
  expect([lines.isReady, lines.take()]).toEqual([false, undefined]);
  await vi.waitUntil(() => asked.length === 1);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect(taken?.commands).toEqual([first, second]);
  expect([lines.size, lines.isReady, left]).toEqual([0, false, []]);
  taken?.line?.leave();
});

test("those for whom there is no room in one batch wait in line anew", async () => {
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const first = heldOf("0", "a");
  lines.lineUp([first]);
  const behind = Array.from({ length: LIMITS.locking + 1 }, (_, i) => pendingOf(`${i + 1}`, "a"));
  for (const pending of behind) lines.join(pending);
  await vi.waitUntil(() => asked.length === 1);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect(taken?.commands).toEqual([first, ...behind.slice(0, LIMITS.locking - 1)]);
  await vi.waitUntil(() => asked.length === 2);
  expect([lines.size, lines.isReady]).toEqual([2, false]);
  taken?.line?.leave();
  asked[1]?.();
  await vi.waitUntil(() => lines.isReady);
  expect(lines.take()?.commands).toEqual(behind.slice(LIMITS.locking - 1));
});

test("one that waits for a row for which somebody is in line waits behind", async () => {
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const first = pendingOf("one", "a", "b");
  first.waitsFor = ["a", "b"].map(rowOf);
  const [second, third] = [heldOf("two", "a", "c"), heldOf("three", "c")];
  lines.lineUp([first]);
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
  for (const pending of [first, second]) lines.lineUp([pending]);
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.();
  await vi.advanceTimersByTimeAsync(LIMITS.lineIdleMs - 1);
  expect([lines.isReady, left]).toEqual([true, []]);
  await vi.advanceTimersByTimeAsync(1);
  expect([lines.isReady, lines.size, left]).toEqual([false, 0, [first, second]]);
  expect([first.isAlone, second.isAlone]).toEqual([false, false]);
});
