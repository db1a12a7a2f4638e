import { expect, test } from "vitest";
import { Turns } from "./turns.ts";

test.each([1, 3])(
  "of what is to be done %d at once are begun, the others in their order, also behind one that failed",
  async (atOnce) => {
    const turns = new Turns(atOnce);
    const begun: number[] = [];
    const ends: ((fails: boolean) => void)[] = [];
    const runs = Array.from({ length: 8 }, (_, i) =>
      turns.run(() => {
        begun.push(i);
        return new Promise<number>((resolve, reject) =>
          ends.push((fails) => (fails ? reject(new Error(`${i}`)) : resolve(i))),
        );
      }),
    );
    const ended = Promise.allSettled(runs);
    for (let done = 0; done < 8; done += 1) {
      await new Promise(setImmediate);
      expect(begun).toEqual(Array.from({ length: Math.min(done + atOnce, 8) }, (_, i) => i));
      ends[done]?.(done % 2 === 1);
    }
    expect((await ended).map(({ status }) => status)).toEqual(Array(4).fill(["fulfilled", "rejected"]).flat());
    // All places are free again.
    for (let i = 0; i < atOnce; i += 1) void turns.run(() => new Promise(() => void begun.push(100 + i)));
    expect(begun.slice(8)).toEqual(Array.from({ length: atOnce }, (_, i) => 100 + i));
  },
);
