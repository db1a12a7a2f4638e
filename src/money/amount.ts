/**
 * Exact quantities: a `bigint` in units of 10^-18 of the asset in memory, decimal text on the wire and in SQL. Floats are
 * never used.
 */
import { assert, must } from "../std/assert.ts";
import type { Brand } from "../std/brand.ts";
import { done, type Result, reject } from "../std/result.ts";

/** An exact quantity of some asset, in units of 10^-18. May be negative: a posting is a signed amount. */
export type Amount = Brand<bigint, "Amount">;

/** The decimals of the ledger. */
export const SCALE = 18;
/** By number of decimals: the smallest unit. */
const UNITS = Array.from({ length: SCALE + 1 }, (_, decimals) => (10n ** BigInt(SCALE - decimals)) as Amount);
const ONE = unitOf(0);

export const ZERO = 0n as Amount;
/** Every amount on the wire is below this: 10^18 (docs/contract/requests.md#amounts). */
export const AMOUNT_LIMIT = (10n ** 18n * ONE) as Amount;
/** No balance may reach this: 10^29 (docs/contract/requests.md#amounts). */
export const BALANCE_LIMIT = (10n ** 29n * ONE) as Amount;

/** The pattern of every amount on the wire, as it is published (docs/contract/requests.md#amounts). */
export const DECIMAL_PATTERN = "^[0-9]*\\.?[0-9]+$";
export const DECIMAL_MAX_LENGTH = 60;
/** Matches the same texts in linear time: that one tries every split of the digits when something else ends them. */
export const DECIMAL = /^(?:[0-9]*\.)?[0-9]+$/;
const ZERO_DIGIT = "0".charCodeAt(0);

export const plus = (a: Amount, b: Amount): Amount => (a + b) as Amount;
export const minus = (a: Amount, b: Amount): Amount => (a - b) as Amount;
export const negative = (a: Amount): Amount => -a as Amount;

export type AmountRejection = "not_a_decimal" | "too_precise" | "zero" | "too_large";

/**
 * Reads an amount from the wire: at most 60 characters, at most 18 significant decimals, above zero and below 10^18.
 * `fitsPrecision` then checks it against the asset.
 */
export function parseAmount(text: string): Result<Amount, AmountRejection> {
  if (text.length > DECIMAL_MAX_LENGTH || !DECIMAL.test(text)) return reject("not_a_decimal");
  const amount = scaled(text);
  if (amount === undefined) return reject("too_precise");
  if (amount === 0n) return reject("zero");
  if (amount >= AMOUNT_LIMIT) return reject("too_large");
  return done(amount);
}

/** Whether an amount has at most so many decimals, by value: "1.00000000" has none. */
export function fitsPrecision(amount: Amount, decimals: number): boolean {
  return amount % unitOf(decimals) === 0n;
}

/** How many decimals an amount is written with, zeros at the end included. @param text without an exponent */
export function writtenDecimals(text: string): number {
  return text.split(".")[1]?.length ?? 0;
}

/** The smallest unit of an asset with so many decimals. */
export function unitOf(decimals: number): Amount {
  return must(UNITS[decimals], "an asset has 0 to 18 decimals");
}

/**
 * Reads a trusted amount, with an optional minus sign: SQL `numeric` text, a catalogue file, a literal.
 * @throws AssertionFailed
 */
export function amountOf(text: string): Amount {
  const sign = text.startsWith("-");
  const digits = sign ? text.slice(1) : text;
  assert(DECIMAL.test(digits), () => `an amount is decimal text, but here is ${JSON.stringify(text)}`);
  const amount = must(scaled(digits), () => `an amount has at most 18 decimals, but here is ${text}`);
  return (sign ? -amount : amount) as Amount;
}

/** Canonical text: no exponent, no trailing zeros after the point, at least one digit before it; zero is "0". */
export function formatAmount(amount: Amount): string {
  if (amount === 0n) return "0";
  if (amount < 0n) return `-${formatAmount(negative(amount))}`;
  // Slicing text is faster than dividing large integers.
  const digits = amount.toString().padStart(SCALE + 1, "0");
  const point = digits.length - SCALE;
  let end = digits.length;
  while (end > point && digits.charCodeAt(end - 1) === ZERO_DIGIT) end -= 1;
  return end === point ? digits.slice(0, point) : `${digits.slice(0, point)}.${digits.slice(point, end)}`;
}

/** The same of SQL `numeric` text, without the way through an amount: only zeros after the point are too many in it. */
export function canonicalAmount(numeric: string): string {
  const point = numeric.indexOf(".");
  if (point === -1) return numeric;
  let end = numeric.length;
  while (numeric.charCodeAt(end - 1) === ZERO_DIGIT) end -= 1;
  return numeric.slice(0, end === point + 1 ? point : end);
}

/** Without a default: every division states where the remainder goes. */
export type Rounding = "exact" | "down" | "half_up";

/** a x b / c. "exact" asserts a zero remainder; "down" rounds towards zero; "half_up" rounds halves away from zero. */
export function mulDiv(a: bigint, b: bigint, c: bigint, rounding: Rounding): bigint {
  assert(c > 0n, "the divisor is above zero");
  const product = a * b;
  const quotient = product / c;
  const remainder = product - quotient * c;
  switch (rounding) {
    case "exact":
      assert(remainder === 0n, () => `${a} x ${b} / ${c} leaves nothing over`);
      return quotient;
    case "down":
      return quotient;
    case "half_up": {
      const distance = remainder < 0n ? -remainder : remainder;
      if (distance * 2n < c) return quotient;
      return product < 0n ? quotient - 1n : quotient + 1n;
    }
  }
}

/** The product of two quantities, such as amount x price. Asserts that it fits 18 decimals. */
export function multiplyExact(a: Amount, b: Amount): Amount {
  return mulDiv(a, b, ONE, "exact") as Amount;
}

/** Decimal text to units of 10^-18; undefined if it has more than 18 significant decimals. */
function scaled(text: string): Amount | undefined {
  const point = text.indexOf(".");
  if (point === -1) return (BigInt(text) * ONE) as Amount;
  const decimals = text.slice(point + 1, point + 1 + SCALE);
  for (let i = point + 1 + SCALE; i < text.length; i += 1) if (text[i] !== "0") return undefined;
  return (BigInt(text.slice(0, point) + decimals) * unitOf(decimals.length)) as Amount;
}
