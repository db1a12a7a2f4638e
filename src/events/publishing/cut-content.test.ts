import { expect, test } from "vitest";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import { contentOf } from "./cut-content.ts";
import type { AddedBatch } from "./event-batch.ts";

const NO_DATABASE: Queryable = {
  rows: async (text) => {
    throw new Error(`transfers are read from nowhere, but here by ${text}`);
  },
};

function transferBatch(n: number, transfers: number): AddedBatch {
  return {
    ...{ slot: 1, n: BigInt(n), at: n as Instant, written: new Map(), executions: [] },
    transfers: Array.from({ length: transfers }, (_, i) => ({
      ...{
        id: `00000000-0000-7000-8000-${String(n * 1_000 + i).padStart(12, "0")}` as Uuid,
        type: "WIRE_DEPOSIT" as const,
      },
      ...{ from: undefined, to: "acme" as CustomerId },
    })),
  };
}

test("while a large cut is made others have their turn, a small one is made at once, and both are in order", async () => {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  try {
    const contentWith = async (batches: number) =>
      contentOf(
        NO_DATABASE,
        Array.from({ length: batches }, (_, n) => transferBatch(n, 10)),
        { number: 1n, marketReaders: new Map() },
      );
    const few = await contentWith(4);
    expect({ turns, facts: few.facts.length }).toEqual({ turns: 0, facts: 40 });
    const many = await contentWith(100);
    expect(many.facts).toHaveLength(1_000);
    expect(turns).toBeGreaterThanOrEqual(19);
    const ids = many.facts.map(({ objectId }) => objectId);
    expect(ids).toEqual(ids.toSorted());
  } finally {
    clearImmediate(next);
  }
});
