/**
 * Filters on times. Records have whole milliseconds; bounds may be finer. Each bound is rounded to the side that keeps
 * exactly the matching records. A range that ends before it begins is empty.
 */
import { type TOptional, type TString, Type } from "typebox";
import { must } from "../../std/assert.ts";
import { type Instant, parseInstant } from "../../std/clock.ts";
import { lowestId, type Uuid } from "../../std/id.ts";

/** `from` is inclusive, `before` exclusive; undefined is unbounded. */
export interface TimeRange {
  readonly from: Instant | undefined;
  readonly before: Instant | undefined;
}

const COMPARISONS = {
  lt: "Before this time.",
  lte: "At this time or before.",
  eq: "At exactly this time.",
  gte: "At this time or after.",
  gt: "After this time.",
} as const;

const ENDS = {
  begin: "At this time or after.",
  end: "At this time or before.",
} as const;

type Bounds<Name extends string, Suffix extends string> = {
  [Key in `${Name}.${Suffix}`]: TOptional<TString>;
};

/** The query parameters `<name>.lt`, `.lte`, `.eq`, `.gte` and `.gt`. */
export function comparisons<Name extends string>(name: Name): Bounds<Name, keyof typeof COMPARISONS> {
  return boundsOf(name, COMPARISONS);
}

/** The query parameters `<name>.begin` and `<name>.end`, both inclusive. */
export function interval<Name extends string>(name: Name): Bounds<Name, keyof typeof ENDS> {
  return boundsOf(name, ENDS);
}

function boundsOf<Name extends string, Suffix extends string>(
  name: Name,
  descriptions: Readonly<Record<Suffix, string>>,
): Bounds<Name, Suffix> {
  const bounds = Object.entries<string>(descriptions).map(([suffix, description]) => [
    `${name}.${suffix}`,
    Type.Optional(Type.String({ description, format: "date-time", "x-check": "date_time" })),
  ]);
  return Object.fromEntries(bounds) as Bounds<Name, Suffix>;
}

type Query = Readonly<Record<string, unknown>>;

export function readComparisons(query: Query, name: string): TimeRange {
  const text = (suffix: keyof typeof COMPARISONS): unknown => query[`${name}.${suffix}`];
  return intersection([
    { from: firstFrom(text("gte")), before: firstAfter(text("lte")) },
    { from: firstAfter(text("gt")), before: firstFrom(text("lt")) },
    // No record matches a time that is finer than a millisecond: then these bounds enclose nothing.
    { from: firstFrom(text("eq")), before: firstAfter(text("eq")) },
  ]);
}

export function readInterval(query: Query, name: string): TimeRange {
  return { from: firstFrom(query[`${name}.begin`]), before: firstAfter(query[`${name}.end`]) };
}

/** The times that match all of these. */
export function intersection(ranges: readonly TimeRange[]): TimeRange {
  const known = (times: readonly (Instant | undefined)[]) => times.filter((time) => time !== undefined);
  const from = known(ranges.map((range) => range.from));
  const before = known(ranges.map((range) => range.before));
  return {
    from: from.length === 0 ? undefined : (Math.max(...from) as Instant),
    before: before.length === 0 ? undefined : (Math.min(...before) as Instant),
  };
}

/** The same bounds on ids, for records whose id contains their creation time. */
export function idsWithin({ from, before }: TimeRange): { from: Uuid | undefined; before: Uuid | undefined } {
  return {
    from: from === undefined ? undefined : lowestId(from),
    before: before === undefined ? undefined : lowestId(before),
  };
}

/** The last millisecond that is not after this time. The text must have passed its schema. */
export function lastUntil(text: string): Instant {
  return storable(must(parseInstant(text, "down"), "the schema has checked that this is a time"));
}

/** The first millisecond that is not before this time. */
function firstFrom(text: unknown): Instant | undefined {
  return typeof text === "string" ? storable(parseInstant(text, "up") ?? LATEST) : undefined;
}

/** The first millisecond after this time. */
function firstAfter(text: unknown): Instant | undefined {
  return typeof text === "string" ? storable(lastUntil(text) + 1) : undefined;
}

/** Clamps to 1970 and 9999: ids cannot express earlier times, nor SQL's text later ones. There are no such records. */
function storable(time: number): Instant {
  return Math.min(Math.max(time, 0), LATEST) as Instant;
}

const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
