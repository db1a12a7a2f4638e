import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const MIGRATIONS = new URL("../../migrations/", import.meta.url);
const SAYS_WHO_RUNS = /^-- .*\b(no version before it|the version before (can still run|must be stopped))/i;

/** The comment at the beginning, as one line. */
const headOf = (text: string): string => (/^(--.*\n)+/.exec(text)?.[0] ?? "").replaceAll("\n-- ", " ");

test("a migration begins with whether the version before can still run", () => {
  const names = readdirSync(MIGRATIONS).filter((name) => /^[0-9]{4}-.*\.sql$/.test(name));
  const silent = names.filter((name) => !SAYS_WHO_RUNS.test(headOf(readFileSync(new URL(name, MIGRATIONS), "utf8"))));
  expect(names).toContain("0001-schema.sql");
  expect(silent).toEqual([]);
});

test("a head that says nothing of the version before is not taken for one that does", () => {
  expect(headOf("-- Conversions get\n-- a memo.\nalter table conversion add column memo text;\n")).not.toMatch(
    SAYS_WHO_RUNS,
  );
  expect(headOf("-- Conversions get a memo. The version before\n-- can still run.\n\n-- more")).toMatch(SAYS_WHO_RUNS);
});
