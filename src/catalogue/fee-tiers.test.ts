import { expect, test } from "vitest";
import { amountOf } from "../money/amount.ts";
import { PASSED, reject } from "../std/result.ts";
import { checkRates, checkTiers, type FeeTier, highestRebate, isRate, MAX_TIERS, tierFor } from "./fee-tiers.ts";

const tier = (minimum: string, takerRate: string, makerRebate: string): FeeTier => ({
  minimumGross: amountOf(minimum),
  takerRate: amountOf(takerRate),
  makerRebate: amountOf(makerRebate),
});
const USUAL = [tier("0", "0.0035", "0.0003"), tier("1000", "0.002", "0.0004"), tier("50000", "0.001", "0.0005")];

test("a rate is from zero to a tenth, with four decimals", () => {
  expect(["0", "0.0001", "0.1"].map(amountOf).map(isRate)).toEqual([true, true, true]);
  expect(["-0.0001", "0.1001", "1", "0.00001"].map(amountOf).map(isRate)).toEqual([false, false, false, false]);
});

test("a tier begins with its minimum, and a unit less is the tier below", () => {
  const found = ["0", "999.999999999999999999", "1000", "49999", "50000", "1000000"].map((gross) =>
    USUAL.indexOf(tierFor(USUAL, amountOf(gross))),
  );
  expect(found).toEqual([0, 0, 1, 1, 2, 2]);
});

test("tiers begin at zero, each at another minimum, and are not too many", () => {
  const many = (count: number): FeeTier[] =>
    Array.from({ length: count }, (_, i) => tier(String(i), "0.002", "0.0003"));
  expect([checkTiers(USUAL), checkTiers(many(MAX_TIERS))]).toEqual([PASSED, PASSED]);
  expect(checkTiers(many(MAX_TIERS + 1))).toEqual(reject({ code: "too_many_tiers", most: 50 }));
  expect(checkTiers([...USUAL, tier("-1", "0.002", "0")])).toEqual(
    reject({
      code: "tier_below_zero",
      minimumGross: amountOf("-1"),
    }),
  );
  expect(checkTiers([...USUAL, tier("1000", "0.002", "0")])).toEqual(
    reject({
      code: "tier_given_twice",
      minimumGross: amountOf("1000"),
    }),
  );
  expect(checkTiers(USUAL.slice(1))).toEqual(reject({ code: "no_tier_from_zero" }));
  expect(checkTiers([])).toEqual(reject({ code: "no_tier_from_zero" }));
  expect(checkTiers([tier("0", "1", "0")])).toEqual(reject({ code: "not_a_rate", rate: amountOf("1") }));
});

test("the highest rebate may be as high as the lowest commission, wherever the two stand, and no higher", () => {
  const [cheap, paid] = [tier("0", "0.001", "0"), tier("1", "0.002", "0.001")];
  for (const both of [
    [cheap, paid],
    [paid, cheap],
  ]) {
    expect(checkRates(both)).toEqual(PASSED);
    expect(highestRebate(both)).toBe(amountOf("0.001"));
    expect(checkRates([...both, tier("2", "0.003", "0.0011")])).toEqual(
      reject({
        code: "rebate_above_commission",
        takerRate: amountOf("0.001"),
        makerRebate: amountOf("0.0011"),
      }),
    );
  }
  for (const rates of [tier("0", "0.00001", "0"), tier("0", "0.001", "0.00001")]) {
    expect(checkRates([cheap, rates])).toEqual(reject({ code: "not_a_rate", rate: amountOf("0.00001") }));
  }
});
