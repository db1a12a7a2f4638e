/**
 * The only place that writes to a terminal for commands. What is written may hold names and notes that API clients made
 * up, or quote them in an error: whatever a terminal would obey, or a reader not see, is escaped here.
 */
import { printable, printableJson } from "../std/printable.ts";

/** Lines on standard output. A line break within one is escaped: it came with a value. */
export function printLines(lines: readonly string[]): Promise<void> {
  return print(lines.map(printable).join("\n"));
}

/** One document on standard output, in one line. */
export function printJson(value: unknown): Promise<void> {
  return print(printableJson(value) ?? "null");
}

/** A reader that has had enough, as `head` has, is no failure. */
function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${text}\n`, (error) => {
      if (!error || (error as NodeJS.ErrnoException).code === "EPIPE") resolve();
      else reject(error);
    });
  });
}

/**
 * What went wrong, or how a long command goes, on standard error. A line break within a line is escaped: it came with a
 * value. Lines after the first are indented, so that none of them, whatever it quotes, looks like a message of its own.
 */
export function printError([first = "", ...more]: readonly string[]): void {
  console.error([first, ...more.map((line) => (line.startsWith(" ") ? line : `  ${line}`))].map(printable).join("\n"));
}

/** Where help goes, and what is said of arguments that are wrong. */
export const HELP_OUTPUT = {
  writeOut: (text: string): void => void process.stdout.write(text.split("\n").map(printable).join("\n")),
  writeErr: (text: string): void => void process.stderr.write(text.split("\n").map(printable).join("\n")),
  /** A sentence that quotes what was typed, its line breaks too; the one before a suggestion is commander's. */
  outputError: (text: string, write: (text: string) => void): void =>
    write(`${printable(text.trimEnd().replaceAll("\n(Did you mean ", " (Did you mean "))}\n`),
};

/** Columns as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [head, ...rows].map((line) => line.map(cellOf));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Blanks that could be taken for the end of a column are put in quotes. */
function cellOf(value: string): string {
  const text = printable(value);
  return /^ | $| {2}/.test(text) ? `"${text}"` : text;
}
