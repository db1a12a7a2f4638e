import { test } from "vitest";
import { expectPlay } from "../../../test/reference/book-script.ts";

test("a sell takes the best bid first, then the oldest, and rests the remainder", () => {
  expectPlay(`
    b1  ann  buy   limit  4 @ 1550  | b1 rests 4 @ 1550
    b2  bob  buy   limit  3 @ 1560  | b2 rests 3 @ 1560
    b3  ann  buy   limit  2 @ 1560  | b3 rests 2 @ 1560
    s1  cat  sell  limit  6 @ 1555  | s1 sells 3 @ 1560 to b2, b2 FILLED, s1 sells 2 @ 1560 to b3, b3 FILLED, s1 rests 1 @ 1555
    bids                            | b1 4 @ 1550
    asks                            | s1 1 @ 1555
    last                            | 1560
  `);
});

test("a buy takes the lowest ask first, at its price, and the maker keeps its position in the queue", () => {
  expectPlay(`
    s1  ann  sell  limit  5 @ 100  | s1 rests 5 @ 100
    s2  bob  sell  limit  5 @ 100  | s2 rests 5 @ 100
    s3  bob  sell  limit  1 @ 99   | s3 rests 1 @ 99
    b1  cat  buy   limit  3 @ 105  | b1 buys 1 @ 99 of s3, s3 FILLED, b1 buys 2 @ 100 of s1, b1 FILLED
    asks                           | s1 3 @ 100, s2 5 @ 100
    b2  cat  buy   limit  4 @ 100  | b2 buys 3 @ 100 of s1, s1 FILLED, b2 buys 1 @ 100 of s2, b2 FILLED
    asks                           | s2 4 @ 100
  `);
});

test("orders that do not reach each other rest, one tick apart", () => {
  expectPlay(`
    s1  ann  sell  limit  1 @ 101  | s1 rests 1 @ 101
    b1  bob  buy   limit  1 @ 100  | b1 rests 1 @ 100
    s2  ann  sell  limit  1 @ 101  | s2 rests 1 @ 101
    b2  bob  buy   limit  1 @ 99   | b2 rests 1 @ 99
    bids                           | b1 1 @ 100, b2 1 @ 99
    asks                           | s1 1 @ 101, s2 1 @ 101
    last                           | undefined
  `);
});

test("IOC trades what it can and cancels the remainder", () => {
  expectPlay(`
    s1  ann  sell  limit  2 @ 100       | s1 rests 2 @ 100
    b1  bob  buy   limit  3 @ 100  ioc  | b1 buys 2 @ 100 of s1, s1 FILLED, b1 CANCELLED immediate_or_cancel
    b2  bob  buy   limit  3 @ 100  ioc  | b2 CANCELLED immediate_or_cancel
    bids                                | nothing
  `);
});

test("GTT rests like GTC until it is expired", () => {
  expectPlay(`
    s1  ann  sell  limit  2 @ 100       | s1 rests 2 @ 100
    b1  bob  buy   limit  3 @ 100  gtt  | b1 buys 2 @ 100 of s1, s1 FILLED, b1 rests 1 @ 100
    expire b1                           | b1 CANCELLED expired
    expire b1                           | nothing
    bids                                | nothing
  `);
});

test("FOK fills completely, over several levels and orders", () => {
  expectPlay(`
    s1  ann  sell  limit  2 @ 100       | s1 rests 2 @ 100
    s2  bob  sell  limit  2 @ 101       | s2 rests 2 @ 101
    b1  cat  buy   limit  4 @ 101  fok  | b1 buys 2 @ 100 of s1, s1 FILLED, b1 buys 2 @ 101 of s2, s2 FILLED, b1 FILLED
  `);
});

test("FOK that is one lot short is cancelled without other effects", () => {
  expectPlay(`
    s1  ann  sell  limit  2 @ 100       | s1 rests 2 @ 100
    s2  bob  sell  limit  2 @ 101       | s2 rests 2 @ 101
    s3  bob  sell  limit  9 @ 102       | s3 rests 9 @ 102
    b1  cat  buy   limit  5 @ 101  fok  | b1 CANCELLED fill_or_kill
    asks                                | s1 2 @ 100, s2 2 @ 101, s3 9 @ 102
    last                                | undefined
  `);
});

