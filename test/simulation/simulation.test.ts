/**
 * Seeds of the whole system (docs/testing.md). `SIMULATION_SEEDS` and `SIMULATION_SEED` say how many, and from which on:
 * `npm run simulate -- --seeds 100000` sets them.
 */
import { expect, test } from "vitest";
import { simulate } from "./simulation.ts";

const first = Number(process.env.SIMULATION_SEED ?? 1);
const count = Number(process.env.SIMULATION_SEEDS ?? 300);
/** Some at a time, so that the runner hears of them. */
const AT_A_TIME = 25;
const parts = Array.from({ length: Math.ceil(count / AT_A_TIME) }, (_, i) => {
  const from = first + i * AT_A_TIME;
  return { from, to: Math.min(from + AT_A_TIME, first + count) - 1 };
});

test.each(parts)(
  "whatever goes wrong, answers stay true and everything comes to an end: seeds $from to $to",
  { timeout: 600_000 },
  async ({ from, to }) => {
    for (let seed = from; seed <= to; seed += 1) await simulate(seed);
  },
);

test.each([54, 55, 56])("a seed replays exactly: %d", { timeout: 120_000 }, async (seed) => {
  const [once, again] = [await simulate(seed), await simulate(seed)];
  expect(again).toBe(once);
});

/**
 * Kept for their kinds: each fails without what its name needs, the bound of that wait, or a clock that is compared with
 * the database's. What a seed does changes with the workload, and then others have to be found in their places.
 */
test.each([
  ["the network swallows the question for the time with which a lane opens its connection", 169],
  ["a clock is ahead by hours when a batch would be decided", 321],
])("%s: seed %d", async (_, seed) => {
  await simulate(seed);
});
