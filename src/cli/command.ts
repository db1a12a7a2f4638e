/**
 * The frame of every command: it prints one result, as JSON or as text, on standard output. Logs and errors go to
 * standard error.
 */
import type { Command } from "commander";
import { type Config, readConfig } from "../service/config/config.ts";
import { environment } from "../service/config/environment.ts";
import { type Core, type Foundation, openCore, openFoundation } from "../service/core.ts";
import { createLogger } from "../service/logger.ts";
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

export type ExitCode = 0 | 1 | 2;

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

/** @param work Receives the arguments in order, then the options. */
export function setAction<Given extends unknown[]>(
  command: Command,
  work: (...given: Given) => Promise<CommandResult>,
): void {
  command.action(async (...given: unknown[]) => {
    // Commander passes the command itself as the last argument.
    const { json, prose, failed = false, exitCode = failed ? 1 : 0 } = await work(...(given.slice(0, -1) as Given));
    await printed(command.opts().json === true, { json, prose }).catch(({ code }: NodeJS.ErrnoException) => {
      throw new CommandRejected(`the command succeeded, but its result could not be written (${code})`);
    });
    if (exitCode !== 0) throw new CommandFailed(exitCode);
  });
}

async function printed(isJson: boolean, { json, prose }: Pick<CommandResult, "json" | "prose">): Promise<void> {
  if (!isJson) await printColoured(prose);
  else if (json !== undefined) await printJson(json);
}

/** The settings. A command logs warnings and errors only, unless PARBOOK_LOG_LEVEL says otherwise. */
export function commandConfig(): Config {
  return readConfig({ ...environment, PARBOOK_LOG_LEVEL: environment.PARBOOK_LOG_LEVEL || "warn" });
}

/** For commands that move money or create profiles. The service may be running or stopped. */
export function withCore(work: (core: Core, config: Config) => Promise<CommandResult>): Promise<CommandResult> {
  return within(openCore, work);
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
