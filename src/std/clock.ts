import type { Brand } from "./brand.ts";

/** A moment in milliseconds since 1970, UTC: the precision with which every time is stored and printed. */
export type Instant = Brand<number, "Instant">;

/** Where the time comes from. Rules are handed an `Instant`; only shells ask a clock. */
export interface Clock {
  now(): Instant;
}

/** A clock that is compared with another one. */
export interface ComparedClock extends Clock {
  /** Why what it says is not to be believed now, in words. */
  readonly fault?: string | undefined;
  /** How far it may be from the other one without a fault. */
  readonly toleranceMs?: number;
}

/** What was asked for rests on the time, and that is not known now: trying again helps. */
export class ClockFault extends Error {
  override readonly name = "ClockFault";
}

/** Throws while what the clock says is not to be believed: for what would keep a wrong time for years. */
export function requireRight({ fault }: ComparedClock): void {
  if (fault !== undefined) throw new ClockFault(fault);
}

export const systemClock: Clock = { now: () => Date.now() as Instant };

/** For waits: whatever becomes of the time of day, it goes on. Its moments are stored nowhere and told to nobody. */
export const steadyClock: Clock = { now: () => (performance.timeOrigin + performance.now()) as Instant };

/** RFC 3339 UTC with exactly three decimals, e.g. 2026-11-21T09:30:00.000Z. */
export function formatInstant(instant: Instant): string {
  // All that a batch writes has one time, and what is written in a row was often made in the same millisecond.
  if (instant !== lastFormatted) {
    lastText = new Date(instant).toISOString();
    lastFormatted = instant;
  }
  return lastText;
}

let lastFormatted: Instant | undefined;
let lastText = "";

/**
 * Reads an RFC 3339 date-time with up to nine decimals of a second. Undefined when it is not one.
 * What is finer than a millisecond cannot be held by an `Instant`, so the caller says to which side it goes:
 * as the lower bound of a range 10:00:00.0001 leaves out a record of 10:00:00.000, as the upper bound it keeps it.
 */
export function parseInstant(text: string, finer: "up" | "down"): Instant | undefined {
  const parts = RFC_3339.exec(text);
  if (parts === null) return undefined;
  const [, day, time, fraction = "", zone] = parts as unknown as [string, string, string, string | undefined, string];
  const offset = zone.toUpperCase();
  const whole = Date.parse(`${day}T${time}${offset}`);
  if (Number.isNaN(whole) || !isCalendarDay(day)) return undefined;
  const nanoseconds = Number(fraction.padEnd(9, "0"));
  const milliseconds = nanoseconds / 1_000_000;
  const instant = whole + (finer === "up" ? Math.ceil(milliseconds) : Math.floor(milliseconds));
  // An offset may lead out of the years that have four digits.
  return instant < FIRST || instant > LAST ? undefined : (instant as Instant);
}

const FIRST = Date.parse("0001-01-01T00:00:00Z");
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

const RFC_3339 =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])(?:\.([0-9]{1,9}))?([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$/;

/** `Date.parse` takes 2026-02-30 for 2 March; a caller who wrote that is told instead. */
function isCalendarDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
