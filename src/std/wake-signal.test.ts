import { expect, onTestFinished, test, vi } from "vitest";
import { WakeSignal } from "./wake-signal.ts";

/** What a wait has come to so far. */
async function hasEnded(wait: Promise<void>): Promise<boolean> {
  let isOver = false;
  void wait.then(() => (isOver = true));
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  return isOver;
}

test("a wait ends with a notification, or at once when there was one since the last wait", async () => {
  const signal = new WakeSignal();
  const first = signal.wait();
  expect(await hasEnded(first)).toBe(false);
  signal.notify();
  await first;
  const second = signal.wait();
  expect(await hasEnded(second)).toBe(false);
  signal.notify();
  await second;
  signal.notify();
  signal.notify();
  expect(await hasEnded(signal.wait())).toBe(true);
  expect(await hasEnded(signal.wait())).toBe(false);
});

test("a wait ends when its time is up, and one that is notified leaves no timer", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const signal = new WakeSignal();
  const wait = signal.wait(1_000);
  vi.advanceTimersByTime(999);
  expect(await hasEnded(wait)).toBe(false);
  vi.advanceTimersByTime(1);
  expect(await hasEnded(wait)).toBe(true);
  const notified = signal.wait(1_000);
  signal.notify();
  await notified;
  expect(vi.getTimerCount()).toBe(0);
});
