import { beforeEach, expect, test } from "vitest";
import type { MarketCode } from "../../catalogue/market.ts";
import { amountOf, formatAmount, ZERO } from "../../money/amount.ts";
import type { Instant } from "../../std/clock.ts";
import type { BookChange } from "./book-change.ts";
import { BookFollower } from "./book-follower.ts";

const PATIENCE_MS = 1_000;

let follower: BookFollower;
let told: string[];
beforeEach(() => {
  follower = new BookFollower(PATIENCE_MS);
  told = [];
  follower.audience.join((news) =>
    told.push(
      news === undefined ? "known" : `${news.number}: ${news.levels.map(({ amount }) => formatAmount(amount))}`,
    ),
  );
});

/** A book with one bid, of so much. */
const book = (number: bigint, amount: string) => ({
  number,
  bids: amount === "0" ? [] : [{ price: amountOf("100"), amount: amountOf(amount) }],
  asks: [],
});
const change = (number: bigint, amount?: string): BookChange => ({
  market: "BTCUSD" as MarketCode,
  number,
  levels: amount === undefined ? [] : [{ side: "BUY", price: amountOf("100"), amount: amountOf(amount) }],
});
const at = (ms: number): Instant => (1_000_000 + ms) as Instant;

test("it reads the book, then applies and tells the changes behind it", () => {
  expect([follower.after, follower.state]).toEqual([undefined, undefined]);
  follower.read(book(4n, "1"));
  expect(follower.after).toBe(4n);
  follower.take({ head: 6n, changes: [change(5n, "2"), change(6n, "0")] }, at(0));
  expect(told).toEqual(["known", "5: 2", "6: 0"]);
  expect(follower.state).toEqual(book(6n, "0"));
});

test("a round that left the book as it was is not told, and leaves no gap", () => {
  follower.read(book(4n, "1"));
  follower.take({ head: 6n, changes: [change(5n), change(6n, "2")] }, at(0));
  expect(told).toEqual(["known", "6: 2"]);
});

test("a change that is not there yet is waited for, with those behind it", () => {
  follower.read(book(4n, "1"));
  follower.take({ head: 6n, changes: [change(6n, "3")] }, at(0));
  follower.take({ head: 6n, changes: [change(6n, "3")] }, at(PATIENCE_MS));
  expect([follower.after, told]).toEqual([4n, ["known"]]);
  follower.take({ head: 6n, changes: [change(5n, "2"), change(6n, "3")] }, at(PATIENCE_MS + 1));
  expect([follower.after, told]).toEqual([6n, ["known", "5: 2", "6: 3"]]);
});

test("after too long a wait the book is read again, and the difference is one change", () => {
  follower.read(book(4n, "1"));
  follower.take({ head: 5n, changes: [] }, at(0));
  follower.take({ head: 6n, changes: [change(6n, "3")] }, at(PATIENCE_MS + 1));
  expect([follower.after, follower.state]).toEqual([undefined, book(4n, "1")]);
  // Whatever is found meanwhile belongs to a book that is read already.
  follower.take({ head: 6n, changes: [change(5n, "2")] }, at(PATIENCE_MS + 2));
  follower.read(book(7n, "4"));
  expect([follower.after, told]).toEqual([7n, ["known", "7: 4"]]);
});

test("as long as it gets on it is patient, however far behind it is", () => {
  follower.read(book(0n, "1"));
  for (let number = 1n; number <= 5n; number += 1n) {
    follower.take({ head: 100n, changes: [change(number, `${number + 1n}`)] }, at(Number(number) * PATIENCE_MS));
  }
  expect(follower.after).toBe(5n);
});

test("after the database was away the book is read again: the same numbers may stand for other changes by now", () => {
  follower.invalidate();
  expect([follower.after, follower.state]).toEqual([undefined, undefined]);
  follower.read(book(4n, "1"));
  follower.invalidate();
  expect([follower.after, follower.state]).toEqual([undefined, book(4n, "1")]);
  follower.take({ head: 5n, changes: [change(5n, "2")] }, at(0));
  follower.read(book(5n, "3"));
  expect([follower.after, told]).toEqual([5n, ["known", "5: 3"]]);
});

test("a head that is behind the copy is that of a database that was set back: the book is read again", () => {
  follower.read(book(4n, "1"));
  follower.take({ head: 3n, changes: [] }, at(0));
  expect(follower.after).toBeUndefined();
  follower.read(book(3n, "0"));
  expect([follower.after, told]).toEqual([3n, ["known", `3: ${formatAmount(ZERO)}`]]);
});
