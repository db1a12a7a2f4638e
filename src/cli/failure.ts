/** What the operator is told when a command comes to nothing, and the exit code: 2 when asked wrongly, otherwise 1. */
import { CommanderError } from "commander";
import { WrongSettings } from "../config/config.ts";
import { Problem } from "../http/problems/problems.ts";
import { Unavailable } from "../ledger/decision.ts";
import { KeyUnreadable } from "../oauth/keys/key-encryption.ts";
import { DatabaseAway, OutcomeUnknown, serverError } from "../postgres/database.ts";
import { EmbeddedError } from "../postgres/embedded/refusal.ts";
import { SchemaError } from "../postgres/migrations.ts";
import { SessionUnfit } from "../postgres/session.ts";
import { BootstrapError } from "../service/bootstrap-file.ts";
import { StartupError } from "../service/core.ts";
import { NoDatabase } from "../service/provide-database.ts";
import { ClockFault } from "../std/clock.ts";
import { fileErrorText } from "../std/file-error.ts";
import { CommandRejected, Failed, WrongUsage } from "./command.ts";

export interface Failure {
  /** None when it has been said already. A line break within one came with a value, and is no line break of ours. */
  readonly lines: readonly string[];
  readonly exitCode: 0 | 1 | 2;
}

/** Whose message is a sentence for the operator. */
const REFUSALS = [
  CommandRejected,
  NoDatabase,
  EmbeddedError,
  SchemaError,
  Problem,
  Unavailable,
  KeyUnreadable,
  ClockFault,
];

export function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError) return { lines: [], exitCode: isHelp(error) ? 0 : 2 };
  if (error instanceof Failed) return { lines: [], exitCode: 1 };
  if (error instanceof WrongSettings) return { lines: [error.heading, ...error.lines], exitCode: 2 };
  if (error instanceof WrongUsage) return { lines: [error.message], exitCode: 2 };
  return { lines: linesOf(error), exitCode: 1 };
}

/** Help that was asked for is no failure. Who names no command is shown it as well, and has to be told of the mistake. */
const isHelp = ({ exitCode }: CommanderError): boolean => exitCode === 0;

function linesOf(error: unknown): readonly string[] {
  if (error instanceof StartupError || error instanceof BootstrapError) return error.lines;
  if (REFUSALS.some((refusal) => error instanceof refusal)) return [(error as Error).message];
  if (error instanceof DatabaseAway) return [awayOf(error)];
  if (serverError(error) !== undefined) return [`the database refuses: ${(error as Error).message}`];
  const fileError = fileErrorText(error);
  return fileError === undefined ? stackOf(error) : [fileError];
}

/** A bug, or a mishap that nobody thought of: whoever looks into it needs to know where. */
function stackOf(error: unknown): readonly string[] {
  if (!(error instanceof Error) || error.stack === undefined) return [String(error)];
  const { stack } = error;
  const frames = stack.indexOf("\n    at ");
  return frames === -1 ? [stack] : [stack.slice(0, frames), ...stack.slice(frames + 1).split("\n")];
}

const READ_ONLY = "25006";

function awayOf(error: DatabaseAway): string {
  let cause: unknown = error;
  while (cause instanceof DatabaseAway && cause.cause !== undefined) cause = cause.cause;
  if (cause instanceof SessionUnfit) return cause.message;
  if (serverError(cause)?.code === READ_ONLY) {
    return "the database takes no changes: it is a standby, or default_transaction_read_only is on for it or for the role. Correct that, or PARBOOK_DATABASE_URL";
  }
  if (error instanceof OutcomeUnknown) {
    return `${error.message} (${reasonOf(error.cause)}): check the outcome before you retry`;
  }
  return `the database cannot be reached (${reasonOf(error.cause)}): start it, or correct PARBOOK_DATABASE_URL`;
}

/** Of an address that means several, each failed in a way of its own: the first is told. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0]);
  return cause instanceof Error
    ? cause.cause === undefined
      ? cause.message
      : reasonOf(cause.cause)
    : "no reason given";
}
