/** The lock that keeps two processes from installing and building at once. */
import { existsSync, mkdirSync, rmdirSync, statSync, utimesSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";

type HoldingLock = <Value>(path: string, work: () => Promise<Value>) => Promise<Value>;

let holdingLock: HoldingLock;
let folder: string;
beforeAll(async () => {
  ({ holdingLock } = await import(new URL("../../scripts/lock.mjs", import.meta.url).href));
  folder = await mkdtemp(join(tmpdir(), "parbook-lock-"));
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(() => void vi.useRealTimers());

const lock = (): string => join(folder, "lock");

/** As another process holds it, which has touched it so many seconds ago. */
function heldSince(seconds: number): void {
  mkdirSync(lock());
  const touched = new Date(Date.now() - seconds * 1_000);
  utimesSync(lock(), touched, touched);
}

test("work is done while the lock is held, which is free afterwards, also when the work has failed", async () => {
  const exits = process.listenerCount("exit");
  expect(await holdingLock(lock(), async () => existsSync(lock()))).toBe(true);
  const failing = holdingLock(lock(), () => Promise.reject(new Error("it failed")));
  await expect(failing).rejects.toThrow("it failed");
  expect([await readdir(folder), process.listenerCount("exit")]).toEqual([[], exits]);
});

test("of two that want it one waits for the other", async () => {
  const order: string[] = [];
  let end = (): void => undefined;
  const first = holdingLock(lock(), async () => {
    order.push("first begins");
    await new Promise<void>((resolve) => (end = resolve));
    order.push("first ends");
  });
  const second = holdingLock(lock(), async () => void order.push("second"));
  end();
  await Promise.all([first, second]);
  expect(order).toEqual(["first begins", "first ends", "second"]);
});

test("a lock that was touched in the last ten seconds is waited for, and one that was not is taken", async () => {
  heldSince(9);
  const waiting = holdingLock(lock(), async () => "after it");
  expect(await readdir(folder)).toEqual(["lock"]);
  rmdirSync(lock());
  expect(await waiting).toBe("after it");

  heldSince(11);
  const taking = holdingLock(lock(), async () => "in its place");
  expect(await readdir(folder)).toEqual([]);
  expect(await taking).toBe("in its place");
});

test("its holder touches it every second", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const touched = await holdingLock(lock(), async () => {
    utimesSync(lock(), 0, 0);
    vi.advanceTimersByTime(999);
    const before = statSync(lock()).mtimeMs;
    vi.advanceTimersByTime(1);
    return [before, Math.abs(statSync(lock()).mtimeMs - Date.now()) < 5_000];
  });
  expect(touched).toEqual([0, true]);
});
