import { test } from "vitest";
import { expectPlay } from "../../../test/reference/book-script.ts";

test("before the first execution a stop waits, whatever rests on the book", () => {
  expectPlay(`
    b1  ann  buy   limit        1 @ 50             | b1 rests 1 @ 50
    t1  bob  sell  stop-market  1        stop 100  | t1 waits
    t2  bob  buy   stop-market  $100     stop 1    | t2 waits
    stops                                          | t1, t2
  `);
});

test("a sell stop triggers when the last price is at its stop price, not one tick above", () => {
  expectPlay(`
    last 100                                       | 100
    b1  ann  buy   limit        1 @ 91             | b1 rests 1 @ 91
    b2  ann  buy   limit        5 @ 90             | b2 rests 5 @ 90
    t1  bob  sell  stop-market  1        stop 90   | t1 waits
    s1  cat  sell  limit        1 @ 91             | s1 sells 1 @ 91 to b1, b1 FILLED, s1 FILLED
    s2  cat  sell  limit        1 @ 90             | s2 sells 1 @ 90 to b2, s2 FILLED, t1 triggers, t1 sells 1 @ 90 to b2, t1 FILLED
  `);
});

test("a buy stop triggers when the last price is at its stop price, not one tick below", () => {
  expectPlay(`
    last 100                                       | 100
    s1  ann  sell  limit        1 @ 109            | s1 rests 1 @ 109
    s2  ann  sell  limit        5 @ 110            | s2 rests 5 @ 110
    t1  bob  buy   stop-market  $220     stop 110  | t1 waits
    b1  cat  buy   limit        1 @ 109            | b1 buys 1 @ 109 of s1, s1 FILLED, b1 FILLED
    b2  cat  buy   limit        1 @ 110            | b2 buys 1 @ 110 of s2, b2 FILLED, t1 triggers, t1 buys 2 @ 110 of s2, t1 FILLED
  `);
});

test("a stop that the last price is already through triggers when it is placed", () => {
  expectPlay(`
    last 100                                       | 100
    b1  ann  buy   limit        1 @ 95             | b1 rests 1 @ 95
    s1  ann  sell  limit        1 @ 105            | s1 rests 1 @ 105
    t1  bob  sell  stop-market  1        stop 100  | t1 triggers, t1 sells 1 @ 95 to b1, b1 FILLED, t1 FILLED
    t2  bob  buy   stop-limit   1 @ 105  stop 96   | t2 waits
    t3  bob  buy   stop-limit   1 @ 105  stop 95   | t3 triggers, t3 buys 1 @ 105 of s1, s1 FILLED, t3 FILLED, t2 triggers, t2 rests 1 @ 105
  `);
});

test("a triggered stop-limit rests its remainder behind existing orders", () => {
  expectPlay(`
    last 100                                       | 100
    t1  bob  sell  stop-limit   3 @ 90   stop 95   | t1 waits
    b1  ann  buy   limit        2 @ 95             | b1 rests 2 @ 95
    s1  cat  sell  limit        4 @ 90             | s1 sells 2 @ 95 to b1, b1 FILLED, s1 rests 2 @ 90, t1 triggers, t1 rests 3 @ 90
    asks                                           | s1 2 @ 90, t1 3 @ 90
    cancel t1                                      | t1 CANCELLED requested
  `);
});

test("stops are evaluated after the incoming order, at the price of its last execution", () => {
  expectPlay(`
    last 100                                       | 100
    b1  ann  buy   limit        1 @ 95             | b1 rests 1 @ 95
    b2  ann  buy   limit        1 @ 90             | b2 rests 1 @ 90
    b3  ann  buy   limit        9 @ 89             | b3 rests 9 @ 89
    t1  bob  sell  stop-market  1        stop 95   | t1 waits
    s1  cat  sell  limit        2 @ 90             | s1 sells 1 @ 95 to b1, b1 FILLED, s1 sells 1 @ 90 to b2, b2 FILLED, s1 FILLED, t1 triggers, t1 sells 1 @ 89 to b3, t1 FILLED
  `);
});

