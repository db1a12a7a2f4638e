import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { DatabaseComparedClock } from "../compared-clock.ts";
import { ClockWatch } from "./clock-watch.ts";
import type { LaneEvent } from "./lane-options.ts";

test("a wrong clock is measured again and again, by one query at a time, and is logged once until it is right", async () => {
  const answers: (() => void)[] = [];
  const rows = () => new Promise<never[]>((resolve) => answers.push(() => resolve([])));
  const clock = { fault: "an hour ahead" as string | undefined, measure: (read: () => Promise<number>) => read() };
  const events: LaneEvent[] = [];
  const watch = new ClockWatch({ rows }, clock as unknown as DatabaseComparedClock, (event) => events.push(event));
  for (const asked of [1, 2, 3]) {
    // As often as the database has answered.
    for (let times = 0; times < 5; times += 1) watch.check();
    expect(answers).toHaveLength(asked);
    answers.at(-1)?.();
    await setImmediate();
  }
  expect(events).toEqual([{ kind: "clock_wrong", fault: "an hour ahead" }]);
  clock.fault = undefined;
  for (let times = 0; times < 5; times += 1) watch.check();
  expect(events.slice(1)).toEqual([{ kind: "clock_right" }]);
  expect(answers).toHaveLength(3);
});
