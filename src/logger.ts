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
      serializers: { error: pino.stdSerializers.err, err: pino.stdSerializers.err },
      redact: {
        paths: ["*.authorization", "*.client_secret", "*.secret", "*.access_token", "*.password", "*.private_jwk"],
        censor: "[redacted]",
      },
    },
    stream,
  );
}