test("due sells trigger by highest stop price first, then by age", () => {
  expectPlay(`
    last 100                                       | 100
    b1  ann  buy   limit        9 @ 90             | b1 rests 9 @ 90
    t1  bob  sell  stop-market  1        stop 92   | t1 waits
    t2  bob  sell  stop-market  1        stop 94   | t2 waits
    t3  bob  sell  stop-market  1        stop 92   | t3 waits
    t4  bob  sell  stop-market  1        stop 89   | t4 waits
    stops                                          | t2, t1, t3, t4
    s1  cat  sell  limit        1 @ 90             | s1 sells 1 @ 90 to b1, s1 FILLED, t2 triggers, t2 sells 1 @ 90 to b1, t2 FILLED, t1 triggers, t1 sells 1 @ 90 to b1, t1 FILLED, t3 triggers, t3 sells 1 @ 90 to b1, t3 FILLED
    stops                                          | t4
  `);
});

test("due buys trigger by lowest stop price first, then by age", () => {
  expectPlay(`
    last 100                                       | 100
    s1  ann  sell  limit        9 @ 110            | s1 rests 9 @ 110
    t1  bob  buy   stop-market  $110     stop 108  | t1 waits
    t2  bob  buy   stop-market  $110     stop 106  | t2 waits
    t3  bob  buy   stop-market  $110     stop 108  | t3 waits
    t4  bob  buy   stop-market  $110     stop 111  | t4 waits
    stops                                          | t2, t1, t3, t4
    b1  cat  buy   limit        1 @ 110            | b1 buys 1 @ 110 of s1, b1 FILLED, t2 triggers, t2 buys 1 @ 110 of s1, t2 FILLED, t1 triggers, t1 buys 1 @ 110 of s1, t1 FILLED, t3 triggers, t3 buys 1 @ 110 of s1, t3 FILLED
  `);
});

test("with stops due on both sides the one with the lower sequence triggers first", () => {
  expectPlay(`
    b1  ann  buy   limit        9 @ 100            | b1 rests 9 @ 100
    s1  ann  sell  limit        9 @ 101            | s1 rests 9 @ 101
    t1  bob  buy   stop-limit   1 @ 101  stop 99   | t1 waits
    t2  bob  sell  stop-limit   1 @ 100  stop 102  | t2 waits
    t3  bob  buy   stop-limit   1 @ 101  stop 98   | t3 waits
    s2  cat  sell  limit        1 @ 100            | s2 sells 1 @ 100 to b1, s2 FILLED, t2 triggers, t2 sells 1 @ 100 to b1, t2 FILLED, t3 triggers, t3 buys 1 @ 101 of s1, t3 FILLED, t1 triggers, t1 buys 1 @ 101 of s1, t1 FILLED
  `);
});

test("executions of a triggered stop trigger the next, until none is due", () => {
  expectPlay(`
    last 100                                       | 100
    b1  ann  buy   limit        1 @ 95             | b1 rests 1 @ 95
    b2  ann  buy   limit        1 @ 90             | b2 rests 1 @ 90
    b3  ann  buy   limit        1 @ 85             | b3 rests 1 @ 85
    t1  bob  sell  stop-market  1        stop 95   | t1 waits
    t2  bob  sell  stop-market  1        stop 90   | t2 waits
    t3  bob  sell  stop-market  1        stop 85   | t3 waits
    t4  bob  sell  stop-market  1        stop 84   | t4 waits
    s1  cat  sell  market       1                  | s1 sells 1 @ 95 to b1, b1 FILLED, s1 FILLED, t1 triggers, t1 sells 1 @ 90 to b2, b2 FILLED, t1 FILLED, t2 triggers, t2 sells 1 @ 85 to b3, b3 FILLED, t2 FILLED, t3 triggers, t3 REJECTED no_liquidity
    stops                                          | t4
  `);
});

