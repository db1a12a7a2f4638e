import { expect, test } from "vitest";
import { type Entry, entry, type Part } from "../../ledger/accounts.ts";
import { amountOf, negative } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import type { Uuid } from "../../std/id.ts";
import { effectOn, haveSameEffect } from "./journals.ts";

const [ANN, BOB] = ["0190d5a4-1111-7000-8000-000000000002", "0190d5a4-1111-7000-8000-000000000004"];

/** Such as "ann -5 USD trading". */
function entriesOf(...lines: readonly string[]): Entry[] {
  return lines.map((line) => {
    const [who, text = "", asset, part = "available"] = line.split(" ");
    const amount = text.startsWith("-") ? negative(amountOf(text.slice(1))) : amountOf(text);
    return entry(
      (who === "ann" ? ANN : BOB) as Uuid as Entry["owner"] & Uuid,
      asset as AssetCode,
      amount,
      part as Part,
    );
  });
}

const TRANSFER = ["ann -5 USD", "bob 5 USD"];
/** Without an effect, and more entries than are compared one by one. */
const NOTHING = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? "ann 1 EUR" : "ann -1 EUR"));

test.each([
  ["the same", TRANSFER, true],
  ["another order", ["bob 5 USD", "ann -5 USD"], true],
  ["an amount in two", ["ann -2 USD", "bob 5 USD", "ann -3 USD"], true],
  ["what is taken back", [...TRANSFER, "bob 7 EUR", "bob -7 EUR"], true],
  ["another amount", ["ann -5 USD", "bob 6 USD"], false],
  ["another owner", ["bob -5 USD", "ann 5 USD"], false],
  ["another asset", ["ann -5 EUR", "bob 5 EUR"], false],
  ["another part", ["ann -5 USD", "bob 5 USD pending"], false],
  ["one side only", ["ann -5 USD"], false],
  ["one entry more", [...TRANSFER, "bob 1 EUR"], false],
  ["nothing", [], false],
] as const)("few entries and many are compared with %s alike", (_name, others, isSame) => {
  const [some, other] = [entriesOf(...TRANSFER), entriesOf(...others)];
  const many = [...other, ...entriesOf(...NOTHING)];
  expect(haveSameEffect(some, other)).toBe(isSame);
  expect(haveSameEffect(other, some)).toBe(isSame);
  expect(haveSameEffect(some, many)).toBe(isSame);
  expect(effectOn(some) === effectOn(other)).toBe(isSame);
});
