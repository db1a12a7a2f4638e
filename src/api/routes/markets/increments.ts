/** The lengths of candles and of average prices. A request names one, or the number of data points that it wants at most. */
import { Type } from "typebox";
import { INCREMENTS, type Increment } from "../../../exchange/exchange.ts";
import { must } from "../../../std/assert.ts";
import type { Words } from "../../../web/dialect/dialect.ts";
import { invalid } from "../../problems/failing-fields.ts";
import type { Problem } from "../../problems/problems.ts";
import { NamedEnum } from "../../requests/schemas.ts";

export const IncrementText = NamedEnum("CandleIncrement", INCREMENTS, "The length of a candle, or of an average.");

export const MaxDataPoints = Type.Optional(
  Type.Integer({
    description: "Selects the shortest increment with at most this many data points in the range.",
    minimum: 1,
    maximum: 1_000_000,
  }),
);

interface LengthQuery {
  readonly increment?: Increment;
  readonly max_data_points?: number;
}

/** @throws Problem 400 when both are given, or none */
export function requireOneLength({ increment, max_data_points: most }: LengthQuery, words: Words): void {
  if ((increment === undefined) !== (most === undefined)) return;
  const rule = increment === undefined ? "or max_data_points is required" : "cannot be given with max_data_points";
  const value = increment === undefined ? {} : { value: words.given(increment) };
  throw invalid([{ field: "increment", ...value, rule }]);
}

/** When even the longest increment has more than were asked for. */
export function tooFewDataPoints(what: string, most: number, words: Words): Problem {
  const longest = words.given(must(INCREMENTS.at(-1), "there are increments"));
  const rule = `is less than the number of ${what} in the range at ${longest}, the longest increment`;
  return invalid([{ field: "max_data_points", value: most, rule }]);
}
