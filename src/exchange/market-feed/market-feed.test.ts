import { expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import { amountOf } from "../../money/amount.ts";
import { DatabaseAway } from "../../postgres/database.ts";
import { steadyClock } from "../../std/clock.ts";
import { Feed } from "./market-feed.ts";

const BTCUSD = "BTCUSD" as MarketCode;

/** A database with one bid on one market, and no stored changes. */
class ToyDatabase {
  isAway = false;
  head = 5;
  bid = "1";
  rejections = 0;

  async rows<Row>(text: string): Promise<Row[]> {
    if (this.isAway) {
      this.rejections += 1;
      throw new DatabaseAway("gone");
    }
    const head = `${this.head}`;
    const noChange = { market: BTCUSD, head, version: null, levels: null };
    const book = { version: head, side: "BUY", price: "100", amount: this.bid };
    return [text.includes("book_change") ? noChange : book] as Row[];
  }
}

test("a restored database that reuses versions for other changes does not leave a wrong copy", async () => {
  const database = new ToyDatabase();
  const feed = new Feed({ database, clock: steadyClock, onFault: (error) => expect.unreachable(error.message) });
  const followed = feed.followBook(BTCUSD, () => undefined);
  await until("the book is known", () => followed.state !== undefined);
  database.isAway = true;
  feed.wake();
  await until("the feed has detected the failure", () => database.rejections > 0);
  // Restored to version 4 and continued: nothing after version 5 tells what version 5 is now.
  Object.assign(database, { isAway: false, head: 5, bid: "7" });
  await until("the readers have the book as it is", () => followed.state?.bids[0]?.amount === amountOf("7"));
  expect(followed.state).toEqual({ version: 5n, bids: [{ price: amountOf("100"), amount: amountOf("7") }], asks: [] });
  followed.stop();
  feed.stop();
});
