import { Decimal } from "decimal.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { unwrap } from "../../test/support/results.ts";
import { reject } from "../std/result.ts";
import {
  type Amount,
  amountOf,
  canonicalAmount,
  DECIMAL,
  DECIMAL_PATTERN,
  fitsPrecision,
  formatAmount,
  mulDiv,
  multiplyExact,
  parseAmount,
  SCALE,
  unitOf,
} from "./amount.ts";

/** The oracle: another implementation, with more digits than any product here has. */
const Exact = Decimal.clone({ precision: 200, toExpNeg: -200, toExpPos: 200 });
const ONE = 10n ** BigInt(SCALE);
const decimalOf = (amount: bigint): Decimal => new Exact(amount.toString()).div(ONE.toString());

/** Digits with zeros on both sides, with and without a point. */
const decimalText = fc
  .tuple(fc.stringMatching(/^0{0,3}[0-9]{0,20}$/), fc.stringMatching(/^[0-9]{1,18}0{0,5}$/), fc.boolean())
  .map(([whole, decimals, pointed]) => (pointed ? `${whole}.${decimals}` : whole + decimals));
const anyAmount = fc.bigInt({ min: -(10n ** 47n), max: 10n ** 47n }).map((units) => units as Amount);

test("an amount is read as by the oracle, or rejected for the oracle's reason", () => {
  fc.assert(
    fc.property(decimalText, (text) => {
      const expected = new Exact(text.startsWith(".") ? `0${text}` : text);
      const read = parseAmount(text);
      if (expected.decimalPlaces() > SCALE) expect(read).toEqual(reject("too_precise"));
      else if (expected.isZero()) expect(read).toEqual(reject("zero"));
      else if (expected.gte("1e18")) expect(read).toEqual(reject("too_large"));
      else expect(decimalOf(unwrap(read)).eq(expected)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test("what is read as a decimal is what the published pattern says", () => {
  const published = new RegExp(DECIMAL_PATTERN);
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9.x\n]{0,8}$/), (text) => {
      expect(DECIMAL.test(text)).toBe(published.test(text));
    }),
    { numRuns: 2_000 },
  );
});

test("a printed amount is canonical, and reads back as itself", () => {
  fc.assert(
    fc.property(anyAmount, (amount) => {
      const text = formatAmount(amount);
      expect(text).toBe(decimalOf(amount).toFixed());
      expect(amountOf(text)).toBe(amount);
    }),
  );
});

test("numeric text of any scale has the canonical text of its amount", () => {
  fc.assert(
    fc.property(anyAmount, fc.integer({ min: 0, max: SCALE }), (amount, zeros) => {
      const text = decimalOf(amount).toFixed();
      const padded = (text.includes(".") ? text : `${text}.`) + "0".repeat(zeros);
      expect(canonicalAmount(text)).toBe(formatAmount(amount));
      expect(canonicalAmount(padded)).toBe(formatAmount(amount));
    }),
  );
  expect(["0", "0.000", "100", "100.0", "-100.50"].map(canonicalAmount)).toEqual(["0", "0", "100", "100", "-100.5"]);
});

test.each([
  ["0.5", "0.5"],
  [".5", "0.5"],
  ["100", "100"],
  ["1.00000000", "1"],
  ["007.10", "7.1"],
  ["0.000000000000000001", "0.000000000000000001"],
  ["999999999999999999.999999999999999999", "999999999999999999.999999999999999999"],
  [`1.${"0".repeat(50)}`, "1"],
  [`${"0".repeat(59)}7`, "7"],
])("%s is printed as %s", (text, printed) => {
  expect(formatAmount(unwrap(parseAmount(text)))).toBe(printed);
});

test.each([
  "",
  ".",
  "1.",
  "-1",
  "+1",
  "1e3",
  "1,000",
  " 1",
  "1\n",
  "0x1",
  "NaN",
  "Infinity",
  "١",
  "1.2.3",
  "1".repeat(61),
])("%j is not an amount", (text) => {
  expect(parseAmount(text)).toEqual(reject("not_a_decimal"));
});

test("zero, one unit too fine, and exactly too much are rejected", () => {
  expect(parseAmount("0.000")).toEqual(reject("zero"));
  expect(parseAmount("0.0000000000000000001")).toEqual(reject("too_precise"));
  expect(parseAmount("1000000000000000000")).toEqual(reject("too_large"));
  expect(formatAmount(0n as Amount)).toBe("0");
});

test("what we wrote ourselves is read with its sign, and anything else is a bug", () => {
  expect(amountOf("-1.5")).toBe(-15n * 10n ** 17n);
  expect(() => amountOf("1e3")).toThrow("an amount is decimal text");
  expect(() => amountOf("0.0000000000000000001")).toThrow("at most 18 decimals");
});

test("precision is judged by value: trailing zeros never count", () => {
  fc.assert(
    fc.property(anyAmount, fc.integer({ min: 0, max: 18 }), (amount, decimals) => {
      expect(fitsPrecision(amount, decimals)).toBe(decimalOf(amount).decimalPlaces() <= decimals);
    }),
  );
  expect(fitsPrecision(amountOf("1.00000000"), 2)).toBe(true);
  expect(fitsPrecision(amountOf("1.001"), 2)).toBe(false);
  expect(() => unitOf(19)).toThrow("an asset has 0 to 18 decimals");
});

test("a product divided is what the oracle rounds it to, on both sides of zero", () => {
  const factor = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });
  const divisor = fc.oneof(fc.bigInt({ min: 1n, max: 20n }), fc.bigInt({ min: 1n, max: 10n ** 40n }));
  fc.assert(
    fc.property(factor, factor, divisor, (a, b, c) => {
      const exact = new Exact(a.toString()).mul(b.toString()).div(c.toString());
      expect(mulDiv(a, b, c, "down").toString()).toBe(exact.trunc().add(0).toFixed());
      expect(mulDiv(a, b, c, "half_up").toString()).toBe(
        exact.toDecimalPlaces(0, Decimal.ROUND_HALF_UP).add(0).toFixed(),
      );
    }),
    { numRuns: 1_000 },
  );
});

test("a half goes away from zero, and what is just below it does not", () => {
  expect([5n, 15n, -5n, -15n, 4n, -4n].map((a) => mulDiv(a, 1n, 10n, "half_up"))).toEqual([1n, 2n, -1n, -2n, 0n, 0n]);
});

test("what has to be exact leaves nothing over, or is a bug", () => {
  expect(multiplyExact(amountOf("1.5"), amountOf("0.0035"))).toBe(amountOf("0.00525"));
  expect(() => multiplyExact(amountOf("0.0000000001"), amountOf("0.0000000001"))).toThrow("leaves nothing over");
  expect(() => mulDiv(1n, 1n, 0n, "down")).toThrow("the divisor is above zero");
});
