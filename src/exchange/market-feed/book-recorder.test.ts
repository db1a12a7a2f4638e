import { expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import { amountOf } from "../../money/amount.ts";
import { DatabaseAway } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import type { BookChange } from "./book-change.ts";
import { BookRecorder } from "./book-recorder.ts";

const change = (version: number, levels: number): BookChange => ({
  market: "BTCUSD" as MarketCode,
  version: BigInt(version),
  levels: Array.from({ length: levels }, (_, i) => ({
    side: "BUY",
    price: amountOf(`${i + 1}`),
    amount: amountOf("1"),
  })),
});

/** Records ten thousand changes while the first write is in flight, twice, and returns how many are written each time. */
async function writtenOf(levels: number): Promise<number[]> {
  let written = 0;
  let isHeld = true;
  let answer: (() => void) | undefined;
  const recorder = new BookRecorder({
    database: {
      history: "",
      rows: async (_text, [markets] = []) => {
        written += (markets as readonly unknown[]).length;
        if (isHeld) await new Promise<void>((resolve) => (answer = resolve));
        return [];
      },
    },
    clock: { now: () => 0 as Instant },
    onWritten: () => undefined,
    onFault: (error) => {
      throw error;
    },
  });
  const one = change(0, levels);
  const counts: number[] = [];
  for (const begin of [0, 10_000]) {
    [written, isHeld] = [0, true];
    for (let n = begin; n < begin + 10_000; n += 1) recorder.record({ ...one, version: BigInt(n) });
    isHeld = false;
    answer?.();
    let before = -1;
    await until("nothing more is written", () => {
      const isDone = written === before;
      before = written;
      return isDone;
    });
    counts.push(written);
  }
  return counts;
}

test("during a write a bounded number of changes is kept, the rest are dropped, and afterwards there is room again", async () => {
  expect(await writtenOf(1)).toEqual([1 + 5_000, 1 + 5_000]);
});

test("fewer changes of many levels are kept", async () => {
  expect(await writtenOf(2_000)).toEqual([1 + 50, 1 + 50]);
});

test("after a failed write the next one goes on, and it is reported unless the database is away", async () => {
  const reported: string[] = [];
  let fault: Error | undefined;
  let writes = 0;
  const recorder = new BookRecorder({
    database: {
      history: "",
      rows: async () => {
        if (fault !== undefined) throw fault;
        return [];
      },
    },
    clock: { now: () => 0 as Instant },
    onWritten: () => {
      writes += 1;
    },
    onFault: ({ message }) => reported.push(message),
  });
  for (const [place, error] of [new DatabaseAway("gone"), new Error("the disk is full"), undefined].entries()) {
    fault = error;
    recorder.record(change(place, 1));
    await until("the write is over", () => writes === place + 1);
  }
  expect(reported).toEqual(["the disk is full"]);
});

test("old changes are removed every twenty seconds, while changes come", async () => {
  let now = 0;
  let writes = 0;
  const removals: unknown[] = [];
  const recorder = new BookRecorder({
    database: {
      history: "",
      rows: async (text, values) => {
        if (text.startsWith("delete")) removals.push([now, values]);
        return [];
      },
    },
    clock: { now: () => now as Instant },
    onWritten: () => {
      writes += 1;
    },
    onFault: (error) => {
      throw error;
    },
  });
  for (const [place, at] of [0, 19_999, 20_000, 20_001, 39_999, 40_000].entries()) {
    now = at;
    recorder.record(change(place, 1));
    await until("it is written", () => writes === place + 1);
  }
  await until("both removals are made", () => removals.length >= 2);
  expect(removals).toEqual([20_000, 40_000].map((at) => [at, [600_000, 10_000]]));
});
