import { expect, test } from "vitest";
import type { CustomerId } from "../../customers/customer-id.ts";
import { Turns } from "./turns.ts";

const [ann, bob, eve] = ["ann", "bob", "eve"] as [CustomerId, CustomerId, CustomerId];

/** Begins work of these customers, each of which ends when it is told to. */
function begin(turns: Turns, customers: readonly CustomerId[]) {
  const begun: string[] = [];
  const ends: ((fails: boolean) => void)[] = [];
  const runs = customers.map((customer, i) =>
    turns.run(customer, () => {
      begun.push(`${customer} ${i}`);
      return new Promise<number>((resolve, reject) =>
        ends.push((fails) => (fails ? reject(new Error(`${i}`)) : resolve(i))),
      );
    }),
  );
  return { begun, ends, ended: Promise.allSettled(runs) };
}

const settled = () => new Promise(setImmediate);

test.each([1, 3])("%d at once are begun, the others in their order, also behind one that failed", async (atOnce) => {
  const turns = new Turns(atOnce, atOnce);
  const { begun, ends, ended } = begin(turns, Array(8).fill(ann));
  for (let done = 0; done < 8; done += 1) {
    await settled();
    expect(begun).toEqual(Array.from({ length: Math.min(done + atOnce, 8) }, (_, i) => `ann ${i}`));
    ends[done]?.(done % 2 === 1);
  }
  expect((await ended).map(({ status }) => status)).toEqual(Array(4).fill(["fulfilled", "rejected"]).flat());
  // All places are free again.
  const again = begin(turns, Array(atOnce + 1).fill(ann));
  await settled();
  expect(again.begun).toHaveLength(atOnce);
});

test("of one customer fewer are begun, and the others take turns with its rest", async () => {
  const { begun, ends } = begin(new Turns(3, 2), [ann, ann, ann, ann, bob, bob, bob, eve]);
  await settled();
  expect(begun).toEqual(["ann 0", "ann 1", "bob 4"]);
  for (let done = 0; done < 5; done += 1) {
    ends[done]?.(false);
    await settled();
  }
  // Each that ends makes room for the customer whose turn is next and that has fewer than two.
  expect(begun.slice(3)).toEqual(["ann 2", "bob 5", "eve 7", "ann 3", "bob 6"]);
});
