/** The command line. Every error is a line on standard error; the exit codes are in `failure.ts`. */
import { Command } from "commander";
import { ignoreErrors } from "../logger.ts";

import { addAuditCommands } from "./audit.ts";
import { addBackup } from "./backup.ts";
import { addCheckpoint } from "./checkpoint.ts";
import { addClientCommands } from "./clients.ts";
import { addCrossingCommands } from "./crossings.ts";
import { addCustomerCommands } from "./customers.ts";
import { addDemo } from "./demo.ts";
import { addExport } from "./export.ts";
import { failureOf } from "./failure.ts";
import { addFeeCommands } from "./fees.ts";
import { addKeyCommands } from "./keys.ts";
import { addMarketCommands } from "./markets.ts";
import { addMigrate } from "./migrate.ts";
import { addRestore } from "./restore.ts";
import { addSchema } from "./schema.ts";
import { refuseRepeatedOptions } from "./single-options.ts";
import { addStart } from "./start.ts";
import { HELP_OUTPUT, printError } from "./terminal.ts";
import { addVerify } from "./verify.ts";

/** Runs one command and answers its exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  ignoreErrors(process.stdout);
  ignoreErrors(process.stderr);
  try {
    await buildProgram().parseAsync([...argv], { from: "user" });
    return 0;
  } catch (error) {
    const { lines, exitCode } = failureOf(error);
    if (lines.length > 0) printError(lines);
    return exitCode;
  }
}

/** All commands. */
export function buildProgram(): Command {
  const program = new Command("parbook")
    .description("A self-hosted stablecoin platform core. Settings come from the environment (PARBOOK_*).")
    .exitOverride()
    .configureOutput(HELP_OUTPUT)
    .showHelpAfterError("(add --help to see how it is used)");
  addStart(program);
  addDemo(program);
  addMigrate(program);
  addCustomerCommands(program);
  addClientCommands(program);
  addKeyCommands(program);
  addCrossingCommands(program);
  addMarketCommands(program);
  addFeeCommands(program);
  addAuditCommands(program);
  addVerify(program);
  addBackup(program);
  addRestore(program);
  addCheckpoint(program);
  addExport(program);
  addSchema(program);
  refuseRepeatedOptions(program);
  return program;
}
