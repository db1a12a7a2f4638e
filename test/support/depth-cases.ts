/** Cases of a list's depth test, by filter: a filter without a case does not compile. */
import type { ListOptions } from "../../src/customers/list-queries.ts";

type Filtering<Filter> = Partial<Omit<Filter, Exclude<keyof ListOptions, "customerId">>>;

/** What it is by, the filter, and how many rows of 101 it finds. */
export type DepthCase<Filter> = readonly [by: string, filter: Filter, found: number];

export type DepthCases<Filter> = {
  readonly [Name in keyof Omit<Filtering<Filter>, "customerId">]-?: readonly DepthCase<
    Filtering<Filter> & Required<Pick<Filtering<Filter>, Name>>
  >[];
};

/** All cases, the one without a filter first. */
export function casesOf<Filter>(cases: DepthCases<Filter>): DepthCase<Filtering<Filter>>[] {
  return [["nothing", {}, 101], ...(Object.values(cases).flat() as DepthCase<Filtering<Filter>>[])];
}
