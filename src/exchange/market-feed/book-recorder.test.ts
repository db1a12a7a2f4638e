import { expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import { amountOf } from "../../money/amount.ts";
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

/** Records ten thousand changes while the first write is in flight, and returns how many are written in the end. */
async function writtenOf(levels: number): Promise<number> {
  let written = 0;
  let writes = 0;
  const answered: (() => void)[] = [];
  const recorder = new BookRecorder({
    database: {
      rows: async (_text, [markets] = []) => {
        written += (markets as readonly unknown[]).length;
        writes += 1;
        if (writes === 1) await new Promise<void>((resolve) => answered.push(resolve));
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
  for (let version = 0; version < 10_000; version += 1) recorder.record({ ...one, version: BigInt(version) });
  answered[0]?.();
  let before = -1;
  await until("nothing more is written", () => {
    const isDone = written === before;
    before = written;
    return isDone;
  });
  return written;
}

test("during a write a bounded number of changes is kept, and the rest are dropped", async () => {
  expect(await writtenOf(1)).toBe(1 + 5_000);
});

test("fewer changes of many levels are kept", async () => {
  expect(await writtenOf(2_000)).toBe(1 + 50);
});
