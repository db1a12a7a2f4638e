import type { CheckResult } from "./check.ts";

/** A table of the results, followed by the first finding of each check. @returns lines */
export function formatReport(checks: readonly CheckResult[]): string[] {
  const rows = checks.map(({ check, examined, broken }) => [
    check,
    examined.toString(),
    broken === 0 ? "sound" : `${broken} broken`,
  ]);
  const lines = table([["check", "examined", "result"], ...rows]);
  const findings = checks.flatMap(({ first }) => first ?? []);
  const broken = findings.map(({ check, record, message }) => `${check}: ${record} ${message}`);
  return [...lines, ...(broken.length === 0 ? [] : ["", ...broken])];
}

function table(rows: readonly (readonly string[])[]): string[] {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const [first, second] = [width(0), width(1)];
  return rows.map(([check = "", examined = "", result = ""]) =>
    [check.padEnd(first), examined.padStart(second), result].join("  "),
  );
}
