import { expect, test } from "vitest";
import { type Random, seeded } from "../../../test/support/random.ts";
import type { RowChange } from "../../ledger/change-history.ts";
import type { Instant } from "../../std/clock.ts";

import { inOrder, type OrderedBatch, safeBeginning } from "./event-batch.ts";

/** @param versions of orders that it made, such as "a2" */
function batch(name: string, at: number, ...versions: string[]): OrderedBatch {
  const [slot = "", n = ""] = name.split("/");
  const changes = versions.map((text): [string, RowChange] => {
    const key = text.slice(0, 1);
    return [key, { key: { id: key }, version: BigInt(text.slice(1)), values: {}, digest: "", callers: [] }];
  });
  return { slot: Number(slot), n: BigInt(n), at: at as Instant, written: new Map([["orders", new Map(changes)]]) };
}

const names = (batches: readonly OrderedBatch[]): string[] => batches.map(({ slot, n }) => `${slot}/${n}`);

test("batches come by time, then by slot", () => {
  const batches = [batch("2/0", 10), batch("1/0", 20), batch("1/1", 30), batch("2/1", 20)];
  expect(names(inOrder(batches))).toEqual(["2/0", "1/0", "2/1", "1/1"]);
});

test("never against the numbers of a slot, whose clock was set back", () => {
  expect(names(inOrder([batch("1/1", 10), batch("1/0", 30), batch("2/0", 20)]))).toEqual(["2/0", "1/0", "1/1"]);
});

test("never against the versions of an object, though the later one has the earlier time", () => {
  const batches = [batch("1/0", 30, "a1"), batch("2/0", 10, "a2"), batch("2/1", 11), batch("3/0", 5, "a3")];
  expect(names(inOrder(batches))).toEqual(["1/0", "2/0", "3/0", "2/1"]);
});

test("never against the versions of an object of which a batch made two", () => {
  const batches = [batch("1/0", 30, "a1"), batch("2/0", 10, "a3"), batch("3/0", 5, "a4", "b7"), batch("1/1", 40, "b2")];
  expect(names(inOrder(batches))).toEqual(["1/0", "2/0", "1/1", "3/0"]);
});

test("of a part, only what depends on nothing unread is safe", () => {
  const batches = [batch("1/0", 10), batch("1/1", 40), batch("2/0", 20), batch("2/1", 50)];
  expect(names(safeBeginning(batches, new Set(), 5))).toEqual(["1/0", "2/0", "1/1", "2/1"]);
  // Behind 1/1 there are more, perhaps as early as 35.
  expect(names(safeBeginning(batches, new Set([1]), 5))).toEqual(["1/0", "2/0", "1/1"]);
  expect(names(safeBeginning(batches, new Set([1]), 25))).toEqual(["1/0"]);
});

/** As three nodes commit them, whose clocks differ by as much as half of all. */
function committedBy(below: Random): OrderedBatch[] {
  const skews = [below(20), below(20), below(20)];
  const [numbers, versions] = [[0, 0, 0], new Map<string, number>()];
  return Array.from({ length: 40 }, (_, at) => {
    const slot = below(3);
    const key = "abcdef".charAt(below(6));
    // A batch may change it several times.
    const version = (versions.get(key) ?? 0) + 1 + below(2);
    versions.set(key, version);
    const n = numbers[slot] ?? 0;
    numbers[slot] = n + 1;
    return batch(`${slot}/${n}`, at + (skews[slot] ?? 0), `${key}${version}`);
  });
}

test("whatever the clocks say, versions and numbers rise, and the order of a part is that in the whole", () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const committed = committedBy(seeded(seed));
    const all = inOrder(committed);
    const last = new Map<string, bigint>();
    const rises = (name: string, number: bigint): void => {
      expect(number, `seed ${seed}, ${name}`).toBeGreaterThan(last.get(name) ?? -1n);
      last.set(name, number);
    };
    for (const { slot, n, written } of all) {
      rises(`slot ${slot}`, n);
      for (const [key, { version }] of written.get("orders") ?? []) rises(key, version);
    }
    const part = new Set(committed.slice(0, seed % 40));
    expect(inOrder([...part])).toEqual(all.filter((one) => part.has(one)));
  }
});
