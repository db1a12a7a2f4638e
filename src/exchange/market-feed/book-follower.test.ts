import { beforeEach, expect, test } from "vitest";
import type { MarketCode } from "../../catalogue/market.ts";
import { amountOf, formatAmount, ZERO } from "../../money/amount.ts";
import type { Instant } from "../../std/clock.ts";
import type { BookChange } from "./book-change.ts";
import { BookFollower } from "./book-follower.ts";

const PATIENCE_MS = 1_000;

let follower: BookFollower;
let events: string[];
beforeEach(() => {
  follower = new BookFollower(PATIENCE_MS);
  events = [];
  follower.listeners.join((news) =>
    events.push(
      news === undefined ? "known" : `${news.version}: ${news.levels.map(({ amount }) => formatAmount(amount))}`,
    ),
  );
});

/** A book with one bid. */
const book = (version: bigint, amount: string) => ({
  version,
  bids: amount === "0" ? [] : [{ price: amountOf("100"), amount: amountOf(amount) }],
  asks: [],
});
const change = (version: bigint, amount?: string): BookChange => ({
  market: "BTCUSD" as MarketCode,
  version,
  levels: amount === undefined ? [] : [{ side: "BUY", price: amountOf("100"), amount: amountOf(amount) }],
});
const at = (ms: number): Instant => (1_000_000 + ms) as Instant;

test("it reads the book, then applies and reports the changes after it", () => {
  expect([follower.after, follower.state]).toEqual([undefined, undefined]);
  follower.read(book(4n, "1"));
  expect(follower.after).toBe(4n);
  follower.take({ head: 6n, changes: [change(5n, "2"), change(6n, "0")] }, at(0));
  expect(events).toEqual(["known", "5: 2", "6: 0"]);
  expect(follower.state).toEqual(book(6n, "0"));
});

test("a round that did not change the book is not reported, and leaves no gap", () => {
  follower.read(book(4n, "1"));
  follower.take({ head: 6n, changes: [change(5n), change(6n, "2")] }, at(0));
  expect(events).toEqual(["known", "6: 2"]);
});

test("a missing change is awaited, with those after it", () => {
  follower.read(book(4n, "1"));
  follower.take({ head: 6n, changes: [change(6n, "3")] }, at(0));
  follower.take({ head: 6n, changes: [change(6n, "3")] }, at(PATIENCE_MS));
  expect([follower.after, events]).toEqual([4n, ["known"]]);
  follower.take({ head: 6n, changes: [change(5n, "2"), change(6n, "3")] }, at(PATIENCE_MS + 1));
  expect([follower.after, events]).toEqual([6n, ["known", "5: 2", "6: 3"]]);
});

test("after the gap timeout the book is read again, and the difference is one change", () => {
  follower.read(book(4n, "1"));
  follower.take({ head: 5n, changes: [] }, at(0));
  follower.take({ head: 6n, changes: [change(6n, "3")] }, at(PATIENCE_MS + 1));
  expect([follower.after, follower.state]).toEqual([undefined, book(4n, "1")]);
  // Changes that are found before that are ignored.
  follower.take({ head: 6n, changes: [change(5n, "2")] }, at(PATIENCE_MS + 2));
  follower.read(book(7n, "4"));
  expect([follower.after, events]).toEqual([7n, ["known", "7: 4"]]);
});

test("a change that is missing after the book was read again is awaited as long as the first one", () => {
  follower.read(book(4n, "1"));
  follower.take({ head: 5n, changes: [] }, at(0));
  follower.take({ head: 5n, changes: [] }, at(PATIENCE_MS + 1));
  follower.read(book(5n, "2"));
  follower.take({ head: 6n, changes: [] }, at(PATIENCE_MS + 2));
  follower.take({ head: 6n, changes: [] }, at(2 * PATIENCE_MS + 2));
  expect(follower.after).toBe(5n);
  follower.take({ head: 6n, changes: [] }, at(2 * PATIENCE_MS + 3));
  expect(follower.after).toBeUndefined();
});

test("it does not time out while it makes progress", () => {
  follower.read(book(0n, "1"));
  for (let version = 1n; version <= 5n; version += 1n) {
    follower.take({ head: 100n, changes: [change(version, `${version + 1n}`)] }, at(Number(version) * PATIENCE_MS));
  }
  expect(follower.after).toBe(5n);
});

test("after the database was away the book is read again, because versions may stand for other changes", () => {
  follower.invalidate();
  expect([follower.after, follower.state]).toEqual([undefined, undefined]);
  follower.read(book(4n, "1"));
  follower.invalidate();
  expect([follower.after, follower.state]).toEqual([undefined, book(4n, "1")]);
  follower.take({ head: 5n, changes: [change(5n, "2")] }, at(0));
  follower.read(book(5n, "3"));
  expect([follower.after, events]).toEqual([5n, ["known", "5: 3"]]);
});

test("a head behind the copy means that the database was restored: the book is read again", () => {
  follower.read(book(4n, "1"));
  follower.take({ head: 3n, changes: [] }, at(0));
  expect(follower.after).toBeUndefined();
  follower.read(book(3n, "0"));
  expect([follower.after, events]).toEqual([3n, ["known", `3: ${formatAmount(ZERO)}`]]);
});
