import { expect, test } from "vitest";
import { SystemRandom } from "./random.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

test("no bytes are returned twice, also when the store is refilled", () => {
  const random = new SystemRandom();
  const seen = new Set<string>();
  for (let i = 0; i < 3_000; i += 1) {
    const bytes = new Uint8Array(16);
    random.fill(bytes);
    seen.add(hex(bytes));
  }
  expect(seen.size).toBe(3_000);
});

test.each([1, 4_096, 4_097, 10_000])("%i bytes are filled to the last", (length) => {
  const random = new SystemRandom();
  const filled = Array.from({ length: 40 }, () => {
    const bytes = new Uint8Array(length);
    random.fill(bytes);
    return bytes;
  });
  // That the first or the last byte is zero forty times is as good as impossible.
  expect(filled.some((bytes) => bytes[0] !== 0)).toBe(true);
  expect(filled.some((bytes) => bytes[length - 1] !== 0)).toBe(true);
});
