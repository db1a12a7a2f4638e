import { type Logger, pino } from "pino";
import { prettyFactory } from "pino-pretty";
import type { Config } from "../config/config.ts";
import { escapeJson, printable } from "../std/printable.ts";

/** What may wait for a reader that reads too slowly. Past it lines are dropped: the service does not wait for its log. */
const WAITING_LIMIT_BYTES = 1024 * 1024;

let dropped = 0;

/** The lines of this process's log that nobody could read: the reader was gone or too slow, or the disk full. */
export const droppedLogLines = (): number => dropped;

/** JSON lines, or readable ones on a terminal. What could be a secret is never written. */
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

/** Each line is tried: a reader may come back, as that of a named pipe, and a full disk be emptied. */
function writeLine(stream: NodeJS.WriteStream, line: string): void {
  if (stream.writableLength > WAITING_LIMIT_BYTES) dropped += 1;
  else
    stream.write(line, (error) => {
      if (error) dropped += 1;
    });
}

/** Whoever writes is told of a failure by its own callback. Without a listener the failure would end the process as well. */
export function ignoreErrors(stream: NodeJS.WriteStream): void {
  if (!stream.listeners("error").includes(ignore)) stream.on("error", ignore);
}

const ignore = (): void => undefined;

/** A line of JSON, which may be read on a terminal later on. */
export function printableLine(line: string): string {
  return `${escapeJson(line.trimEnd())}\n`;
}

/** A line whose texts are about to be shown as they are. */
export function printableFields(line: string): string {
  const fields: unknown = JSON.parse(line, (name, value: unknown) => {
    if (typeof value !== "string") return value;
    // Each line of it is indented where it is shown.
    return name === "stack" ? value.split("\n").map(printable).join("\n") : printable(value);
  });
  return `${JSON.stringify(fields)}\n`;
}

/**
 * An error as it may be read by others. Only what is named here: the driver hangs the connection onto its errors, and
 * with it the key by which its statements can be cancelled; the detail of a violated constraint quotes the row.
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
