/** `parbook doctor`: what of database and node is not fit for production. */
import type { Command } from "commander";
import { addCommand, CommandFailed, type CommandResult, commandConfig, setAction } from "../command.ts";
import { printError } from "../terminal.ts";
import type { Report } from "./examine-all.ts";
import { reportLines } from "./report-lines.ts";

export function addDoctor(program: Command): void {
  const doctor = addCommand(program, "doctor", {
    summary: "say what of database and node is not fit for production; exit code 1 for warnings, 2 if fatal",
    examples: ["doctor", "doctor --all", "doctor --json"],
  }).option("--all", "also list what is in order");
  setAction(doctor, examine);
}

async function examine({ all }: { readonly all?: true }): Promise<CommandResult> {
  // Not imported above: it knows the errors of all parts, and loads them.
  const [{ examineAll }, { failureOf }] = [await import("./examine-all.ts"), await import("../failure.ts")];
  const report = await examineAll(commandConfig).catch((error: unknown) => {
    // Not 1, which says that it has looked.
    printError(failureOf(error).lines);
    throw new CommandFailed(2);
  });
  return {
    json: recordOf(report),
    prose: reportLines(report, { isComplete: all === true, columns: process.stdout.columns }),
    exitCode: exitCodeOf(report),
  };
}

function recordOf({ mode, postgres, findings, sound }: Report) {
  return { mode, postgres, node: process.versions.node, findings, sound };
}

function exitCodeOf({ findings }: Report): 0 | 1 | 2 {
  if (findings.some(({ severity }) => severity === "fatal")) return 2;
  return findings.some(({ severity }) => severity === "warning") ? 1 : 0;
}
