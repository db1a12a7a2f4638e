/** Ctrl-C in the middle of long work ends it in order, and it says how to go on. A short write has its result first. */
import type { Database } from "../postgres/database.ts";
import type { ExitCode } from "./exit-code.ts";

/** Ctrl-C under npm arrives twice: from the terminal, which signals the process group, and from npm. */
export const DUPLICATE_SIGNAL_MS = 300;
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const satisfies Record<string, ExitCode>;
type StopSignal = keyof typeof EXIT_CODES;
const SIGNALS = Object.keys(EXIT_CODES) as StopSignal[];
/** To clean up. A disk that does not answer must not keep the command. */
const END_LIMIT_MS = 20_000;

/** The command was interrupted. The message says what it has left behind. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly exitCode: ExitCode;

  constructor(then: string, exitCode: ExitCode) {
    super(`interrupted: ${then}`);
    this.exitCode = exitCode;
  }
}

/**
 * Runs work that ends soon after its signal is aborted. A second Ctrl-C ends the process at once; the watcher of the
 * embedded PostgreSQL then stops that.
 */
export async function untilStopped<Value>(work: (stopping: AbortSignal) => Promise<Value>): Promise<Value> {
  const stopping = new AbortController();
  let abortedAt = 0;
  const stop = (signal: NodeJS.Signals): void => {
    const exitCode = EXIT_CODES[signal as StopSignal];
    if (!stopping.signal.aborted) {
      abortedAt = performance.now();
      setTimeout(() => process.exit(exitCode), END_LIMIT_MS).unref();
      stopping.abort(new Interrupted("", exitCode));
    } else if (signal !== "SIGHUP" && performance.now() - abortedAt >= DUPLICATE_SIGNAL_MS) process.exit(exitCode);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await work(stopping.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

/** @param then What the interrupted command leaves behind, and how to go on. @throws Interrupted with it */
export function interruptible<Value>(then: string, work: (stopping: AbortSignal) => Promise<Value>): Promise<Value> {
  return untilStopped((stopping) =>
    work(stopping).catch((error: unknown) => {
      if (!stopping.aborted) throw error;
      throw new Interrupted(then, (stopping.reason as Interrupted).exitCode);
    }),
  );
}

const WAITING = "Waiting until it is known whether the command took effect; a second Ctrl-C does not wait.\n";
const UNKNOWN =
  "It is not known whether the command took effect: look for it with parbook audit writes before you run it again.\n";

/**
 * Runs work that takes effect once and soon. Ctrl-C does not end it: who sees no result would run it again, and pay twice. A
 * second one ends the process.
 */
export async function finished<Value>(work: () => Promise<Value>): Promise<Value> {
  let askedAt: number | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    if (askedAt === undefined) {
      askedAt = performance.now();
      // A terminal that has gone shows nothing. That must not end the work.
      if (signal !== "SIGHUP") process.stderr.write(WAITING);
    } else if (signal !== "SIGHUP" && performance.now() - askedAt >= DUPLICATE_SIGNAL_MS) {
      process.stderr.write(UNKNOWN, () => process.exit(EXIT_CODES[signal as StopSignal]));
    }
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

/** A statement may take long, so it is not waited for: the connections are closed. */
export function endStatements(database: Database, stopping: AbortSignal | undefined): void {
  stopping?.addEventListener("abort", () => database.cutOff());
  if (stopping?.aborted) database.cutOff();
}
