import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROBLEM_PAGES } from "./problem-texts.ts";
import { PROBLEM_KINDS, type ProblemSlug } from "./problems.ts";

interface Row {
  readonly status: string;
  readonly slug: string;
  readonly title: string;
  readonly meta: readonly string[];
}

/** The rows of the contract's table of errors, one for each status. */
function documentedRows(): Row[] {
  const page = readFileSync(new URL("../../../docs/contract/requests.md", import.meta.url), "utf8");
  const [, after = ""] = page.split("| status | slug | title | meta | when |\n| --- | --- | --- | --- | --- |\n");
  const [table = ""] = after.split("\n\n");
  return table.split("\n").flatMap((line) => {
    const [, statuses = "", slug = "", title = "", meta = ""] = line.split("|").map((cell) => cell.trim());
    const names = [...meta.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
    return statuses.split(", ").map((status) => ({ status, slug: slug.replaceAll("`", ""), title, meta: names }));
  });
}

test("docs/contract lists every kind of problem, with its status, title and meta, and no others", () => {
  const documented = documentedRows();
  const rowOf = (kind: string) => documented.find(({ slug, status }) => (slug === "" ? status : slug) === kind);
  for (const [kind, { status, title }] of Object.entries(PROBLEM_KINDS)) {
    const row = rowOf(kind);
    const isSlug = kind in PROBLEM_PAGES;
    expect(row).toEqual({
      status: String(status),
      slug: isSlug ? kind : "",
      title: row?.title === "as HTTP" ? "as HTTP" : title,
      meta: isSlug ? Object.keys(PROBLEM_PAGES[kind as ProblemSlug].meta) : (row?.meta ?? kind),
    });
  }
  expect(documented).toHaveLength(Object.keys(PROBLEM_KINDS).length);
});
