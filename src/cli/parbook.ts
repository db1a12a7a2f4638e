/** The command line. Errors go to standard error; the exit codes are in `failure.ts`. */
import { Command } from "commander";
import { ignoreErrors } from "../service/logger.ts";
import { PROGRAM_VERSION } from "../std/program-version.ts";
import { addClientCommands } from "./administration/clients.ts";
import { addCustomerCommands } from "./administration/customers.ts";
import { addExternalTransferCommands } from "./administration/external-transfers.ts";
import { addFeeCommands } from "./administration/fees.ts";
import { addHoldCommands } from "./administration/holds.ts";
import { addKeyCommands } from "./administration/keys.ts";
import { addMarketCommands } from "./administration/markets.ts";
import { addTransferStepCommands } from "./administration/transfer-steps.ts";
import { addWebhookCommands } from "./administration/webhooks.ts";
import { addAuditCommands } from "./auditing/audit.ts";
import { addCheckpoint } from "./auditing/checkpoint.ts";
import { addEventCommands } from "./auditing/events.ts";
import { addVerify } from "./auditing/verify.ts";
import { addBackup } from "./backup.ts";
import { addCarryOver } from "./carry-over/carry-over.ts";
import { WrongUsage } from "./command.ts";
import { addDemo } from "./demo/demo.ts";
import { addDoctor } from "./doctor/doctor.ts";
import { addExport } from "./export.ts";
import { addMigrate } from "./migrate.ts";
import { OTHER_WORDS } from "./other-words.ts";
import { addPayoutCommands } from "./payout/payout.ts";
import { addRestore } from "./restore.ts";
import { addSchema } from "./schema.ts";
import { rejectRepeatedOptions } from "./single-options.ts";
import { addStart } from "./start.ts";
import { HELP_OUTPUT, printError } from "./terminal.ts";

/** Runs one command. @returns Its exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  ignoreErrors(process.stdout);
  ignoreErrors(process.stderr);
  try {
    rejectOtherWord(argv);
    await buildProgram().parseAsync(withStart(argv), { from: "user" });
    return 0;
  } catch (error) {
    // Not imported above: it knows the errors of all parts, and loads them.
    const { failureOf } = await import("./failure.ts");
    const { lines, exitCode } = failureOf(error);
    if (lines.length > 0) printError(lines);
    return exitCode;
  }
}

function rejectOtherWord([word = ""]: readonly string[]): void {
  const meant = OTHER_WORDS.get(word);
  if (meant !== undefined) throw new WrongUsage(`there is no command ${word}: see ${meant}`);
}

/** `parbook`, and options alone, start the service: `npx parbook` is all that a newcomer types. */
function withStart(argv: readonly string[]): string[] {
  const [first = "start"] = argv;
  const isOfTheProgram = !first.startsWith("-") || PROGRAM_OPTIONS.includes(first);
  return argv.length > 0 && isOfTheProgram ? [...argv] : ["start", ...argv];
}

const PROGRAM_OPTIONS = ["-h", "--help", "-V", "--version"];

export function buildProgram(): Command {
  const program = new Command("parbook")
    .description(
      "A self-hosted stablecoin platform core. Settings come from the environment (PARBOOK_*). Without a command it starts.",
    )
    .version(PROGRAM_VERSION, "-V, --version", "print the version")
    .exitOverride()
    // Or the --json of "events rebuild" would be taken by "events", which has one too.
    .enablePositionalOptions()
    .configureOutput(HELP_OUTPUT)
    .showHelpAfterError("(use --help for usage)");
  addStart(program);
  addDemo(program);
  addMigrate(program);
  addCarryOver(program);
  addCustomerCommands(program);
  addClientCommands(program);
  addKeyCommands(program);
  addWebhookCommands(program);
  addExternalTransferCommands(program);
  addTransferStepCommands(program);
  addPayoutCommands(program);
  addHoldCommands(program);
  addMarketCommands(program);
  addFeeCommands(program);
  addAuditCommands(program);
  addDoctor(program);
  addVerify(program);
  addEventCommands(program);
  addBackup(program);
  addRestore(program);
  addCheckpoint(program);
  addExport(program);
  addSchema(program);
  rejectRepeatedOptions(program);
  return program;
}
