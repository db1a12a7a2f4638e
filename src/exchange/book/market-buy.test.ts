import { test } from "vitest";
import { expectPlay } from "../../../test/reference/book-script.ts";

test("a budget buys whole lots and is filled when the rest buys none at the best remaining price", () => {
  expectPlay(`
    s1  ann  sell  limit   5 @ 100  | s1 rests 5 @ 100
    m1  bob  buy   market  $399     | m1 buys 3 @ 100 of s1, m1 FILLED
    m2  bob  buy   market  $200     | m2 buys 2 @ 100 of s1, s1 FILLED, m2 FILLED
  `);
});

test("a budget of exactly one lot at the best price buys it, and one unit less is rejected", () => {
  expectPlay(`
    s1  ann  sell  limit   2 @ 100  | s1 rests 2 @ 100
    m1  bob  buy   market  $99      | m1 REJECTED below_one_lot
    asks                            | s1 2 @ 100
    m2  bob  buy   market  $100     | m2 buys 1 @ 100 of s1, m2 FILLED
  `);
});

test("a budget that is spent is filled, whatever comes next; one that is not comes past what is overdue", () => {
  expectPlay(`
    s1  ann  sell  limit   1 @ 100  | s1 rests 1 @ 100
    s2  ann  sell  limit   2 @ 110  | s2 rests 2 @ 110
    s3  ann  sell  limit   1 @ 120  | s3 rests 1 @ 120
    overdue s2                      | nothing
    m1  bob  buy   market  $100     | m1 buys 1 @ 100 of s1, s1 FILLED, m1 FILLED
    m2  bob  buy   market  $120     | s2 CANCELLED expired, m2 buys 1 @ 120 of s3, s3 FILLED, m2 FILLED
  `);
});

test("a budget exhausts a level before it moves to the next", () => {
  expectPlay(`
    s1  ann  sell  limit   2 @ 100  | s1 rests 2 @ 100
    s2  cat  sell  limit   1 @ 100  | s2 rests 1 @ 100
    s3  ann  sell  limit   2 @ 110  | s3 rests 2 @ 110
    m1  bob  buy   market  $410     | m1 buys 2 @ 100 of s1, s1 FILLED, m1 buys 1 @ 100 of s2, s2 FILLED, m1 buys 1 @ 110 of s3, m1 FILLED
    asks                            | s3 1 @ 110
  `);
});

test("a budget that exhausts a level but buys no lot at the next is filled", () => {
  expectPlay(`
    s1  ann  sell  limit   1 @ 100  | s1 rests 1 @ 100
    s2  ann  sell  limit   1 @ 110  | s2 rests 1 @ 110
    m1  bob  buy   market  $209     | m1 buys 1 @ 100 of s1, s1 FILLED, m1 FILLED
    asks                            | s2 1 @ 110
  `);
});

test("a budget stops at a level that it cannot exhaust, even if a later order there is smaller", () => {
  expectPlay(`
    s1  ann  sell  limit   5 @ 100  | s1 rests 5 @ 100
    s2  cat  sell  limit   1 @ 100  | s2 rests 1 @ 100
    m1  bob  buy   market  $450     | m1 buys 4 @ 100 of s1, m1 FILLED
    asks                            | s1 1 @ 100, s2 1 @ 100
  `);
});

test("with no asks left a budget is compared with the price of its last fill", () => {
  expectPlay(`
    s1  ann  sell  limit   1 @ 100  | s1 rests 1 @ 100
    m1  bob  buy   market  $199     | m1 buys 1 @ 100 of s1, s1 FILLED, m1 FILLED
    s2  ann  sell  limit   1 @ 100  | s2 rests 1 @ 100
    m2  bob  buy   market  $200     | m2 buys 1 @ 100 of s2, s2 FILLED, m2 CANCELLED immediate_or_cancel
    s3  ann  sell  limit   1 @ 50   | s3 rests 1 @ 50
    s4  ann  sell  limit   1 @ 100  | s4 rests 1 @ 100
    m3  bob  buy   market  $249     | m3 buys 1 @ 50 of s3, s3 FILLED, m3 buys 1 @ 100 of s4, s4 FILLED, m3 FILLED
  `);
});

test("a budget does not buy own asks at the best level", () => {
  expectPlay(`
    s1  ann  sell  limit   1 @ 50   | s1 rests 1 @ 50
    s2  bob  sell  limit   1 @ 100  | s2 rests 1 @ 100
    m1  ann  buy   market  $99      | m1 REJECTED below_one_lot
    asks                            | s1 1 @ 50, s2 1 @ 100
    m2  ann  buy   market  $100     | s1 CANCELLED self_trade, m2 buys 1 @ 100 of s2, s2 FILLED, m2 FILLED
  `);
});

test("a budget cancels an own ask only where it could still buy a lot", () => {
  expectPlay(`
    s1  bob  sell  limit   1 @ 100  | s1 rests 1 @ 100
    s2  ann  sell  limit   1 @ 100  | s2 rests 1 @ 100
    m1  ann  buy   market  $199     | m1 buys 1 @ 100 of s1, s1 FILLED, m1 FILLED
    asks                            | s2 1 @ 100
    s3  bob  sell  limit   1 @ 99   | s3 rests 1 @ 99
    m2  ann  buy   market  $199     | m2 buys 1 @ 99 of s3, s3 FILLED, s2 CANCELLED self_trade, m2 CANCELLED immediate_or_cancel
    asks                            | nothing
  `);
});

test("budgets and costs far above 2^53 are exact", () => {
  expectPlay(`
    s1  ann  sell  limit   9007199254740991 @ 9007199254740991   | s1 rests 9007199254740991 @ 9007199254740991
    m1  bob  buy   market  $9007199254740991                      | m1 buys 1 @ 9007199254740991 of s1, m1 FILLED
    m2  bob  buy   market  $81129638414606636659792731439107       | m2 buys 9007199254740987 @ 9007199254740991 of s1, m2 FILLED
    m3  bob  buy   market  $27021597764222972                     | m3 buys 2 @ 9007199254740991 of s1, m3 FILLED
    m4  bob  buy   market  $18014398509481982                     | m4 buys 1 @ 9007199254740991 of s1, s1 FILLED, m4 CANCELLED immediate_or_cancel
  `);
});
