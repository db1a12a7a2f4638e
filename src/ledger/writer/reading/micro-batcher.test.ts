import { expect, test } from "vitest";
import { until } from "../../../../test/support/until.ts";
import { MicroBatcher } from "./micro-batcher.ts";

test("items added together form one group, later items form the next, and groups have a maximum size", async () => {
  const groups: string[][] = [];
  let finishGroup = (): void => undefined;
  const batcher = new MicroBatcher<string>(3, async (group) => {
    groups.push(group);
    await new Promise<void>((resolve) => (finishGroup = resolve));
  });
  const groupsAre = (...expected: string[][]) =>
    until(`the groups are ${expected.join(" ")}`, () => JSON.stringify(groups) === JSON.stringify(expected));

  for (const item of ["a", "b"]) batcher.add(item);
  await groupsAre(["a", "b"]);
  for (const item of ["c", "d", "e", "f"]) batcher.add(item);
  expect(groups).toHaveLength(1);
  finishGroup();
  await groupsAre(["a", "b"], ["c", "d", "e"]);
  finishGroup();
  await groupsAre(["a", "b"], ["c", "d", "e"], ["f"]);
  finishGroup();
  // Idle, until the next item arrives.
  await new Promise(setImmediate);
  batcher.add("g");
  await groupsAre(["a", "b"], ["c", "d", "e"], ["f"], ["g"]);
});
