import fc from "fast-check";
import { expect, test } from "vitest";
import { FILLS_WITHIN_MS, FULL, spendTokens, takeTokens } from "./token-bucket.ts";

/** Takes at these times, each in milliseconds; answers how many were taken. */
function takeAt(perSecond: number, times: readonly number[]): number {
  let fullAt = FULL;
  let taken = 0;
  for (const now of times) {
    const taking = takeTokens(fullAt, perSecond, now);
    fullAt = taking.fullAt;
    if (taking.taken) taken += 1;
  }
  return taken;
}

test("a full bucket of 1/s gives 300 tokens at once, not one more, and says how long to wait for the next", () => {
  let fullAt = FULL;
  for (let left = 299; left >= 0; left -= 1) {
    const taking = takeTokens(fullAt, 1, 5_000);
    expect(taking).toEqual({
      taken: true,
      fullAt: 5_000 + (300 - left) * 1_000,
      limit: 300,
      remaining: left,
      waitMs: left === 0 ? taking.waitMs : 0,
    });
    fullAt = taking.fullAt;
  }
  const rejected = takeTokens(fullAt, 1, 5_000);
  expect(rejected).toMatchObject({ taken: false, fullAt, limit: 300, remaining: 0 });
  expect(rejected.waitMs).toBeCloseTo(1_000, 1);
  expect(takeTokens(fullAt, 1, 5_999).taken).toBe(false);
  expect(takeTokens(fullAt, 1, 6_000)).toMatchObject({ taken: true, remaining: 0 });
});

test("a rejection costs no token, however often it is repeated", () => {
  const empty = 300_000;
  for (let asked = 0; asked < 1_000; asked += 1) expect(takeTokens(empty, 1, 0).fullAt).toBe(empty);
  expect(takeTokens(empty, 1, 1_000).taken).toBe(true);
});

test("several tokens are taken at once or not at all, and a full bucket suffices for any number", () => {
  expect(takeTokens(FULL, 1, 0, 299)).toMatchObject({ taken: true, fullAt: 299_000, remaining: 1, waitMs: 0 });
  const rejected = takeTokens(299_000, 1, 0, 4);
  expect(rejected).toMatchObject({ taken: false, fullAt: 299_000, remaining: 1 });
  expect(rejected.waitMs).toBeCloseTo(3_000, 1);
  expect(takeTokens(299_000, 1, 3_000, 4)).toMatchObject({ taken: true, remaining: 0 });
  expect(takeTokens(FULL, 1, 0, 1_000)).toMatchObject({ taken: true, remaining: 0 });
});

test("what was done already takes the tokens that there are", () => {
  expect(spendTokens(FULL, 1, 5_000, 4)).toBe(9_000);
  expect(spendTokens(9_000, 2, 5_000, 4)).toBe(11_000);
  expect(spendTokens(9_000, 1, 5_000, 1_000)).toBe(305_000);
  expect(takeTokens(spendTokens(FULL, 1, 0, 297), 1, 0)).toMatchObject({ taken: true, remaining: 2 });
});

test("after five quiet minutes a bucket is full again", () => {
  expect(takeAt(50, new Array<number>(20_000).fill(0))).toBe(15_000);
  expect(takeTokens(FILLS_WITHIN_MS, 50, FILLS_WITHIN_MS)).toMatchObject({ taken: true, remaining: 14_999 });
});

test("a caller at exactly the rate is never rejected, whatever the rate", () => {
  for (const perSecond of [0.01, 1, 3, 7, 50, 333]) {
    const times = Array.from({ length: 5_000 }, (_, i) => (i * 1_000) / perSecond);
    expect(takeAt(perSecond, times)).toBe(5_000);
  }
});

test("law: it admits what a bucket of counted tokens admits", () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 4_000 }), { maxLength: 400 });
  fc.assert(
    fc.property(gaps, fc.constantFrom(0.02, 0.1, 1), (pauses, perSecond) => {
      const most = perSecond * 300;
      let tokens = most;
      let now = 0;
      let fullAt = FULL;
      for (const pause of pauses) {
        now += pause;
        tokens = Math.min(most, tokens + (pause * perSecond) / 1_000);
        const admitted = tokens >= 1 - 1e-6;
        if (admitted) tokens -= 1;
        const taking = takeTokens(fullAt, perSecond, now);
        fullAt = taking.fullAt;
        expect([now, taking.taken, taking.remaining]).toEqual([now, admitted, Math.max(Math.floor(tokens + 1e-6), 0)]);
      }
    }),
    { seed: 20_261_121 },
  );
});
