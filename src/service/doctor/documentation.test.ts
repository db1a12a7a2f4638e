import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ACCEPTABLE_FINDINGS } from "../config/accepted-findings.ts";
import { EXAMINATIONS_OF_LEDGER, EXAMINATIONS_OF_SERVER, REQUIRED_EXAMINATIONS } from "./examine-database.ts";
import { EXAMINATIONS_OF_LIMITS, EXAMINATIONS_OF_MACHINE, EXAMINATIONS_OF_SERVICE } from "./examine-node.ts";
import { FINDING_KINDS, type FindingName, isAcceptable } from "./finding.ts";

const NAMES = Object.keys(FINDING_KINDS) as FindingName[];

test("docs/doctor.md has each finding, and nothing else", async () => {
  const page = await readFile(new URL("../../../docs/doctor.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  expect(rows).toEqual(
    NAMES.map((name) => {
      const { severity, sound, why } = FINDING_KINDS[name];
      return `| \`${name}\` | ${severity} | ${sound} | ${why} | ${isAcceptable(name) ? "yes" : ""} |`;
    }),
  );
});

test("each finding belongs to one examination", () => {
  const examinations = [
    ...REQUIRED_EXAMINATIONS,
    ...EXAMINATIONS_OF_SERVER,
    ...EXAMINATIONS_OF_LEDGER,
    ...EXAMINATIONS_OF_MACHINE,
    ...EXAMINATIONS_OF_SERVICE,
    ...EXAMINATIONS_OF_LIMITS,
  ];
  // The command itself tries these: src/cli/doctor/examine-all.ts.
  const own = ["settings", "sandbox-mode", "sandbox-data", "database-away", "schema", "clock", "clock-drift"];
  const covered = [...own, "unreadable", ...examinations.flatMap(({ covers }) => covers)];
  expect(covered.sort()).toEqual([...NAMES].sort());
  expect(ACCEPTABLE_FINDINGS.filter((name) => !NAMES.includes(name))).toEqual([]);
});
