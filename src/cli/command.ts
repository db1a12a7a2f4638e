/**
 * The frame of every command: one answer, which is a JSON document for programs or prose for people, on standard
 * output. Everything else that there is to say, logs and errors, goes to standard error.
 */
import type { Command } from "commander";
import { type Config, readConfig } from "../config/config.ts";
import { environment } from "../config/environment.ts";
import { type Core, type Foundation, openCore, openFoundation } from "../service/core.ts";
import { createLogger } from "../service/logger.ts";
import { printJson, printLines } from "./terminal.ts";

export interface Answer {
  readonly json: unknown;
  /** Lines: none of them has a line break of its own. */
  readonly prose: readonly string[];
  /** The answer is that something is wrong: the exit code is 1. */
  readonly failed?: boolean;
}

/** One line: why the command did nothing. */
export class CommandRejected extends Error {
  override readonly name = "Refused";
}

/** The arguments do not go together, which is found out before anything is started. */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}

/** The command has answered, and its answer is that something is wrong. */
export class Failed extends Error {
  override readonly name = "Failed";
}

interface About {
  readonly summary: string;
  /** What comes after `parbook`, as it could be typed. */
  readonly examples: readonly string[];
}

/** A command below `parent`; `usage` is its name with its arguments. */
export function addCommand(parent: Command, usage: string, { summary, examples }: About): Command {
  const lines = examples.map((example) => `  $ parbook ${example}`);
  return parent
    .command(usage)
    .description(summary)
    .option("--json", "answer with one JSON document on standard output")
    .addHelpText("after", ["", examples.length === 1 ? "Example:" : "Examples:", ...lines].join("\n"));
}

/** A word that only opens others, such as `customer` in `customer create`. */
export function addGroup(parent: Command, name: string, summary: string): Command {
  return parent.command(name).description(summary);
}

/** What the command does. It is given its arguments in their order, and its options last. */
export function answering<Given extends unknown[]>(command: Command, work: (...given: Given) => Promise<Answer>): void {
  command.action(async (...given: unknown[]) => {
    // Commander hands the command itself over as the last of all.
    const { json, prose, failed } = await work(...(given.slice(0, -1) as Given));
    const printed = command.opts().json === true ? printJson(json) : printLines(prose);
    await printed.catch(({ code }: NodeJS.ErrnoException) => {
      throw new CommandRejected(`the command is done, but its answer cannot be written (${code})`);
    });
    if (failed === true) throw new Failed();
  });
}

/** The settings, with the log of a command: warnings and worse unless more is asked for. */
export function commandConfig(): Config {
  return readConfig({ ...environment, PARBOOK_LOG_LEVEL: environment.PARBOOK_LOG_LEVEL || "warn" });
}

/** For commands that move money or open profiles. Works beside a running service, and without one. */
export function withCore(work: (core: Core, config: Config) => Promise<Answer>): Promise<Answer> {
  return within(openCore, work);
}

/** For commands that need no more than the database. */
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
