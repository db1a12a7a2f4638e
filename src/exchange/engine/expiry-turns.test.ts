import { expect, test } from "vitest";
import { ExpiryTurns } from "./expiry-turns.ts";

test("two have a turn, and of those that wait each is woken when one is given back, in the order of their asking", () => {
  const turns = new ExpiryTurns();
  const woken: string[] = [];
  const wakes = new Map(["a", "b", "c", "d"].map((name) => [name, () => void woken.push(name)]));
  const take = (name: string) => turns.take(wakes.get(name) ?? (() => undefined));
  expect(["a", "b", "c", "d", "c"].map(take)).toEqual([true, true, false, false, false]);
  expect(turns.isFree).toBe(false);
  turns.giveBack();
  expect([woken, turns.isFree]).toEqual([["c"], true]);
  // The first to ask gets the turn, and c queues behind d.
  expect(["a", "c"].map(take)).toEqual([true, false]);
  turns.giveBack();
  turns.giveBack();
  expect(woken).toEqual(["c", "d", "c"]);
  expect(["d", "c", "a"].map(take)).toEqual([true, true, false]);
});
