/**
 * Named checks of strings, for `x-check` in schemas: rules that JSON Schema cannot express, or not in words that a caller
 * would understand. Each returns the rule that the text breaks, as a sentence without its subject.
 */
import { AMOUNT_LIMIT, amountOf, parseAmount } from "../../money/amount.ts";
import { parseInstant } from "../../std/clock.ts";
import { parseUuid } from "../../std/id.ts";

type Check = (text: string) => string | undefined;

export const CHECKS = {
  amount: brokenAmountRule,
  date_time: (text) =>
    parseInstant(text, "down") === undefined
      ? 'is not an RFC 3339 date-time with at most 9 decimals of a second, like "2026-11-21T09:30:00.000Z"'
      : undefined,
  digits: (text) => (/^[0-9]{1,20}$/.test(text) ? undefined : "is not a number of 1 to 20 decimal digits"),
  object_id: (text) =>
    /^([0-9]{1,19}|[A-Za-z0-9_.-]{1,16})$/.test(text) || parseUuid(text) !== undefined
      ? undefined
      : `${NOT_A_UUID}, and neither the number of an execution nor the code of a market`,
  profile_id: (text) =>
    text === "default" || parseUuid(text) !== undefined ? undefined : `${NOT_A_UUID}, and not "default"`,
  uuid: (text) => (parseUuid(text) === undefined ? NOT_A_UUID : undefined),
} as const satisfies Record<string, Check>;

export type CheckName = keyof typeof CHECKS;

const NOT_A_UUID = "is not a UUID: 36 characters, like 0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";

export function isCheckName(text: unknown): text is CheckName {
  return typeof text === "string" && Object.hasOwn(CHECKS, text);
}

/**
 * The format of an amount: pattern, length, above zero, below 10^18. Its decimals are checked against the asset later, so
 * more than 18 of them pass here.
 */
function brokenAmountRule(text: string): string | undefined {
  const amount = parseAmount(text);
  if (amount.kind === "done") return undefined;
  switch (amount.rejection) {
    case "not_a_decimal":
      return 'is not a decimal number: up to 60 characters, digits with at most one point, like "10.5"';
    case "zero":
      return "is not above zero";
    case "too_large":
      return TOO_LARGE;
    case "too_precise":
      return wholePart(text) < AMOUNT_LIMIT ? undefined : TOO_LARGE;
  }
}

const TOO_LARGE = "is not below 10^18";

function wholePart(text: string): bigint {
  return amountOf(text.slice(0, text.indexOf(".")) || "0");
}
