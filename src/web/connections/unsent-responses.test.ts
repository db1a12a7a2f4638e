import { expect, onTestFinished, test, vi } from "vitest";
import { createUnsentResponses, UnsentResponses } from "./unsent-responses.ts";

test("an unsent answer is cut off after the grace period plus its size at the minimum rate, unless it was sent", () => {
  let now = 0;
  const answers = new UnsentResponses({ most: 1_000_000, graceMs: 2_000, bytesPerSecond: 100 }, () => now);
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

const BOUNDS = { most: 0, graceMs: 60_000, bytesPerSecond: 1 };
const KIB = 1_024;

test("a caller below its fair share finds room, at the expense of the one with the most unread bytes", () => {
  const cutOff: string[] = [];
  const answers = new UnsentResponses({ ...BOUNDS, most: 1_000 * KIB });
  const add = (caller: string, bytes: number) => answers.add(caller, bytes, () => cutOff.push(caller));
  for (const caller of ["first", "second"]) while (answers.makeRoomFor(caller, 10 * KIB)) add(caller, 10 * KIB);
  expect([answers.bytes, cutOff]).toEqual([750 * KIB, []]);
  // Its share is a third, whether it has some already or not.
  for (const bytes of [50 * KIB, 250 * KIB]) {
    expect([answers.hasRoomFor("client", bytes), answers.makeRoomFor("client", bytes)]).toEqual([true, true]);
    add("client", bytes);
  }
  expect([answers.bytes, cutOff]).toEqual([1_000 * KIB, new Array(5).fill("first")]);
  // More than its share is rejected, and costs nobody anything.
  expect([answers.hasRoomFor("client", 40 * KIB), answers.makeRoomFor("client", 40 * KIB)]).toEqual([false, false]);
  expect(cutOff).toHaveLength(5);
});

test("clients have 64 MiB and callers without a token 32 MiB, each alone half; both have 20 s and a second for 32 KiB", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { ofClients, ofUnauthenticated } = createUnsentResponses();
  for (const [answers, half] of [
    [ofClients, 32 * KIB * KIB],
    [ofUnauthenticated, 16 * KIB * KIB],
  ] as const) {
    answers.add("caller", half - 2_049, () => expect.fail());
    // No more than what would then be left of the room.
    expect([4_098, 4_099].map((bytes) => answers.hasRoomFor("caller", bytes))).toEqual([true, false]);
    let cutOff = 0;
    answers.add("another", 320 * KIB, () => {
      cutOff += 1;
    });
    vi.advanceTimersByTime(29_999);
    expect([answers.cutOffSlow(), cutOff]).toEqual([0, 0]);
    vi.advanceTimersByTime(1);
    expect([answers.cutOffSlow(), cutOff]).toEqual([1, 1]);
  }
});
