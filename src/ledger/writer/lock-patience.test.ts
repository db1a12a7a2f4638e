import { expect, test } from "vitest";
import { LockPatience } from "./lock-patience.ts";

/** After commits that took so long. */
function timeoutAfter(...commitsMs: number[]): string {
  const patience = new LockPatience(50);
  for (const ms of commitsMs) patience.observe(ms);
  return patience.timeout;
}

test("a lock is waited for as long as two commits take, in steps, between 50 ms and three seconds", () => {
  expect(timeoutAfter()).toBe("50ms");
  expect(timeoutAfter(2, 3, 4)).toBe("50ms");
  expect(timeoutAfter(40, 40, 40)).toBe("100ms");
  expect(timeoutAfter(50)).toBe("100ms");
  expect(timeoutAfter(51)).toBe("200ms");
  expect(timeoutAfter(799)).toBe("1600ms");
  expect(timeoutAfter(801)).toBe("3s");
  expect(timeoutAfter(60_000)).toBe("3s");
});

test("a few large batches among others do not make it longer, and it follows a disk that becomes slow or fast", () => {
  expect(timeoutAfter(9, 9, 900, 9, 9, 900, 9, 900, 900)).toBe("50ms");
  expect(timeoutAfter(...Array(9).fill(9), ...Array(5).fill(150))).toBe("400ms");
  expect(timeoutAfter(...Array(100).fill(150), ...Array(5).fill(9))).toBe("50ms");
});

test("it is never shorter than its least", () => {
  expect(new LockPatience(3_000).timeout).toBe("3s");
});
