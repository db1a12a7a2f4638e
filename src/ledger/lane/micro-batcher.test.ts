import { expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { MicroBatcher } from "./micro-batcher.ts";

test("what comes together is worked on together, what comes meanwhile after that, and never too much at once", async () => {
  const groups: string[][] = [];
  let goOn = (): void => undefined;
  const gathering = new MicroBatcher<string>(3, async (group) => {
    groups.push(group);
    await new Promise<void>((resolve) => (goOn = resolve));
  });
  const groupsAre = (...expected: string[][]) =>
    until(`the groups are ${expected.join(" ")}`, () => JSON.stringify(groups) === JSON.stringify(expected));

  for (const item of ["a", "b"]) gathering.add(item);
  await groupsAre(["a", "b"]);
  for (const item of ["c", "d", "e", "f"]) gathering.add(item);
  expect(groups).toHaveLength(1);
  goOn();
  await groupsAre(["a", "b"], ["c", "d", "e"]);
  goOn();
  await groupsAre(["a", "b"], ["c", "d", "e"], ["f"]);
  goOn();
  // It sleeps meanwhile, and wakes up for the next one.
  await new Promise(setImmediate);
  gathering.add("g");
  await groupsAre(["a", "b"], ["c", "d", "e"], ["f"], ["g"]);
});