test("a stop is no longer due when the previous one has moved the last price away", () => {
  expectPlay(`
    b1  ann  buy   limit        1 @ 100            | b1 rests 1 @ 100
    b2  ann  buy   limit        1 @ 90             | b2 rests 1 @ 90
    t1  bob  sell  stop-market  1        stop 100  | t1 waits
    t2  bob  buy   stop-limit   1 @ 95   stop 95   | t2 waits
    s1  cat  sell  limit        1 @ 100            | s1 sells 1 @ 100 to b1, b1 FILLED, s1 FILLED, t1 triggers, t1 sells 1 @ 90 to b2, b2 FILLED, t1 FILLED
    stops                                          | t2
  `);
});

test("the collar and the liquidity rules are applied when a stop triggers", () => {
  expectPlay(`
    b1  ann  buy   limit        1 @ 99             | b1 rests 1 @ 99
    s1  ann  sell  limit        1 @ 101            | s1 rests 1 @ 101
    last 100                                       | 100
    t1  bob  buy   stop-limit   1 @ 115  stop 100  | t1 triggers, t1 REJECTED price_collar
    t2  bob  buy   stop-limit   1 @ 114  stop 101  | t2 waits
    t3  ann  buy   stop-market  $900     stop 100  | t3 triggers, t3 REJECTED no_liquidity
    t4  bob  buy   stop-market  $100     stop 100  | t4 triggers, t4 REJECTED below_one_lot
    t5  ann  sell  stop-market  1        stop 100  | t5 triggers, t5 REJECTED no_liquidity
    stops                                          | t2
    asks                                           | s1 1 @ 101
  `);
});

test("a triggered stop-market cancels its remainder, even if it was GTC", () => {
  expectPlay(`
    last 100                                       | 100
    b1  ann  buy   limit        1 @ 99             | b1 rests 1 @ 99
    t1  bob  sell  stop-market  2        stop 100  | t1 triggers, t1 sells 1 @ 99 to b1, b1 FILLED, t1 CANCELLED immediate_or_cancel
  `);
});

test("an order that executes nothing triggers nothing", () => {
  expectPlay(`
    t1  bob  sell  stop-market  2        stop 100  | t1 waits
    last 100                                       | 100
    cancel t9                                      | nothing
    stops                                          | t1
  `);
});

test("with a stop due on each side the older one triggers first, whichever side it is on", () => {
  expectPlay(`
    s1  ann  sell  limit        5 @ 100            | s1 rests 5 @ 100
    b1  dan  buy   limit        5 @ 99             | b1 rests 5 @ 99
    t1  bob  buy   stop-market  $100     stop 100  | t1 waits
    t2  cat  sell  stop-market  1        stop 100  | t2 waits
    b2  eve  buy   limit        1 @ 100            | b2 buys 1 @ 100 of s1, b2 FILLED, t1 triggers, t1 buys 1 @ 100 of s1, t1 FILLED, t2 triggers, t2 sells 1 @ 99 to b1, t2 FILLED
    t3  cat  sell  stop-market  1        stop 98   | t3 waits
  `);
  // The sell's own trade moves the last price away from the buy's stop.
  expectPlay(`
    s1  ann  sell  limit        5 @ 100            | s1 rests 5 @ 100
    b1  dan  buy   limit        5 @ 99             | b1 rests 5 @ 99
    t1  cat  sell  stop-market  1        stop 100  | t1 waits
    t2  bob  buy   stop-market  $100     stop 100  | t2 waits
    b2  eve  buy   limit        1 @ 100            | b2 buys 1 @ 100 of s1, b2 FILLED, t1 triggers, t1 sells 1 @ 99 to b1, t1 FILLED
    stops                                          | t2
  `);
});
