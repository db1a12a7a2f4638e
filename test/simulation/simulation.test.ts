/**
 * Seeds of the whole system (docs/testing.md). `SIMULATION_SEEDS` is their number, `SIMULATION_SEED` the first:
 * `npm run simulate -- --seeds 100000` sets them.
 */
import { expect, test } from "vitest";
import { isAskedToEnd, stepDone } from "../support/long-run.ts";
import { simulate } from "./simulation.ts";

const first = Number(process.env.SIMULATION_SEED ?? 1);
const count = Number(process.env.SIMULATION_SEEDS ?? 300);
/** In parts, so that the runner shows progress. */
const AT_A_TIME = 25;
const parts = Array.from({ length: Math.ceil(count / AT_A_TIME) }, (_, i) => {
  const from = first + i * AT_A_TIME;
  return { from, to: Math.min(from + AT_A_TIME, first + count) - 1 };
});

test.each(parts)(
  "under faults, responses stay true and every command completes: seeds $from to $to",
  { timeout: 600_000 },
  async ({ from, to }) => {
    for (let seed = from; seed <= to && !isAskedToEnd(); seed += 1) {
      await simulate(seed);
      stepDone();
    }
  },
);

test.each([54, 55, 56])("a seed replays exactly: %d", async (seed) => {
  const [once, again] = [await simulate(seed), await simulate(seed)];
  expect(again).toBe(once);
});

/**
 * Each fails without the fix that its name describes: a bound on that wait, or a clock that is compared with the database's.
 * A seed's course changes with the workload; then find others in their place.
 */
test.each([
  ["the network drops the query for the time with which a lane opens its connection", 11],
  ["a clock is ahead by hours when a batch would be decided", 41],
])("%s: seed %d", async (_, seed) => {
  await simulate(seed);
});
