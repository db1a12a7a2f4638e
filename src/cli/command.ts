/**
 * The frame of every command: it prints one result, as JSON or as text, on standard output. Logs and errors go to
 * standard error.
 */
import type { Command } from "commander";
import type { OperatorCaller } from "../ledger/caller.ts";
import { type Sealer, sealConfigurationWrites } from "../ledger/configuration-writes.ts";
import { Lane } from "../ledger/writer/lane.ts";
import { type Config, readConfig } from "../service/config/config.ts";
import { environment } from "../service/config/environment.ts";
import { type Core, type Foundation, openCore, openFoundation } from "../service/core.ts";
import { createLogger } from "../service/logger.ts";
import { readText } from "./arguments.ts";
import type { ExitCode } from "./exit-code.ts";
import { finished } from "./interruption.ts";
import { operatorOf } from "./operator.ts";
import { type ColouredLine, printColoured, printJson } from "./terminal.ts";

export interface CommandResult {
  /** Undefined of a command that has printed its documents as they came. */
  readonly json: unknown;
  /** One entry per line. */
  readonly prose: readonly (string | ColouredLine)[];
  /** The command ran and found a problem: the exit code is 1. */
  readonly failed?: boolean;
  /** Another exit code than that, of a command that documents it. */
  readonly exitCode?: ExitCode;
}

/** The command did nothing. The message is one line for the operator. */
export class CommandRejected extends Error {
  override readonly name = "CommandRejected";
}

/** The arguments do not fit together. Thrown before anything is started. */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}

/** The command has printed its result, and that result is a failure. */
export class CommandFailed extends Error {
  override readonly name = "Failed";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode = 1) {
    super();
    this.exitCode = exitCode;
  }
}

interface CommandHelp {
  readonly summary: string;
  /** Without the leading `parbook`. */
  readonly examples: readonly string[];
}

/** @param usage The name with its arguments, such as `client rotate <client-id>`. */
export function addCommand(parent: Command, usage: string, { summary, examples }: CommandHelp): Command {
  const lines = examples.map((example) => `  $ parbook ${example}`);
  return parent
    .command(usage)
    .description(summary)
    .option("--json", "print the result as one JSON document")
    .addHelpText("after", ["", examples.length === 1 ? "Example:" : "Examples:", ...lines].join("\n"));
}

/** A command that only has subcommands, such as `customer` in `customer create`. */
export function addGroup(parent: Command, name: string, summary: string): Command {
  return parent.command(name).description(summary);
}

/**
 * @param work Receives the arguments in order, then the options.
 * @param writes Then it is an error if nobody reads the result.
 */
export function setAction<Given extends unknown[]>(
  command: Command,
  work: (...given: Given) => Promise<CommandResult>,
  writes = false,
): void {
  command.action(async (...given: unknown[]) => {
    // Commander passes the command itself as the last argument.
    const { json, prose, failed = false, exitCode = failed ? 1 : 0 } = await work(...(given.slice(0, -1) as Given));
    const unread = (code: string | undefined): CommandRejected =>
      new CommandRejected(`the command succeeded, but its result could not be written (${code})`);
    const isRead = await printed(command.opts().json === true, { json, prose }).catch(
      ({ code }: NodeJS.ErrnoException) => {
        throw unread(code);
      },
    );
    // Who does not see the result of a write would run it again.
    if (writes && !isRead && exitCode === 0) throw unread("EPIPE");
    if (exitCode !== 0) throw new CommandFailed(exitCode);
  });
}

/**
 * The same for a command that writes: it has the option --as, and work receives the operator, as the audit trail keeps
 * them, before the arguments.
 */
export function setWritingAction<Given extends unknown[]>(
  command: Command,
  work: (operator: OperatorCaller, ...given: Given) => Promise<CommandResult>,
): void {
  command.option("--as <name>", "who you are, for the audit trail, which has the user of this machine too", readText);
  const waiting = (...given: Given) => finished(() => work(operatorOf(pathOf(command), command.opts().as), ...given));
  setAction(command, waiting, true);
}

/** The words of a command, such as "market halt". */
function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${pathOf(parent)} ${command.name()}` : command.name();
}

async function printed(isJson: boolean, { json, prose }: Pick<CommandResult, "json" | "prose">): Promise<boolean> {
  if (!isJson) return printColoured(prose);
  return json === undefined || printJson(json);
}

/** The settings. A command logs warnings and errors only, unless PARBOOK_LOG_LEVEL says otherwise. */
export function commandConfig(): Config {
  return readConfig({ ...environment, PARBOOK_LOG_LEVEL: environment.PARBOOK_LOG_LEVEL || "warn" });
}

/** For commands that move money or create profiles. The service may be running or stopped. */
export function withCore(work: (core: Core, config: Config) => Promise<CommandResult>): Promise<CommandResult> {
  return within(openCore, async (core, config) => {
    const result = await work(core, config);
    await sealWrites(core, core.lane);
    return result;
  });
}

/**
 * For commands that write what no batch writes, such as clients and keys: that works while no lane can. A lane seals what
 * they have recorded.
 */
export function withConfiguration(
  work: (foundation: Foundation, config: Config) => Promise<CommandResult>,
): Promise<CommandResult> {
  return withFoundation(async (foundation, config) => {
    const result = await work(foundation, config);
    const lane = new Lane({ ...foundation, log: (event) => foundation.log.debug({ ...event }, "lane") });
    await lane.start().catch(() => undefined);
    await sealWrites(foundation, lane);
    await lane.stop();
    return result;
  });
}

/** If it fails, the write is made and recorded all the same, and a service seals the record. */
async function sealWrites({ database, log }: Foundation, lane: Sealer): Promise<void> {
  await sealConfigurationWrites(database, lane).catch((error: unknown) =>
    log.warn({ error }, "done and recorded, but not in the hash chain yet: a running service will add it"),
  );
}

/** For commands that need the database only. */
export function withFoundation<Value>(
  work: (foundation: Foundation, config: Config) => Promise<Value>,
): Promise<Value> {
  return within(openFoundation, work);
}

async function within<Opened extends Foundation, Value>(
  open: (config: Config, purpose: "command", log: Foundation["log"]) => Promise<Opened>,
  work: (opened: Opened, config: Config) => Promise<Value>,
): Promise<Value> {
  const config = commandConfig();
  const opened = await open(config, "command", createLogger(config, 2));
  try {
    return await work(opened, config);
  } finally {
    await opened.close();
  }
}
