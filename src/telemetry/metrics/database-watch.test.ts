import { expect, onTestFinished, test, vi } from "vitest";
import { QUIET } from "../../../test/support/database-snapshot.ts";
import { type DatabaseSnapshot, DatabaseWatch } from "./database-watch.ts";

const LONG_MS = 3_600_000;

/** Reads that the test completes. */
function reads() {
  const pending: { resolve: (snapshot: DatabaseSnapshot) => void; reject: (error: Error) => void }[] = [];
  return { pending, read: () => new Promise<DatabaseSnapshot>((resolve, reject) => pending.push({ resolve, reject })) };
}

test("there is no snapshot before the first read, and a fresh one is shared", async () => {
  let count = 0;
  const watch = new DatabaseWatch(async () => {
    count += 1;
    return QUIET;
  }, LONG_MS);
  expect(watch.snapshot).toBeUndefined();
  await Promise.all([watch.refresh(), watch.refresh(), watch.refresh()]);
  await watch.refresh();
  expect([watch.snapshot, count]).toEqual([QUIET, 1]);
});

test("a database that does not respond blocks no one and is not read twice at once", async () => {
  const { pending, read } = reads();
  const watch = new DatabaseWatch(read, LONG_MS);
  await watch.refresh();
  await watch.refresh();
  expect([watch.snapshot, pending.length]).toEqual([undefined, 1]);
  pending[0]?.resolve(QUIET);
  await watch.refresh();
  expect([watch.snapshot, pending.length]).toEqual([QUIET, 1]);
});

test("after a failed read there is no snapshot, and the next refresh reads again", async () => {
  const { pending, read } = reads();
  const watch = new DatabaseWatch(read, LONG_MS);
  const first = watch.refresh();
  pending[0]?.reject(new Error("away"));
  await first;
  expect(watch.snapshot).toBeUndefined();
  const second = watch.refresh();
  pending[1]?.resolve(QUIET);
  await second;
  expect([watch.snapshot, pending.length]).toEqual([QUIET, 2]);
});

test("a snapshot is used for ten seconds, and a read is waited for half a second", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { pending, read } = reads();
  const watch = new DatabaseWatch(read);
  const first = watch.refresh();
  pending[0]?.resolve(QUIET);
  await first;
  vi.advanceTimersByTime(9_999);
  await watch.refresh();
  expect([watch.snapshot, pending.length]).toEqual([QUIET, 1]);
  vi.advanceTimersByTime(1);
  let isOver = false;
  const second = watch.refresh().then(() => (isOver = true));
  await vi.advanceTimersByTimeAsync(499);
  expect([isOver, pending.length]).toEqual([false, 2]);
  await vi.advanceTimersByTimeAsync(1);
  await second;
  // The old one is not used any more.
  expect([watch.snapshot, pending.length]).toEqual([undefined, 2]);
});
