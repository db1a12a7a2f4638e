import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import { accept } from "../decision.ts";
import { Decider } from "./decider.ts";
import { PendingCommand } from "./pending-command.ts";

function commandOn(): PendingCommand {
  const command = { queueKey: "acme", caller: { house: "engine" }, dependsOn: [], decide: () => accept("done", {}) };
  const callbacks = { resolve: () => undefined, reject: () => undefined, onComplete: () => undefined };
  return new PendingCommand(command as never, 0 as Instant, callbacks);
}

test("batches do not go back in time with the clock, until a recovery forgets a clock that was wrong", () => {
  const decider = new Decider(100);
  const timeAt = (now: number) => decider.decide([commandOn()], 1, now as Instant).batch?.content.at;
  expect([timeAt(2_000), timeAt(1_000), timeAt(3_000)]).toEqual([2_000, 2_000, 3_000]);
  decider.reset();
  expect(timeAt(1_000)).toBe(1_000);
});
