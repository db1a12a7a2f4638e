/** Cases of a list's depth test, by filter: a filter without a case does not compile. */
import type { ListOptions } from "../../src/customers/list-queries.ts";

type Filtering<Filter> = Partial<Omit<Filter, Exclude<keyof ListOptions, "customerId">>>;

/** What it is by, the filter, and how many rows a page of 101 reads. */
export type DepthCase<Filter> = readonly [by: string, filter: Filter, found: number];

export type DepthCases<Filter> = {
  readonly [Name in keyof Omit<Filtering<Filter>, "customerId">]-?: readonly DepthCase<
    Filtering<Filter> & Required<Pick<Filtering<Filter>, Name>>
  >[];
};

/** All cases, and the one without a filter, which finds so many. */
export function casesOf<Filter>(all: number, cases: DepthCases<Filter>): DepthCase<Filtering<Filter>>[] {
  return [["nothing", {}, all], ...(Object.values(cases).flat() as DepthCase<Filtering<Filter>>[])];
}