test("a resting order is cancelled once, and then is not found", () => {
  expectPlay(`
    s1  ann  sell  limit  2 @ 100       | s1 rests 2 @ 100
    s2  ann  sell  limit  2 @ 100       | s2 rests 2 @ 100
    s3  ann  sell  limit  2 @ 100       | s3 rests 2 @ 100
    cancel s2                           | s2 CANCELLED requested
    asks                                | s1 2 @ 100, s3 2 @ 100
    cancel s1                           | s1 CANCELLED requested
    cancel s2                           | nothing
    cancel s3                           | s3 CANCELLED requested
    asks                                | nothing
    b1  bob  buy   limit  1 @ 100       | b1 rests 1 @ 100
  `);
});

test("a queue stays linked when its first, middle or last order leaves", () => {
  expectPlay(`
    s1  ann  sell  limit  1 @ 100       | s1 rests 1 @ 100
    s2  ann  sell  limit  1 @ 100       | s2 rests 1 @ 100
    s3  ann  sell  limit  1 @ 100       | s3 rests 1 @ 100
    s4  ann  sell  limit  1 @ 100       | s4 rests 1 @ 100
    cancel s4                           | s4 CANCELLED requested
    s5  ann  sell  limit  1 @ 100       | s5 rests 1 @ 100
    cancel s1                           | s1 CANCELLED requested
    cancel s3                           | s3 CANCELLED requested
    asks                                | s2 1 @ 100, s5 1 @ 100
    b1  bob  buy   limit  3 @ 100       | b1 buys 1 @ 100 of s2, s2 FILLED, b1 buys 1 @ 100 of s5, s5 FILLED, b1 rests 1 @ 100
  `);
});

test("an own resting order is cancelled when the taker reaches it with lots remaining", () => {
  expectPlay(`
    s1  bob  sell  limit  2 @ 100       | s1 rests 2 @ 100
    s2  ann  sell  limit  2 @ 100       | s2 rests 2 @ 100
    s3  bob  sell  limit  2 @ 101       | s3 rests 2 @ 101
    s4  ann  sell  limit  2 @ 102       | s4 rests 2 @ 102
    b1  ann  buy   limit  3 @ 101       | b1 buys 2 @ 100 of s1, s1 FILLED, s2 CANCELLED self_trade, b1 buys 1 @ 101 of s3, b1 FILLED
    asks                                | s3 1 @ 101, s4 2 @ 102
  `);
});

test("an own resting order stays when the taker is filled before it, or when it is beyond the limit", () => {
  expectPlay(`
    s1  bob  sell  limit  2 @ 100       | s1 rests 2 @ 100
    s2  ann  sell  limit  2 @ 100       | s2 rests 2 @ 100
    b1  ann  buy   limit  2 @ 100       | b1 buys 2 @ 100 of s1, s1 FILLED, b1 FILLED
    b2  ann  buy   limit  2 @ 99        | b2 rests 2 @ 99
    asks                                | s2 2 @ 100
    s3  bob  sell  limit  2 @ 99        | s3 sells 2 @ 99 to b2, b2 FILLED, s3 FILLED
  `);
});

test("a limit order that reaches only own orders cancels them, then rests or, as IOC, is cancelled", () => {
  expectPlay(`
    s1  ann  sell  limit  2 @ 100       | s1 rests 2 @ 100
    b1  ann  buy   limit  3 @ 100       | s1 CANCELLED self_trade, b1 rests 3 @ 100
    s2  ann  sell  limit  1 @ 100  ioc  | b1 CANCELLED self_trade, s2 CANCELLED immediate_or_cancel
    bids                                | nothing
    last                                | undefined
  `);
});

test("FOK counts only what others offer, and cancels no own order if that is too little", () => {
  expectPlay(`
    s1  ann  sell  limit  5 @ 100       | s1 rests 5 @ 100
    s2  bob  sell  limit  2 @ 101       | s2 rests 2 @ 101
    b1  ann  buy   limit  3 @ 101  fok  | b1 CANCELLED fill_or_kill
    asks                                | s1 5 @ 100, s2 2 @ 101
    b2  ann  buy   limit  2 @ 101  fok  | s1 CANCELLED self_trade, b2 buys 2 @ 101 of s2, s2 FILLED, b2 FILLED
  `);
});

