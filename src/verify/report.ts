import type { CheckResult } from "./check.ts";
import { KNOWN_COLUMNS } from "./ledger/known-columns.ts";
import type { VerifyReport } from "./verify.ts";

/** A table of the results, followed by the first finding of each check. @returns lines */
export function formatReport(checks: readonly CheckResult[]): string[] {
  const rows = checks.map(({ check, examined, broken }) => [check, examined.toString(), resultOf(check, broken)]);
  const lines = table([["check", "examined", "result"], ...rows]);
  const findings = checks.flatMap(({ first }) => first ?? []);
  const broken = findings.map(({ check, record, message }) => `${check}: ${record} ${message}`);
  return [...lines, ...(broken.length === 0 ? [] : ["", ...broken])];
}

function resultOf(check: string, broken: number): string {
  if (broken === 0) return "sound";
  return check === KNOWN_COLUMNS ? `${broken} unknown` : `${broken} broken`;
}

/** What somebody may rely on. That something is unknown is no difference, and no proof of soundness either. */
export function verdictOf({ checks, sound, complete }: Pick<VerifyReport, "checks" | "sound" | "complete">): string {
  if (sound) return "The ledger is sound.";
  const differs = checks.some(({ check, broken }) => check !== KNOWN_COLUMNS && broken > 0);
  if (!differs) return "No difference was found, but the ledger holds what this version cannot verify.";
  return complete ? "The ledger is not sound." : "The ledger is not sound, and holds what this version cannot verify.";
}

function table(rows: readonly (readonly string[])[]): string[] {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const [first, second] = [width(0), width(1)];
  return rows.map(([check = "", examined = "", result = ""]) =>
    [check.padEnd(first), examined.padStart(second), result].join("  "),
  );
}
