import { expect, test } from "vitest";
import { Recent } from "./recent.ts";

test("what was not set for longest is dropped, however often things are set again, taken out and forgotten", () => {
  const recent = new Recent<number>(3);
  // Beside it the same done slowly.
  let expected: [string, number][] = [];
  for (let i = 0; i < 5_000; i += 1) {
    const name = `n${(i * 7_919) % (i % 3 === 0 ? 4 : 11)}`;
    if (i % 997 === 0) {
      recent.clear();
      expected = [];
    }
    if (i % 13 === 0) {
      const gone = `n${i % 11}`;
      recent.delete(gone);
      expected = expected.filter(([other]) => other !== gone);
    }
    recent.set(name, i);
    expected = [...expected.filter(([other]) => other !== name), [name, i] as [string, number]].slice(-3);
    for (let n = 0; n < 11; n += 1) {
      const there = expected.find(([other]) => other === `n${n}`)?.[1];
      expect([recent.has(`n${n}`), recent.get(`n${n}`)]).toEqual([there !== undefined, there]);
    }
  }
});
