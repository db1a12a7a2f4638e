import fc from "fast-check";
import { expect, test } from "vitest";
import { nextPosition, type Position, START, type Walk } from "./random-walk.ts";

function walked(walk: Walk, steps: number): number[] {
  const offsets: number[] = [];
  let at: Position = START;
  for (let i = 0; i < steps; i += 1) {
    at = nextPosition(walk, at);
    offsets.push(at.offset);
  }
  return offsets;
}

const WALK: Walk = { seed: "parbook", name: "BTCUSD", band: 100 };

test("the same seed goes the same way, and the way is written down", () => {
  expect(walked(WALK, 16)).toEqual([-1, -2, -1, 0, -1, -2, -3, -2, -3, -2, -3, -4, -3, -2, -1, 0]);
  expect(walked(WALK, 500)).toEqual(walked({ ...WALK }, 500));
});

test("another seed and another name go another way", () => {
  const way = walked(WALK, 64);
  expect(walked({ ...WALK, seed: "another" }, 64)).not.toEqual(way);
  expect(walked({ ...WALK, name: "ETHUSD" }, 64)).not.toEqual(way);
});

test("every step is one unit, also at the edge, and none leads out of the band", () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 12 }), (seed, band) => {
      const way = walked({ ...WALK, seed, band }, 300);
      expect(way.filter((offset, i) => Math.abs(offset - (way[i - 1] ?? 0)) !== 1)).toEqual([]);
      expect(way.filter((offset) => Math.abs(offset) > band)).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

test("it goes on from wherever it is found, also from outside of a band that has become narrower", () => {
  const from = (offset: number): number => nextPosition({ ...WALK, band: 10 }, { step: 7, offset }).offset;
  expect([10, 11, 500, -10, -11, -500].map(from)).toEqual([9, 10, 499, -9, -10, -499]);
});

test("it neither rises nor falls in the long run", () => {
  const way = walked({ ...WALK, band: 1_000_000 }, 20_000);
  // Four times the deviation that 20,000 fair steps have.
  expect(Math.abs(way.at(-1) ?? 0)).toBeLessThan(4 * Math.sqrt(20_000));
});
