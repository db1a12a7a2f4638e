import { afterEach, expect, test, vi } from "vitest";
import { USD } from "../../money/asset.ts";
import type { Database } from "../../postgres/database.ts";
import { withResolvers } from "../../std/with-resolvers.ts";
import { accountKey, type ProfileId } from "../accounts.ts";
import type { Key } from "../tables.ts";
import { LIMITS } from "./lane-options.ts";
import { type AnyCommand, PendingCommand } from "./pending-command.ts";
import { RowLines } from "./row-lines.ts";

afterEach(() => vi.useRealTimers());

/** A database in which every row is held until the test says otherwise. */
function heldRows() {
  const asked: (() => void)[] = [];
  const rows = async (text: string) => {
    if (!text.includes("for update")) return [];
    const { promise, resolve } = withResolvers<void>();
    asked.push(resolve);
    await promise;
    return [];
  };
  const transaction = async (work: (inside: { rows: typeof rows }) => Promise<void>) => work({ rows });
  return { asked, database: { transaction } as unknown as Database };
}

const rowOf = (name: string): Key => accountKey(name as ProfileId, USD);

function pendingOf(queueKey: string, ...names: string[]): PendingCommand {
  const command = { queueKey, dependsOn: names.map(rowOf) } as unknown as AnyCommand;
  return new PendingCommand(command, 0 as never, { resolve: () => {}, reject: () => {}, onComplete: () => {} });
}

function linesOn(database: Database) {
  const left: PendingCommand[] = [];
  const lines = new RowLines({
    database,
    slot: { number: 1 },
    onReady: () => undefined,
    onLeft: (commands) => left.push(...commands),
  });
  return { lines, left };
}

test("commands of one customer wait for two rows at a time, and of all for six; others rest for a moment", async () => {
  vi.useFakeTimers();
  const { asked, database } = heldRows();
  const { lines, left } = linesOn(database);
  const flood = ["a", "b", "c", "d", "e", "f", "g"].map((name) => pendingOf("flooder", name));
  lines.lineUp(flood.map((pending, i) => ({ pending, keys: [rowOf("abcdefg"[i] as string)] })));
  await vi.advanceTimersByTimeAsync(0);
  expect([asked.length, lines.size]).toEqual([2, 7]);
  await vi.advanceTimersByTimeAsync(LIMITS.restMs);
  expect([left, lines.size]).toEqual([flood.slice(2), 2]);
  for (const customer of ["one", "two", "three", "four", "five"]) {
    lines.lineUp([{ pending: pendingOf(customer, customer), keys: [rowOf(customer)] }]);
  }
  await vi.advanceTimersByTimeAsync(0);
  expect([asked.length, lines.size]).toEqual([6, 7]);
});

test("who needs a row that somebody is in line for waits behind, and is decided together with it", async () => {
  const { asked, database } = heldRows();
  const { lines, left } = linesOn(database);
  const [first, second, third] = [pendingOf("one", "a"), pendingOf("two", "b", "a"), pendingOf("three", "b")];
  lines.lineUp([{ pending: first, keys: [rowOf("a")] }]);
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
  const many = Array.from({ length: LIMITS.locking + 2 }, (_, i) => pendingOf(`${i}`, "a"));
  lines.lineUp(many.map((pending) => ({ pending, keys: [rowOf("a")] })));
  await vi.waitUntil(() => asked.length === 1);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect(taken?.commands).toEqual(many.slice(0, LIMITS.locking));
  await vi.waitUntil(() => asked.length === 2);
  expect([lines.size, lines.isReady]).toEqual([2, false]);
  taken?.line?.leave();
  asked[1]?.();
  await vi.waitUntil(() => lines.isReady);
  expect(lines.take()?.commands).toEqual(many.slice(LIMITS.locking));
});

test("one that finds another row held waits for that and for what it has waited for before", async () => {
  const { asked, database } = heldRows();
  const { lines } = linesOn(database);
  const [pending, other] = [pendingOf("one", "a", "b"), pendingOf("two", "a", "b")];
  lines.lineUp([{ pending, keys: [rowOf("a")] }]);
  await vi.waitUntil(() => asked.length === 1);
  asked[0]?.();
  await vi.waitUntil(() => lines.isReady);
  lines.take()?.line?.leave();
  lines.lineUp([{ pending, keys: [rowOf("b")] }]);
  expect(pending.waitedFor).toEqual([rowOf("a"), rowOf("b")]);
  lines.lineUp([{ pending: other, keys: [rowOf("a")] }]);
  await vi.waitUntil(() => asked.length === 2);
  asked[1]?.();
  await vi.waitUntil(() => lines.isReady);
  const taken = lines.take();
  expect([taken?.line?.keys, taken?.commands]).toEqual([pending.waitedFor, [pending, other]]);
  taken?.line?.leave();
});

test("one that is not taken in time gives its row up, and is tried again", async () => {
  vi.useFakeTimers();
  const { asked, database } = heldRows();
  const { lines, left } = linesOn(database);
  const [first, second] = [pendingOf("one", "a"), pendingOf("two", "a")];
  lines.lineUp([first, second].map((pending) => ({ pending, keys: [rowOf("a")] })));
  await vi.advanceTimersByTimeAsync(0);
  asked[0]?.();
  await vi.advanceTimersByTimeAsync(LIMITS.lineIdleMs - 1);
  expect([lines.isReady, left]).toEqual([true, []]);
  await vi.advanceTimersByTimeAsync(1);
  expect([lines.isReady, lines.size, left]).toEqual([false, 0, [first, second]]);
});
