/** Parsers for option values and arguments. Each throws InvalidArgumentError, before the command starts. */
import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { type FeeTier, isRate } from "../catalogue/fee-tiers.ts";
import { composedName, parseCustomerName } from "../customers/customer-name.ts";
import type { RequestedAmount } from "../ledger/rejections.ts";
import { type Amount, type AmountRejection, parseAmount, ZERO } from "../money/amount.ts";
import { isScope, SCOPES } from "../oauth/scopes.ts";
import { isCoinCode } from "../service/config/config.ts";
import type { Brand } from "../std/brand.ts";
import { parseInstant } from "../std/clock.ts";
import { parseUuid, type Uuid } from "../std/id.ts";
import { type Network, parseNetwork } from "../std/network.ts";
import { isComposed, isFullyVisible } from "../std/printable.ts";
import { done, type Result } from "../std/result.ts";

export function readUuid(text: string): Uuid {
  const id = parseUuid(text);
  if (id === undefined) throw new InvalidArgumentError("Not a UUID.");
  return id;
}

/** As it is written, because only its asset says how many decimals it may have. */
export interface WrittenAmount {
  readonly text: string;
  readonly value: RequestedAmount;
}

export function readAmount(text: string): WrittenAmount {
  const amount = parseAmount(text);
  if (amount.kind === "done") return { text, value: amount.value };
  if (amount.rejection === "too_precise") return { text, value: amount.rejection };
  throw new InvalidArgumentError("Must be a decimal number above 0 and below 10^18, such as 100 or 0.25.");
}

export function readRate(text: string): Amount {
  const rate = parseZeroOrAmount(text);
  if (rate.kind === "done" && isRate(rate.value)) return rate.value;
  throw new InvalidArgumentError("Must be a share from 0 to 0.1 with at most 4 decimals, such as 0.0035 for 0.35 %.");
}

/** `30-day volume:taker rate:maker rebate`, the volume in the quote asset. */
export function readTier(text: string): FeeTier {
  const [gross = "", takerRate = "", makerRebate = "", ...more] = text.split(":");
  const minimum = parseZeroOrAmount(gross);
  if (minimum.kind === "rejected" || more.length > 0) {
    throw new InvalidArgumentError("Must be 30-day volume:taker rate:maker rebate, such as 0:0.0035:0.0003.");
  }
  return { minimumGross: minimum.value, takerRate: readRate(takerRate), makerRebate: readRate(makerRebate) };
}

function parseZeroOrAmount(text: string): Result<Amount, AmountRejection> {
  const amount = parseAmount(text);
  return amount.kind === "rejected" && amount.rejection === "zero" ? done(ZERO) : amount;
}

/** The same limits as the API fields that hold the text. */
export function readText(text: string): string {
  // Characters, as the API counts them, and not UTF-16 units.
  const { length } = [...text];
  if (length >= 1 && length <= 100 && !text.includes("\0")) return text;
  throw new InvalidArgumentError("Must have 1 to 100 characters.");
}

/** Something is recorded once per reference: a line end from a file, or a pasted blank, must not make it another one. */
export function readReference(text: string): string {
  if (!isFullyVisible(text)) throw new InvalidArgumentError("Must not have invisible characters, or blanks at an end.");
  if (!isComposed(text))
    throw new InvalidArgumentError("Must have letters with their accents in one character (Unicode's form NFC).");
  return readText(text);
}

/** Of a transaction on a chain: hexadecimal digits or base58. */
export function readHash(text: string): string {
  // In no form a 0 and an x are followed by anything but hexadecimal digits: another 0x has been pasted along.
  if (/^(?:0x[0-9a-f]{1,98}|(?!0x)[0-9a-z]{1,100})$/i.test(text)) return text;
  throw new InvalidArgumentError("Must have 1 to 100 letters and digits, as the network writes it.");
}

export function readOutputIndex(text: string): string {
  if (/^[0-9]{1,10}$/.test(text)) return text;
  throw new InvalidArgumentError("Must be a whole number.");
}

/** On a chain, or of an account outside. */
export function readAddress(text: string): string {
  if (/^[\x21-\x7e]{1,100}$/.test(text)) return text;
  throw new InvalidArgumentError("Must have 1 to 100 ASCII characters without blanks, as the network writes it.");
}

export function readCustomerName(text: string): string {
  const name = parseCustomerName(text);
  if (name.kind === "done") return name.value;
  throw new InvalidArgumentError(`M${name.rejection.slice(1)}.`);
}

/** A customer's id or name, not looked up yet. */
export type CustomerReference = Brand<string, "CustomerReference">;

export const readCustomer = (text: string): CustomerReference => readText(composedName(text)) as CustomerReference;

/** The setting says the same, with its own name. */
export function readCoin(text: string): string {
  if (isCoinCode(text)) return text;
  throw new InvalidArgumentError("Must be a code of 2 to 13 capitals or digits, such as ACMEUSD.");
}

/** Resolved against the working directory. */
export function readPath(text: string): string {
  if (text !== "" && !text.includes("\0")) return resolve(text);
  throw new InvalidArgumentError("Not a path.");
}

export function readTime(text: string): Date {
  const instant = parseInstant(text, "down");
  if (instant !== undefined) return new Date(instant);
  throw new InvalidArgumentError("Must be an RFC 3339 time, such as 2026-11-21T14:05:00Z.");
}

/** Comma-separated scopes, or `*` for all. */
export function readScopes(text: string): string[] {
  const scopes = [...new Set(text.split(",").map((scope) => scope.trim()))];
  if (scopes.length === 1 && scopes[0] === "*") return scopes;
  const unknown = scopes.find((scope) => !isScope(scope));
  if (unknown === undefined) return scopes;
  throw new InvalidArgumentError(
    `"${unknown}" is not a scope. Use * for all, or one or more of ${Object.keys(SCOPES).join(", ")}.`,
  );
}

/** Comma-separated CIDR networks or addresses. */
export function readNetworks(text: string): Network[] {
  return text.split(",").map((each) => {
    const network = parseNetwork(each.trim());
    if (network !== undefined) return network;
    throw new InvalidArgumentError(
      `"${each}" is not an IP address or a CIDR network without host bits, such as 192.0.2.0/24 or 2001:db8::/32.`,
    );
  });
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** @returns Milliseconds, from text such as 90s, 15m, 24h, 7d or 0. */
export function readDuration(text: string): number {
  if (text === "0") return 0;
  const [, number, unit] = /^([0-9]{1,5})([smhd])$/.exec(text) ?? [];
  if (number !== undefined && unit !== undefined) return Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS];
  throw new InvalidArgumentError("Must be a duration such as 90s, 15m, 24h or 7d.");
}

/** A batch position, `slot/number`. */
export function readPosition(text: string): { slot: number; batch: bigint } {
  const [, slot, batch] = /^([0-9]{1,2})\/([0-9]{1,18})$/.exec(text) ?? [];
  if (slot !== undefined && batch !== undefined) return { slot: Number(slot), batch: BigInt(batch) };
  throw new InvalidArgumentError("Must be a batch position, such as 1/4711.");
}

/** Comma-separated texts. */
export const readList = (text: string): string[] => text.split(",").map((each) => each.trim());

/** Of an event. */
export function readEventNumber(text: string): bigint {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError("Must be the number of an event.");
}

export function readHours(text: string): number {
  const hours = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (hours >= 1 && hours <= 720) return hours;
  throw new InvalidArgumentError("Must be a whole number from 1 to 720.");
}
