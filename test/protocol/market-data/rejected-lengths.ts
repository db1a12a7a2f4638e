/** What candles and average prices have in common: exactly one of `increment` and `max_data_points`. */
import { expect } from "vitest";
import type { Answer } from "../../support/service.ts";

type Rejected = (query: string) => Promise<unknown>;

/** @returns a reader of the fields that a request with this query is rejected for */
export function rejectionsBy(get: (query: string) => Promise<Answer>): Rejected {
  return async (query) => {
    const { status, body } = await get(query);
    expect(status).toBe(400);
    return body.meta.errors;
  };
}

export async function expectOneLength(rejected: Rejected, what: "averages" | "candles"): Promise<void> {
  expect(await rejected("")).toEqual([{ field: "increment", rule: "or max_data_points is required" }]);
  expect(await rejected("increment=ONE_DAY&max_data_points=5")).toEqual([
    { field: "increment", value: "ONE_DAY", rule: "cannot be given with max_data_points" },
  ]);
  expect(await rejected("max_data_points=1")).toEqual([
    {
      field: "max_data_points",
      value: 1,
      rule: `is less than the number of ${what} in the range at FOUR_WEEKS, the longest increment`,
    },
  ]);
}
