import { type Logger, pino } from "pino";
import pretty from "pino-pretty";
import type { Config } from "./config/config.ts";

/** JSON lines, or readable ones on a terminal. What could be a secret is never written. */
export function createLogger({ logLevel }: Pick<Config, "logLevel">, output: 1 | 2 = 1): Logger {
  const terminal = (output === 1 ? process.stdout : process.stderr).isTTY;
  const stream = terminal
    ? pretty({ destination: output, sync: true, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" })
    : pino.destination({ dest: output, sync: true });
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
    stream,
  );
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
