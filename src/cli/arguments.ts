/** What is typed, read into what it means. Whatever is not right is told before anything is started. */
import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { type FeeTier, isRate } from "../catalogue/fee-tiers.ts";
import type { RequestedAmount } from "../ledger/rejections.ts";
import { type Amount, parseAmount, ZERO } from "../money/amount.ts";
import { isScope, SCOPES } from "../oauth/scopes.ts";
import { parseInstant } from "../std/clock.ts";
import { parseUuid, type Uuid } from "../std/id.ts";
import { type Network, parseNetwork } from "../std/network.ts";

export function readUuid(text: string): Uuid {
  const id = parseUuid(text);
  if (id === undefined) throw new InvalidArgumentError("It is not a UUID.");
  return id;
}

export function readAmount(text: string): RequestedAmount {
  const amount = parseAmount(text);
  if (typeof amount === "bigint" || amount === "too_precise") return amount;
  throw new InvalidArgumentError("It is not a decimal number above 0 and below 10^18, such as 100 or 0.25.");
}

export function readRate(text: string): Amount {
  const rate = parseAmount(text);
  if (rate === "zero") return ZERO;
  if (typeof rate === "bigint" && isRate(rate)) return rate;
  throw new InvalidArgumentError("It is not a rate: from 0 to below 1, with at most 4 decimals, such as 0.0035.");
}

/** A tier as 30-day gross, taker rate and maker rebate, with colons between them. */
export function readTier(text: string): FeeTier {
  const [gross = "", takerRate = "", makerRebate = "", ...more] = text.split(":");
  const minimum = parseAmount(gross);
  const minimumGross = minimum === "zero" ? ZERO : minimum;
  if (typeof minimumGross !== "bigint" || more.length > 0) {
    throw new InvalidArgumentError("It is not a tier: 30-day gross:taker rate:maker rebate, such as 0:0.0035:0.0003.");
  }
  return { minimumGross, takerRate: readRate(takerRate), makerRebate: readRate(makerRebate) };
}

/** Between so many characters, as the fields of the API that it ends up in. */
export function readText(text: string): string {
  if (text.length >= 1 && text.length <= 100 && !text.includes("\0")) return text;
  throw new InvalidArgumentError("It has to have 1 to 100 characters.");
}

/** A file or directory, as it is called from where the command is run. */
export function readPath(text: string): string {
  if (text !== "" && !text.includes("\0")) return resolve(text);
  throw new InvalidArgumentError("It is not a path.");
}

export function readTime(text: string): Date {
  const instant = parseInstant(text, "down");
  if (instant !== undefined) return new Date(instant);
  throw new InvalidArgumentError("It is not a time of RFC 3339, such as 2026-11-21T14:05:00Z.");
}

/** Scopes with commas between them, or `*`. */
export function readScopes(text: string): string[] {
  const scopes = [...new Set(text.split(",").map((scope) => scope.trim()))];
  if (scopes.length === 1 && scopes[0] === "*") return scopes;
  const unknown = scopes.find((scope) => !isScope(scope));
  if (unknown === undefined) return scopes;
  throw new InvalidArgumentError(
    `"${unknown}" is not a scope. Give * for all, or some of ${Object.keys(SCOPES).join(", ")}.`,
  );
}

/** Networks with commas between them. */
export function readNetworks(text: string): Network[] {
  return text.split(",").map((each) => {
    const network = parseNetwork(each.trim());
    if (network !== undefined) return network;
    throw new InvalidArgumentError(
      `"${each}" is neither an IP address nor a network such as 192.0.2.0/24 or 2001:db8::/32, without bits beyond its prefix.`,
    );
  });
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A time span such as 90s, 15m, 24h or 7d, in milliseconds; 0 is none. */
export function readDuration(text: string): number {
  if (text === "0") return 0;
  const [, number, unit] = /^([0-9]{1,5})([smhd])$/.exec(text) ?? [];
  if (number !== undefined && unit !== undefined) return Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS];
  throw new InvalidArgumentError("It is not a time span such as 90s, 15m, 24h or 7d.");
}

/** A batch as its slot and its number. */
export function readPosition(text: string): { slot: number; batch: bigint } {
  const [, slot, batch] = /^([0-9]{1,2})\/([0-9]{1,18})$/.exec(text) ?? [];
  if (slot !== undefined && batch !== undefined) return { slot: Number(slot), batch: BigInt(batch) };
  throw new InvalidArgumentError("It is not a batch as it was told, such as 1/4711.");
}

export function readHours(text: string): number {
  const hours = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (hours >= 1 && hours <= 720) return hours;
  throw new InvalidArgumentError("It is not a whole number from 1 to 720.");
}
