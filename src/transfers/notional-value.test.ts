import { expect, test } from "vitest";
import { type Amount, amountOf } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import { notionalValue } from "./notional-value.ts";

const asset = (code: string, kind: Asset["kind"]): Asset => ({ code: code as AssetCode, kind, precision: 8 });
const COIN = asset("USDG", "stablecoin");
const BTC = asset("BTC", "crypto");

test("a coin is worth its number, whatever it was traded at", () => {
  expect(notionalValue(COIN, amountOf("12.345678"), amountOf("0.98"))).toBe(amountOf("12.345678"));
});

test("a crypto asset is worth what it traded at last, in whole cents, half up", () => {
  expect(notionalValue(BTC, amountOf("0.5"), amountOf("60000.01"))).toBe(amountOf("30000.01"));
  expect(notionalValue(BTC, amountOf("0.5"), amountOf("60000.009"))).toBe(amountOf("30000"));
});

test("without a price, or as fiat, there is nothing to say", () => {
  expect(notionalValue(BTC, amountOf("1"), undefined)).toBe(undefined);
  expect(notionalValue(asset("EUR", "fiat"), amountOf("1"), amountOf("1"))).toBe(undefined);
});

test("a value that no balance can have is left out", () => {
  const most = (10n ** 36n - 1n) as Amount;
  expect(notionalValue(BTC, most, amountOf("1000000000000"))).toBe(undefined);
  const below = amountOf("99999999999999999");
  expect(notionalValue(BTC, below, amountOf("1000000000000"))).toBe(amountOf("99999999999999999000000000000"));
  expect(notionalValue(BTC, amountOf("100000000000000000"), amountOf("1000000000000"))).toBe(undefined);
});
