import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import type { DecidedBatch } from "./decider.ts";
import { dispatch, dissolve } from "./in-flight-batch.ts";
import { PendingCommand } from "./pending-command.ts";
import type { Link } from "./slot-chain.ts";

const pending = () => new PendingCommand({} as never, 0 as Instant, {} as never);
const batchOf = (...some: PendingCommand[]) =>
  ({ decided: some.map((one) => ({ pending: one, decision: { kind: "taken" } })) }) as unknown as DecidedBatch;
const LINK = {} as Link;
const TWICE = "a command is in one batch at a time";

test("a command is in one batch until it is known what became of that", () => {
  const [one, other] = [pending(), pending()];
  const first = dispatch(batchOf(one, other), LINK);
  expect(() => dispatch(batchOf(pending(), other), LINK)).toThrow(TWICE);
  expect(dissolve(first)).toEqual([one, other]);
  expect(dispatch(batchOf(other, one), LINK).decided.map((decided) => decided.pending)).toEqual([other, one]);
});

test("a command is in a batch once", () => {
  const one = pending();
  expect(() => dispatch(batchOf(one, one), LINK)).toThrow(TWICE);
});
