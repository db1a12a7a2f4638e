import { expect, test } from "vitest";
import { amountOf } from "../money/amount.ts";
import { readAmount, readDuration, readRate, readScopes, readText, readTier } from "./arguments.ts";

test("a duration is a number with a unit, or 0", () => {
  expect(["0", "90s", "15m", "24h", "7d"].map(readDuration)).toEqual([0, 90_000, 900_000, 86_400_000, 604_800_000]);
  for (const wrong of ["", "5", "-1h", "1.5h", "1w", "h", " 1h", "123456s"]) {
    expect(() => readDuration(wrong), wrong).toThrow("Must be a duration such as 90s, 15m, 24h or 7d.");
  }
});

test("scopes are comma-separated and known, duplicates are dropped, and * means all", () => {
  expect(readScopes("*")).toEqual(["*"]);
  expect(readScopes("exchange:read_order, transfer:read_transfer,exchange:read_order")).toEqual([
    "exchange:read_order",
    "transfer:read_transfer",
  ]);
  expect(() => readScopes("exchange:read_order,all")).toThrow('"all" is not a scope. Use * for all, or one or more of');
  expect(() => readScopes("")).toThrow('"" is not a scope.');
  expect(() => readScopes("*,exchange:read_order")).toThrow('"*" is not a scope.');
});

test("an amount is decimal text above 0 and below 10^18; the precision is left to the asset", () => {
  expect(readAmount("100.50")).toBe(amountOf("100.5"));
  expect(readAmount(`0.${"0".repeat(18)}1`)).toBe("too_precise");
  for (const wrong of ["0", "-1", "1e3", "1,5", "", "1000000000000000000"]) {
    expect(() => readAmount(wrong), wrong).toThrow("Must be a decimal number");
  }
});

test("a rate is from 0 to below 1, with at most 4 decimals", () => {
  expect(["0", "0.0035", "0.99990", ".5"].map(readRate)).toEqual(["0", "0.0035", "0.9999", "0.5"].map(amountOf));
  for (const wrong of ["1", "0.00351", "-0.0001", "0.35%", "1e-4", "", " 0.1"]) {
    expect(() => readRate(wrong), wrong).toThrow("Must be a rate from 0 to below 1 with at most 4 decimals");
  }
});

test("a tier is its minimum volume, taker rate and maker rebate", () => {
  const tier = { minimumGross: amountOf("1000000.5"), takerRate: amountOf("0.0018"), makerRebate: amountOf("0") };
  expect(readTier("1000000.50:0.0018:0")).toEqual(tier);
  expect(readTier("0:0.0018:0").minimumGross).toBe(0n);
  for (const wrong of [
    "",
    "x:0.1:0",
    "-1:0.1:0",
    "0:0.1:0:0",
    `0.${"0".repeat(18)}1:0.1:0`,
    "1000000000000000000:0.1:0",
  ]) {
    expect(() => readTier(wrong), wrong).toThrow("Must be 30-day volume:taker rate:maker rebate");
  }
  for (const wrong of ["0", "0:0.1", "0:0.00351:0", "0:0.1:-0.1"]) {
    expect(() => readTier(wrong), wrong).toThrow("Must be a rate");
  }
});

test("a text has 1 to 100 characters, counted as the API does, of whatever script", () => {
  expect(readText("\u{1f7e1}".repeat(100))).toHaveLength(200);
  expect(readText("x".repeat(100))).toHaveLength(100);
  expect(() => readText("")).toThrow("Must have 1 to 100 characters.");
  expect(() => readText("x".repeat(101))).toThrow("Must have 1 to 100 characters.");
});
