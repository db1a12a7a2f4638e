import { type Logger, pino } from "pino";
import { prettyFactory } from "pino-pretty";
import { escapeJson, printable } from "../std/printable.ts";
import type { Config } from "./config/config.ts";

/** Lines beyond this buffer are dropped: the service never waits for its log reader. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

let dropped = 0;

/** How many log lines were dropped, because the reader was gone or slow or the disk full. */
export const droppedLogLines = (): number => dropped;

/**
 * Logs JSON lines, or readable ones on a terminal. Secrets are redacted.
 *
 * @param output The file descriptor.
 */
export function createLogger({ logLevel }: Pick<Config, "logLevel">, output: 1 | 2 = 1): Logger {
  const stream = output === 1 ? process.stdout : process.stderr;
  const pretty = prettyFactory({ ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" });
  const readable = stream.isTTY ? (line: string) => pretty(printableFields(line)) : printableLine;
  ignoreErrors(stream);
  return pino(
    {
      level: logLevel,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: shownError, err: shownError },
      redact: {
        paths: ["*.authorization", "*.client_secret", "*.secret", "*.access_token", "*.password", "*.private_jwk"],
        censor: "[redacted]",
      },
    },
    { write: (line) => writeLine(stream, readable(line)) },
  );
}

/** Tries every line: a named pipe may get a new reader, and a full disk may be cleared. */
function writeLine(stream: NodeJS.WriteStream, line: string): void {
  if (stream.writableLength > MAX_BUFFERED_BYTES) dropped += 1;
  else
    stream.write(line, (error) => {
      if (error) dropped += 1;
    });
}

/** Write failures reach the write callback. Without a listener they would also end the process. */
export function ignoreErrors(stream: NodeJS.WriteStream): void {
  if (!stream.listeners("error").includes(ignore)) stream.on("error", ignore);
}

const ignore = (): void => undefined;

/** A JSON line with control characters escaped, for later reading on a terminal. */
export function printableLine(line: string): string {
  return `${escapeJson(line.trimEnd())}\n`;
}

/** A JSON line with control characters in its values escaped, for display. */
export function printableFields(line: string): string {
  const fields: unknown = JSON.parse(line, (name, value: unknown) => {
    if (typeof value !== "string") return value;
    // Pretty-printing indents each line of a stack.
    return name === "stack" ? value.split("\n").map(printable).join("\n") : printable(value);
  });
  return `${JSON.stringify(fields)}\n`;
}

/**
 * The loggable fields of an error. Only these: the driver attaches the connection, with its cancel key, to its errors, and
 * the detail of a violated constraint quotes the row.
 */
export function shownError(error: unknown): object | string {
  if (!(error instanceof Error)) return typeof error;
  const { name, message, stack, code, constraint, cause } = error as Error & { code?: unknown; constraint?: unknown };
  return {
    type: name,
    message,
    ...(typeof code === "string" && { code }),
    ...(typeof constraint === "string" && { constraint }),
    stack,
    ...(cause !== undefined && { cause: shownError(cause) }),
    ...(error instanceof AggregateError && { errors: error.errors.map(shownError) }),
  };
}
