import { expect, test } from "vitest";
import { amountOf, formatAmount } from "../../money/amount.ts";
import type { OrderBook } from "../market-data/store.ts";
import type { LevelChange } from "./book-change.ts";
import { BookCopy } from "./book-copy.ts";

/** "24000 0.75, 23900 1" */
const levels = (text: string) =>
  text === ""
    ? []
    : text.split(", ").map((level) => {
        const [price = "", amount = ""] = level.split(" ");
        return { price: amountOf(price), amount: amountOf(amount) };
      });
const book = (version: bigint, bids: string, asks: string): OrderBook => ({
  version,
  bids: levels(bids),
  asks: levels(asks),
});
/** "BUY 24000 0.75, SELL 25000 0" */
const changes = (text: string): LevelChange[] =>
  text.split(", ").map((change) => {
    const [side, ...level] = change.split(" ");
    return { side: side as LevelChange["side"], ...levels(level.join(" "))[0] } as LevelChange;
  });
const received = (all: readonly LevelChange[]): string =>
  all.map(({ side, price, amount }) => `${side} ${formatAmount(price)} ${formatAmount(amount)}`).join(", ");

test("changes add, replace and remove levels, and the book stays sorted", () => {
  const copy = new BookCopy(book(7n, "24000 1, 23000 2", "25000 3"));
  copy.apply({ version: 8n, levels: changes("BUY 23500 0.5, SELL 24900 4, SELL 25000 0") });
  copy.apply({ version: 9n, levels: changes("BUY 24000 0.25, SELL 100000 1") });
  expect(copy.book()).toEqual(book(9n, "24000 0.25, 23500 0.5, 23000 2", "24900 4, 100000 1"));
});

test("unchanged levels are not reported, and an empty change increments the version", () => {
  const copy = new BookCopy(book(7n, "24000 1", ""));
  expect(received(copy.apply({ version: 8n, levels: changes("BUY 24000 1, SELL 25000 0, SELL 26000 1") }))).toBe(
    "SELL 26000 1",
  );
  expect(copy.apply({ version: 9n, levels: [] })).toEqual([]);
  expect(copy.book()).toEqual(book(9n, "24000 1", "26000 1"));
});

test("only the next change is applied", () => {
  const copy = new BookCopy(book(7n, "", ""));
  for (const version of [7n, 9n]) expect(() => copy.apply({ version, levels: [] })).toThrow("without a gap");
});

test("replacing the book reports the differences", () => {
  const copy = new BookCopy(book(7n, "24000 1, 23000 2, 22000 3", "25000 3"));
  const after = book(20n, "24000 1, 23000 1.5", "25000 3, 25500 1");
  expect(received(copy.replace(after))).toBe("BUY 22000 0, BUY 23000 1.5, SELL 25500 1");
  expect(copy.book()).toEqual(after);
  expect(copy.replace({ ...after, version: 21n })).toEqual([]);
});

test("a returned book is immutable", () => {
  const copy = new BookCopy(book(7n, "24000 1", ""));
  const before = copy.book();
  copy.apply({ version: 8n, levels: changes("BUY 24000 2") });
  expect(before).toEqual(book(7n, "24000 1", ""));
});
