/** What becomes of commands that are decided under lock when their batch is refused. */
import { expect, test } from "vitest";
import { pendingOf } from "../../../test/support/held-rows.ts";
import { Held } from "./batch-conflicts.ts";
import { LockedBatches } from "./locked-batches.ts";
import type { PendingCommand } from "./pending-command.ts";

/** Batches of commands with these names, which fail if `failureOf` says so. */
function batches(failureOf: (names: readonly string[]) => Error | undefined) {
  const saved: string[][] = [];
  const [onceMore, failed]: [string[], string[]] = [[], []];
  const namesOf = (some: readonly PendingCommand[]) => some.map(({ command }) => String(command.queueKey));
  const lockQueue = {
    onLocked: () => undefined,
    onRefused: (some: readonly PendingCommand[]) => void onceMore.push(...namesOf(some)),
  };
  const locked = new LockedBatches(8, lockQueue, {
    save: async (some) => {
      saved.push(namesOf(some));
      return failureOf(namesOf(some));
    },
    fail: (pending) => void failed.push(...namesOf([pending])),
  });
  return { locked, saved, onceMore, failed };
}

const commands = (names: string): PendingCommand[] => [...names].map((name) => pendingOf(name, name));
const joined = (saved: readonly string[][]): string[] => saved.map((names) => names.join(""));

test("a batch with others that is refused is decided in its parts, each of which is refused for its own commands only", async () => {
  const { locked, saved, onceMore } = batches((names) => (names.includes("b") ? new Held() : undefined));
  await locked.decide({ commands: commands("ab"), others: commands("xyz") });
  expect([joined(saved), onceMore]).toEqual([
    ["abxyz", "ab", "xyz"],
    ["a", "b"],
  ]);
});

test("the same, when it was one of the others", async () => {
  const { locked, saved, onceMore } = batches((names) => (names.includes("y") ? new Held() : undefined));
  await locked.decide({ commands: commands("ab"), others: commands("xyz") });
  expect([joined(saved), onceMore]).toEqual([
    ["abxyz", "ab", "xyz"],
    ["x", "y", "z"],
  ]);
});

test("one of many that PostgreSQL refuses is found by halves, and fails alone", async () => {
  const { locked, saved, failed } = batches((names) => (names.includes("f") ? new Error("a bug") : undefined));
  await locked.decide({ commands: commands("abcdefghi") });
  expect(joined(saved)).toEqual(["abcdefgh", "abcd", "efgh", "ef", "e", "f", "f", "gh", "i"]);
  expect(failed).toEqual(["f"]);
});
