/** Cases of a list's depth test, by filter: a filter without a case does not compile. */
import { expect } from "vitest";
import type { ListOptions } from "../../src/customers/list-queries.ts";
import { type AnnotationDescriptions, type FilteredField, filteredAnnotations } from "../../src/ledger/annotations.ts";
import type { Cost } from "./cost.ts";

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

/** That the first page has so many rows, and that it and one behind a position touch few pages of the database. */
export async function expectCheap<Filter, Position>(
  costOfPage: (filter: Filter | (Filter & { readonly after: Position })) => Promise<Cost>,
  filter: Filter,
  { found, after, mostPages }: { readonly found: number; readonly after: Position; readonly mostPages: number },
): Promise<void> {
  const top = await costOfPage(filter);
  expect(top.rows).toBe(found);
  expect(top.pages).toBeLessThan(mostPages);
  const deep = await costOfPage({ ...filter, after });
  expect(deep.pages).toBeLessThan(mostPages);
}

/** The columns of the annotations by which lists filter, each with the same text, for an `insert` of a depth test. */
export function annotationsAs(
  text: string,
  described: AnnotationDescriptions,
): { readonly names: string; readonly texts: string } {
  const filtered = filteredAnnotations(described);
  return { names: filtered.map(({ name }) => name).join(", "), texts: filtered.map(() => text).join(", ") };
}

/** The same cases for each annotation by which a list filters. @param more filters beside it */
export function casesByAnnotation<Described extends AnnotationDescriptions, More extends object>(
  described: Described,
  cases: readonly (readonly [by: string, text: string, found: number, more?: More])[],
) {
  type Field = FilteredField<Described>;
  type Cases = { readonly [Name in Field]: readonly DepthCase<More & { readonly [Each in Name]: string }>[] };
  const byField: Record<string, unknown> = {};
  for (const { field } of filteredAnnotations(described)) {
    byField[field] = cases.map(([by, text, found, more]) => [`${field}: ${by}`, { ...more, [field]: text }, found]);
  }
  return byField as Cases;
}
