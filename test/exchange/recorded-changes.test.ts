/** What the recorder of order book changes stores when another server takes over meanwhile. */
import { expect, onTestFinished, test } from "vitest";
import type { MarketCode } from "../../src/catalogue/market.ts";
import type { BookChange } from "../../src/exchange/market-feed/book-change.ts";
import { BookRecorder } from "../../src/exchange/market-feed/book-recorder.ts";
import { amountOf } from "../../src/money/amount.ts";
import { DatabaseAway } from "../../src/postgres/database.ts";
import { systemClock } from "../../src/std/clock.ts";
import { testDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

const change = (version: bigint, price: string): BookChange => ({
  market: "ETHUSD" as MarketCode,
  version,
  levels: [{ side: "BUY", price: amountOf(price), amount: amountOf("1") }],
});

test("a change that waits to be written while another server takes over is not stored there, where its version is of another", async () => {
  const db = await testDatabase();
  onTestFinished(() => db.close());
  await db.database.rows("select");
  let [history, written] = ["of the former primary", 0];
  let fail: ((error: Error) => void) | undefined;
  const recorder = new BookRecorder({
    database: {
      rows: (text, values) =>
        fail === undefined ? new Promise((_, reject) => (fail = reject)) : db.database.rows(text, values),
      get history() {
        return history;
      },
    },
    clock: systemClock,
    onWritten: () => {
      written += 1;
    },
    onFault: (error) => {
      throw error;
    },
  });
  recorder.record(change(100n, "80"));
  recorder.record(change(101n, "90"));
  history = db.database.history;
  recorder.record(change(101n, "70"));
  fail?.(new DatabaseAway("gone"));
  await until("all are written or dropped", () => written === 2);
  expect(await db.database.rows("select version, levels from book_change")).toEqual([
    { version: "101", levels: [["BUY", "70", "1"]] },
  ]);
});
