/**
 * Maps every error to lines for the operator and an exit code: 2 for wrong usage or settings, 1 for other failures, more
 * than 128 for an end by a signal.
 */
import { CommanderError } from "commander";
import { Problem } from "../api/problems/problems.ts";
import { CatalogueError } from "../catalogue/fill-catalogue.ts";
import { Unavailable } from "../ledger/decision.ts";
import { DatabaseAway, OutcomeUnknown, serverError } from "../postgres/database.ts";
import { EmbeddedError } from "../postgres/embedded/embedded-error.ts";
import { SchemaError } from "../postgres/migrations.ts";
import { SessionUnfit } from "../postgres/session.ts";
import { CannotDecrypt } from "../postgres/storage-encryption.ts";
import { InvalidSettings } from "../service/config/config.ts";
import { NoDatabase } from "../service/provide-database.ts";
import { SettingFileError } from "../service/setting-file.ts";
import { StartupError } from "../service/startup-error.ts";
import { ClockFault } from "../std/clock.ts";
import { fileErrorText } from "../std/file-error.ts";
import { CommandFailed, CommandRejected, WrongUsage } from "./command.ts";
import type { ExitCode } from "./exit-code.ts";
import { Interrupted } from "./interruption.ts";

export interface Failure {
  /** Empty if the message has been printed already. A line break within a line came with a value, and gets escaped. */
  readonly lines: readonly string[];
  readonly exitCode: ExitCode;
}

/** Errors whose message is written for the operator. */
const OPERATOR_ERRORS = [
  CommandRejected,
  NoDatabase,
  EmbeddedError,
  SchemaError,
  CatalogueError,
  Problem,
  Unavailable,
  CannotDecrypt,
  ClockFault,
];

export function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError) return { lines: [], exitCode: isHelp(error) ? 0 : 2 };
  if (error instanceof Interrupted) return { lines: [error.message], exitCode: error.exitCode };
  if (error instanceof CommandFailed) return { lines: [], exitCode: error.exitCode };
  if (error instanceof InvalidSettings) return { lines: [error.heading, ...error.lines], exitCode: 2 };
  if (error instanceof WrongUsage) return { lines: [error.message], exitCode: 2 };
  return { lines: linesOf(error), exitCode: WRONG_FILES.some((kind) => error instanceof kind) ? 2 : 1 };
}

/** A file that a setting names: until it is corrected, no start can succeed. */
const WRONG_FILES = [SettingFileError, CatalogueError];

/** Requested help succeeds; help that is shown because the command is missing does not. */
const isHelp = ({ exitCode }: CommanderError): boolean => exitCode === 0;

function linesOf(error: unknown): readonly string[] {
  if (error instanceof StartupError) return error.lines;
  if (OPERATOR_ERRORS.some((kind) => error instanceof kind)) return [(error as Error).message];
  if (error instanceof DatabaseAway) return [databaseAwayText(error)];
  if (serverError(error) !== undefined) return [`the database reports an error: ${(error as Error).message}`];
  const fileError = fileErrorText(error);
  return fileError === undefined ? stackOf(error) : [fileError];
}

/** An unexpected error: show where it happened. */
function stackOf(error: unknown): readonly string[] {
  if (!(error instanceof Error) || error.stack === undefined) return [String(error)];
  const { stack } = error;
  const frames = stack.indexOf("\n    at ");
  return frames === -1 ? [stack] : [stack.slice(0, frames), ...stack.slice(frames + 1).split("\n")];
}

const READ_ONLY = "25006";
const TOO_MANY_CONNECTIONS = "53300";

function databaseAwayText(error: DatabaseAway): string {
  let cause: unknown = error;
  while (cause instanceof DatabaseAway && cause.cause !== undefined) cause = cause.cause;
  if (cause instanceof SessionUnfit) return cause.message;
  const { code } = serverError(cause) ?? {};
  if (code === READ_ONLY) {
    return "the database is read-only: it is a standby, or default_transaction_read_only is on for it or for the role. Correct that, or PARBOOK_DATABASE_URL";
  }
  if (error instanceof OutcomeUnknown) {
    return `${error.message} (${reasonOf(error.cause)}): check the outcome before you retry`;
  }
  if (code === TOO_MANY_CONNECTIONS) {
    return `the database has no connection left (${reasonOf(cause)}): run fewer commands at once, or raise max_connections, or the connection limit of role and database`;
  }
  return `the database cannot be reached (${reasonOf(error.cause)}): start it, wait for a standby to take over, or correct PARBOOK_DATABASE_URL`;
}

/** The innermost message. When a name resolves to several addresses, the first failure is shown. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0]);
  return cause instanceof Error
    ? cause.cause === undefined
      ? cause.message
      : reasonOf(cause.cause)
    : "no reason given";
}