test("post-only rests when it crosses nothing", () => {
  expectPlay(`
    s1  ann  sell  limit      1 @ 101       | s1 rests 1 @ 101
    b1  bob  buy   post-only  2 @ 100       | b1 rests 2 @ 100
    b2  bob  buy   post-only  2 @ 100  gtt  | b2 rests 2 @ 100
    s2  ann  sell  post-only  2 @ 101       | s2 rests 2 @ 101
  `);
});

test("post-only that would cross any order, even an own one, is rejected and cancels nothing", () => {
  expectPlay(`
    s1  ann  sell  limit      1 @ 101       | s1 rests 1 @ 101
    b1  ann  buy   post-only  2 @ 101       | b1 REJECTED post_only_would_cross
    b2  bob  buy   post-only  2 @ 150       | b2 REJECTED post_only_would_cross
    b3  bob  buy   limit      1 @ 100       | b3 rests 1 @ 100
    s2  bob  sell  post-only  1 @ 100       | s2 REJECTED post_only_would_cross
    asks                                    | s1 1 @ 101
    bids                                    | b3 1 @ 100
  `);
});

test("post-only with IOC or FOK never fills: cancelled, or rejected when it would cross", () => {
  expectPlay(`
    s1  ann  sell  limit      1 @ 101       | s1 rests 1 @ 101
    b1  bob  buy   post-only  1 @ 100  ioc  | b1 CANCELLED immediate_or_cancel
    b2  bob  buy   post-only  1 @ 100  fok  | b2 CANCELLED fill_or_kill
    b3  bob  buy   post-only  1 @ 101  ioc  | b3 REJECTED post_only_would_cross
    b4  bob  buy   post-only  1 @ 101  fok  | b4 REJECTED post_only_would_cross
    bids                                    | nothing
  `);
});

test("a market sell takes bids at any price and cancels its remainder", () => {
  expectPlay(`
    b1  ann  buy   limit   2 @ 100  | b1 rests 2 @ 100
    b2  ann  buy   limit   2 @ 1    | b2 rests 2 @ 1
    s1  bob  sell  market  3        | s1 sells 2 @ 100 to b1, b1 FILLED, s1 sells 1 @ 1 to b2, s1 FILLED
    s2  bob  sell  market  3        | s2 sells 1 @ 1 to b2, b2 FILLED, s2 CANCELLED immediate_or_cancel
    s3  bob  sell  market  3        | s3 REJECTED no_liquidity
  `);
});

test("a market order against only own orders, or none, is rejected and cancels nothing", () => {
  expectPlay(`
    m1  ann  sell  market  1        | m1 REJECTED no_liquidity
    m2  ann  buy   market  $900     | m2 REJECTED no_liquidity
    b1  ann  buy   limit   2 @ 100  | b1 rests 2 @ 100
    s1  ann  sell  limit   2 @ 102  | s1 rests 2 @ 102
    m3  ann  sell  market  1        | m3 REJECTED no_liquidity
    m4  ann  buy   market  $900     | m4 REJECTED no_liquidity
    bids                            | b1 2 @ 100
    asks                            | s1 2 @ 102
  `);
});

test("a market order cancels the own orders that it reaches on its way to others", () => {
  expectPlay(`
    b1  ann  buy   limit   2 @ 100  | b1 rests 2 @ 100
    b2  bob  buy   limit   2 @ 99   | b2 rests 2 @ 99
    b3  ann  buy   limit   2 @ 98   | b3 rests 2 @ 98
    m1  ann  sell  market  2        | b1 CANCELLED self_trade, m1 sells 2 @ 99 to b2, b2 FILLED, m1 FILLED
    bids                            | b3 2 @ 98
    b4  bob  buy   limit   1 @ 97   | b4 rests 1 @ 97
    m2  ann  sell  market  2        | b3 CANCELLED self_trade, m2 sells 1 @ 97 to b4, b4 FILLED, m2 CANCELLED immediate_or_cancel
  `);
});

test("an untriggered stop can be cancelled", () => {
  expectPlay(`
    t1  ann  sell  stop-market  1          stop 90        | t1 waits
    t2  ann  sell  stop-limit   1 @ 80     stop 90  gtt   | t2 waits
    stops                                                 | t1, t2
    cancel t1                                             | t1 CANCELLED requested
    expire t2                                             | t2 CANCELLED expired
    stops                                                 | nothing
    cancel t1                                             | nothing
  `);
});
