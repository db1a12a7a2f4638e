/**
 * The queues against a model of a customer's log, a database and a receiver: whatever happens in whatever order, and
 * whenever the process dies, nothing is lost, and each order mode keeps its promise.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ACCEPTED, type Step, World } from "../../../test/support/queue-world.ts";

const RUNS = Number(process.env.TEST_WEBHOOK_RUNS ?? 25);

const answers = fc.oneof(
  fc.array(fc.constant(false), { minLength: 1, maxLength: 16 }),
  fc.array(fc.boolean(), { minLength: 1, maxLength: 16 }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("publish" as const),
      objects: fc.array(fc.nat(3), { minLength: 1, maxLength: 12 }),
    }),
  },
  { weight: 9, arbitrary: fc.record({ kind: fc.constantFrom("read", "write", "wait") }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom("failed write", "crash", "put back", "hang", "fail for long") }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("take" as const), most: fc.integer({ min: 1, max: 16 }) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("answer" as const), from: fc.nat(15), accepts: answers }) },
);

for (const order of ["per_object", "any", "strict"] as const) {
  test(`${order}: whatever happens, each event is accepted or listed, and the order is kept`, () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 50, maxLength: 150, size: "max" }), (steps) => {
        const world = new World(order);
        for (const next of steps) world.run(next);
        while (world.inFlight.length > 0) world.answer(0, ACCEPTED);
        world.finish();
        expect(world.stored.readTo).toBe(BigInt(world.log.length));
        for (const { number } of world.log.slice(0, Number(world.stored.readTo)))
          expect(world.accepted.has(number) || world.rows.get(number)?.status === "UNDELIVERED").toBe(true);
      }),
      { numRuns: RUNS },
    );
  });
}
