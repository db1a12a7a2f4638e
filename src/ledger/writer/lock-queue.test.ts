/** Which commands have their rows locked first, and in which order. */
import { afterEach, expect, test, vi } from "vitest";
import { heldRows, pendingFor, pendingOf, rowOf } from "../../../test/support/held-rows.ts";
import { keyName } from "../tables.ts";
import { LIMITS } from "./lane-options.ts";
import { LockQueue } from "./lock-queue.ts";

afterEach(() => vi.useRealTimers());

function lockQueue() {
  const { asked, database } = heldRows();
  const clock = { now: () => 1_000_000 as never };
  let ready = 0;
  const queue = new LockQueue({ clock, database }, { number: 1 }, {} as never, {} as never, () => {
    ready += 1;
  });
  return { asked, queue, ready: () => ready };
}

const names = Array.from({ length: LIMITS.fewRows + 1 }, (_, i) => `row ${i}`);
const contested = names.slice(0, LIMITS.manyContested);

test("what needs many rows, several of them contested, waits for these in a line of its own, not behind others", async () => {
  const { asked, queue } = lockQueue();
  queue.addContested(contested.map((name) => keyName(rowOf(name))));
  const customer = pendingOf("customer", "row 0");
  queue.lineUp([{ pending: customer, keys: [rowOf("row 0")] }]);
  await vi.waitUntil(() => asked.length === 1);
  const [round, other] = [pendingOf("house", ...names), pendingOf("other", "row 0")];
  expect([round, other].map((pending) => queue.isFor(pending))).toEqual([true, true]);
  queue.push([round, other]);
  await vi.waitUntil(() => asked.length === 2);
  expect(round.waitsFor).toEqual(contested.map(rowOf));
  asked[1]?.();
  await vi.waitUntil(() => queue.isReady);
  const first = queue.take();
  expect([first.line?.keys, first.commands]).toEqual([contested.map(rowOf), [round]]);
  asked[0]?.();
  await vi.waitUntil(() => queue.isReady);
  const second = queue.take();
  expect(second.commands).toEqual([customer, other]);
  for (const { line } of [first, second]) line?.leave();
});

test("who needs only that an owner is active does not wait behind who changes it", async () => {
  const { asked, queue } = lockQueue();
  const owner = rowOf("owner");
  queue.lineUp([{ pending: pendingFor("one", [owner]), keys: [owner] }]);
  await vi.waitUntil(() => asked.length === 1);
  const changes = pendingFor("two", [owner]);
  const needsActive = pendingFor("three", [{ ...owner, reads: "that it is active" }]);
  queue.push([changes, needsActive]);
  expect(queue.take().commands).toEqual([needsActive]);
});

test("who needs no place in line is decided with those that had one", async () => {
  const { asked, queue } = lockQueue();
  const inLine = pendingOf("customer", "row 1");
  queue.lineUp([{ pending: inLine, keys: [rowOf("row 1")] }]);
  await vi.waitUntil(() => asked.length === 1);
  asked[0]?.();
  await vi.waitUntil(() => queue.isReady);
  const other = pendingOf("other", "row 2");
  queue.push([other]);
  const { commands, others, line } = queue.take();
  expect([commands, others, queue.isReady]).toEqual([[inLine], [other], false]);
  line?.leave();
});

test("what is not in line rests as long as the decision before it took, unless who is in line has its rows", async () => {
  vi.useFakeTimers();
  const { asked, queue, ready } = lockQueue();
  queue.push([pendingOf("one", "row 1")]);
  queue.take();
  await vi.advanceTimersByTimeAsync(40);
  queue.onDecided();
  const next = pendingOf("two", "row 2");
  queue.push([next]);
  await vi.advanceTimersByTimeAsync(39);
  expect([queue.isReady, ready()]).toEqual([false, 0]);
  await vi.advanceTimersByTimeAsync(1);
  expect([queue.isReady, ready()]).toEqual([true, 1]);
  queue.onDecided();
  expect(queue.isReady).toBe(false);
  const inLine = pendingOf("three", "row 3");
  queue.lineUp([{ pending: inLine, keys: [rowOf("row 3")] }]);
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(queue.isReady).toBe(true);
  const { commands, others, line } = queue.take();
  expect([commands, others]).toEqual([[inLine], [next]]);
  line?.leave();
});

test("of a customer in line, those that need contested rows join it with all of these; the others are tried", async () => {
  const { asked, queue } = lockQueue();
  queue.addContested(["row 1", "row 2"].map((name) => keyName(rowOf(name))));
  const first = pendingOf("customer", "row 0");
  queue.lineUp([{ pending: first, keys: [rowOf("row 0")] }]);
  const [joins, tried, ofAnother] = [
    pendingOf("customer", "row 1", "row 2", "row 3"),
    pendingOf("customer", "row 3"),
    pendingOf("another", "row 1"),
  ];
  queue.push([joins, tried, ofAnother]);
  expect(queue.take()).toEqual({ commands: [tried, ofAnother] });
  await vi.waitUntil(() => asked.length === 1);
  asked[0]?.();
  await vi.waitUntil(() => queue.isReady);
  const { line, commands } = queue.take();
  expect([line?.keys, commands]).toEqual([["row 0", "row 1", "row 2"].map(rowOf), [first, joins]]);
  line?.leave();
});
