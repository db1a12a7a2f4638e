import { expect, test } from "vitest";
import { amountOf } from "../../money/amount.ts";
import { type Minute, MinuteSums, type Sums } from "./minute-sums.ts";

const sums = (high: string, low: string, volume: string, gross: string): Sums => ({
  high: amountOf(high),
  low: amountOf(low),
  volume: amountOf(volume),
  gross: amountOf(gross),
});
const minute = (number: number): Minute => number as Minute;

test("a minute that is added twice is summed, and sums start at the given minute", () => {
  const minutes = new MinuteSums();
  expect(minutes.since(minute(0))).toBeUndefined();
  minutes.add(minute(1), sums("9", "8", "1", "8.5"));
  minutes.add(minute(2), sums("5", "4", "1", "4.5"));
  minutes.add(minute(2), sums("6", "5", "2", "11"));
  expect(minutes.since(minute(1))).toEqual(sums("9", "4", "4", "24"));
  expect(minutes.since(minute(2))).toEqual(sums("6", "4", "3", "15.5"));
  expect(minutes.since(minute(3))).toBeUndefined();
});

test("removed minutes free their memory", () => {
  const minutes = new MinuteSums();
  for (let at = 0; at < 10_000; at += 1) {
    minutes.add(minute(at), sums("1", "1", "1", "1"));
    minutes.removeBefore(minute(at - 1_440));
    expect(minutes.size).toBeLessThanOrEqual(1_441);
  }
  expect(minutes.since(minute(0))?.volume).toBe(amountOf("1441"));
});
