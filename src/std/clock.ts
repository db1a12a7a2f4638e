import type { Brand } from "./brand.ts";

/** A moment in milliseconds since 1970, UTC: the precision with which every time is stored and printed. */
export type Instant = Brand<number, "Instant">;

/** A source of time. Rules get an `Instant` as argument; only their callers read a clock. */
export interface Clock {
  now(): Instant;
}

/** A clock that is compared with another one. */
export interface ComparedClock extends Clock {
  /** Why its time is currently not reliable, as a text for the response; undefined if it is. */
  readonly fault?: string | undefined;
  /** Its own time: while it has a fault it is not known which of the two clocks is wrong. Absent: as `now`. */
  ownNow?(): Instant;
  /** The difference to the other clock that is not yet a fault. */
  readonly toleranceMs?: number;
}

/** A request depends on the time while the clock has a fault. A retry may succeed. */
export class ClockFault extends Error {
  override readonly name = "ClockFault";
}

/** @throws ClockFault while the clock has a fault. For operations that would store a wrong time for long. */
export function requireCorrectTime({ fault }: ComparedClock): void {
  if (fault !== undefined) throw new ClockFault(fault);
}

export const systemClock: Clock = { now: () => Date.now() as Instant };

/** A monotonic clock, for durations. Never store or send its instants. */
export const steadyClock: Clock = { now: () => (performance.timeOrigin + performance.now()) as Instant };

/** RFC 3339 UTC with exactly three decimals, e.g. 2026-11-21T09:30:00.000Z. */
export function formatInstant(instant: Instant): string {
  // Remembered: a batch, and a page of events, has few instants many times.
  const place = instant & (REMEMBERED - 1);
  const known = formatted[place];
  if (known?.instant === instant) return known.text;
  const text = new Date(instant).toISOString();
  formatted[place] = { instant, text };
  return text;
}

/** A power of two. */
const REMEMBERED = 64;
/** The last instant with each remainder, with its text. */
const formatted: { readonly instant: Instant; readonly text: string }[] = [];

/**
 * Reads an RFC 3339 date-time with up to nine decimals of a second. A leap second, which is the last one of a month in UTC,
 * is the second after it: we have no time of its own for it.
 * @param finer how to round what is finer than a millisecond: up for the lower bound of a range, down for the upper
 * @returns undefined if it is not one
 */
export function parseInstant(text: string, finer: "up" | "down"): Instant | undefined {
  const parts = RFC_3339.exec(text);
  if (parts === null) return undefined;
  const [, day, time, fraction = "", zone] = parts as unknown as [string, string, string, string | undefined, string];
  const offset = zone.toUpperCase();
  const isLeapSecond = time.endsWith("60");
  const whole =
    Date.parse(`${day}T${isLeapSecond ? `${time.slice(0, -2)}59` : time}${offset}`) + Number(isLeapSecond) * 1_000;
  if (Number.isNaN(whole) || !isCalendarDay(day) || (isLeapSecond && !isMonthsBegin(whole))) return undefined;
  const nanoseconds = Number(fraction.padEnd(9, "0"));
  const milliseconds = nanoseconds / 1_000_000;
  const instant = whole + (finer === "up" ? Math.ceil(milliseconds) : Math.floor(milliseconds));
  // An offset may lead beyond four-digit years.
  return instant < FIRST || instant > LAST ? undefined : (instant as Instant);
}

const FIRST = Date.parse("0001-01-01T00:00:00Z");
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

const RFC_3339 =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]((?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60))(?:\.([0-9]{1,9}))?([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$/;

function isMonthsBegin(time: number): boolean {
  return new Date(time).toISOString().endsWith("-01T00:00:00.000Z");
}

/** `Date.parse` reads 2026-02-30 as 2 March. */
function isCalendarDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
