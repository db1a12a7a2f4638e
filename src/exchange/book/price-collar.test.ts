import { expect, test } from "vitest";
import { expectPlay } from "../../../test/reference/book-script.ts";
import type { Price } from "./order.ts";
import { isBeyondCollar } from "./price-collar.ts";

const price = (value: number) => value as Price;

test("a buy limit at exactly 1.15 x mid is rejected, one tick below it trades", () => {
  expectPlay(`
    b1  ann  buy   limit  1 @ 99        | b1 rests 1 @ 99
    s1  ann  sell  limit  2 @ 101       | s1 rests 2 @ 101
    b2  bob  buy   limit  1 @ 115       | b2 REJECTED price_collar
    b3  bob  buy   limit  1 @ 116  ioc  | b3 REJECTED price_collar
    b4  bob  buy   limit  1 @ 115  fok  | b4 REJECTED price_collar
    b5  bob  buy   limit  1 @ 114       | b5 buys 1 @ 101 of s1, b5 FILLED
  `);
});

test("a sell limit at exactly 0.85 x mid is rejected, one tick above it trades", () => {
  expectPlay(`
    b1  ann  buy   limit  2 @ 99        | b1 rests 2 @ 99
    s1  ann  sell  limit  1 @ 101       | s1 rests 1 @ 101
    s2  bob  sell  limit  1 @ 85        | s2 REJECTED price_collar
    s3  bob  sell  limit  1 @ 84        | s3 REJECTED price_collar
    s4  bob  sell  limit  1 @ 86        | s4 sells 1 @ 99 to b1, s4 FILLED
  `);
});

test("a mid between two ticks is not rounded", () => {
  expect(isBeyondCollar({ side: "BUY", price: price(115) }, price(99), price(102))).toBe(false);
  expect(isBeyondCollar({ side: "BUY", price: price(116) }, price(99), price(102))).toBe(true);
  expect(isBeyondCollar({ side: "SELL", price: price(85) }, price(99), price(102))).toBe(true);
  expect(isBeyondCollar({ side: "SELL", price: price(86) }, price(99), price(102))).toBe(false);
  expect(isBeyondCollar({ side: "SELL", price: price(85) }, price(99), price(100))).toBe(false);
});

test("prices whose multiples are above 2^53 are compared exactly", () => {
  const mid = price(7_000_000_000_000_000);
  expect(isBeyondCollar({ side: "BUY", price: price(8_050_000_000_000_000) }, mid, mid)).toBe(true);
  expect(isBeyondCollar({ side: "BUY", price: price(8_049_999_999_999_999) }, mid, mid)).toBe(false);
  expect(isBeyondCollar({ side: "SELL", price: price(5_950_000_000_000_000) }, mid, mid)).toBe(true);
  expect(isBeyondCollar({ side: "SELL", price: price(5_950_000_000_000_001) }, mid, mid)).toBe(false);
});

test("with one side empty there is no collar", () => {
  expectPlay(`
    s1  ann  sell  limit  1 @ 100       | s1 rests 1 @ 100
    b1  bob  buy   limit  1 @ 900       | b1 buys 1 @ 100 of s1, s1 FILLED, b1 FILLED
    b2  ann  buy   limit  1 @ 100       | b2 rests 1 @ 100
    s2  bob  sell  limit  1 @ 1         | s2 sells 1 @ 100 to b2, b2 FILLED, s2 FILLED
  `);
});

test("a limit beyond the collar that does not match at once is accepted", () => {
  expectPlay(`
    b1  ann  buy   limit  1 @ 10        | b1 rests 1 @ 10
    s1  ann  sell  limit  1 @ 100       | s1 rests 1 @ 100
    b2  bob  buy   limit  1 @ 99        | b2 rests 1 @ 99
    cancel b2                           | b2 CANCELLED requested
    b3  bob  buy   limit  2 @ 100  fok  | b3 CANCELLED fill_or_kill
    b4  bob  buy   limit  2 @ 100       | b4 REJECTED price_collar
    b5  ann  buy   limit  2 @ 100       | s1 CANCELLED self_trade, b5 rests 2 @ 100
  `);
});

test("market orders have no collar", () => {
  expectPlay(`
    b1  ann  buy   limit   1 @ 10       | b1 rests 1 @ 10
    s1  ann  sell  limit   1 @ 100      | s1 rests 1 @ 100
    s2  ann  sell  limit   1 @ 9000     | s2 rests 1 @ 9000
    m1  bob  buy   market  $9100        | m1 buys 1 @ 100 of s1, s1 FILLED, m1 buys 1 @ 9000 of s2, s2 FILLED, m1 FILLED
    s3  ann  sell  limit   1 @ 900      | s3 rests 1 @ 900
    m2  bob  sell  market  1            | m2 sells 1 @ 10 to b1, b1 FILLED, m2 FILLED
  `);
});

test("mid is that before the order, own orders included", () => {
  expectPlay(`
    b1  ann  buy   limit  1 @ 99        | b1 rests 1 @ 99
    s1  bob  sell  limit  1 @ 101       | s1 rests 1 @ 101
    s2  ann  sell  limit  1 @ 114       | s2 rests 1 @ 114
    s3  ann  sell  limit  1 @ 115       | s3 rests 1 @ 115
    b2  bob  buy   limit  2 @ 115       | b2 REJECTED price_collar
    b3  bob  buy   limit  2 @ 114       | s1 CANCELLED self_trade, b3 buys 1 @ 114 of s2, s2 FILLED, b3 rests 1 @ 114
  `);
});
