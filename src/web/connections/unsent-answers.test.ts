import { expect, test } from "vitest";
import { UnsentAnswers } from "./unsent-answers.ts";

test("an unsent answer is cut off after the grace period plus its size at the minimum rate, unless it was sent", () => {
  let now = 0;
  const answers = new UnsentAnswers({ most: 1_000_000, graceMs: 2_000, bytesPerSecond: 100 }, () => now);
  const cutOff: string[] = [];
  const add = (name: string, bytes: number) => answers.add("caller", bytes, () => cutOff.push(name));
  add("small", 1);
  add("large", 1_000);
  const leave = add("gone", 500);
  for (const [at, expected] of [
    [2_009, []],
    [2_010, ["small"]],
  ] as const) {
    now = at;
    expect([answers.cutOffSlow(), cutOff]).toEqual([expected.length, expected]);
  }
  leave();
  now = 11_999;
  answers.cutOffSlow();
  expect(new Set(cutOff)).toEqual(new Set(["small"]));
  now = 12_000;
  answers.cutOffSlow();
  expect(new Set(cutOff)).toEqual(new Set(["small", "large"]));
  expect(answers.bytes).toBe(1_001);
});
