/** How values that PostgreSQL sends are read. */
import pg from "pg";
import type { Instant } from "../std/clock.ts";

const TIMESTAMPTZ = 1184;
const DATE = 1082;

/**
 * Timestamps are parsed to milliseconds: every stored one has three decimals. Dates stay text: the driver would parse them
 * as midnight in the local time zone.
 */
export const VALUE_TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") => {
    if (oid === TIMESTAMPTZ && format !== "binary") return readTimestamp;
    if (oid === DATE && format !== "binary") return String;
    return pg.types.getTypeParser(oid, format as "text");
  }) as typeof pg.types.getTypeParser,
};

/** The last that was read: rows of a batch, and both sides of a match, have the same. */
let lastTimestamp = { text: "", instant: 0 as Instant };

/** @param text Such as `2026-11-21 20:08:02.123+00`; the offset may have minutes. */
function readTimestamp(text: string): Instant {
  if (text === lastTimestamp.text) return lastTimestamp.instant;
  const sign = text.at(-3);
  const minutes = sign === "+" || sign === "-" ? ":00" : "";
  const instant = text[4] === "-" ? Date.parse(`${text.slice(0, 10)}T${text.slice(11)}${minutes}`) : Number.NaN;
  lastTimestamp = { text, instant: (Number.isNaN(instant) ? beyondDates(text) : instant) as Instant };
  return lastTimestamp.instant;
}

/**
 * For infinity and for years before 1 or beyond 9999, which we never write: a time that nobody writes either, so that
 * whoever compares the row reports it instead of failing.
 */
function beyondDates(text: string): number {
  return Date.UTC(text.startsWith("-") || text.endsWith("BC") ? -100_000 : 100_000, 0);
}
