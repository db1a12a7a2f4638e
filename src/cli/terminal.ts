/**
 * All terminal output of commands. Output may contain text from API clients, so control and invisible characters are
 * escaped here.
 */
import { printable, printableJson } from "../std/printable.ts";

/**
 * Prints to standard output. A line break within a line is escaped: it came with a value.
 *
 * @returns Whether somebody could read it: a closed pipe, as with `head`, is not an error. So do the others.
 */
export function printLines(lines: readonly string[]): Promise<boolean> {
  return print(lines.map(printable).join("\n"));
}

const COLOURS = { grey: 90, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Colour = keyof typeof COLOURS;

/** A line, and its colour on a terminal that has them; NO_COLOR switches them off. */
export interface ColouredLine {
  readonly text: string;
  readonly colour: Colour;
}

/** A line break within a line is escaped, as in `printLines`. */
export function printColoured(
  lines: readonly (string | ColouredLine)[],
  stdout: typeof process.stdout = process.stdout,
): Promise<boolean> {
  const hasColours = stdout.isTTY && stdout.hasColors();
  const shown = lines.map((line) => {
    if (typeof line === "string") return printable(line);
    const { text, colour } = line;
    return hasColours ? `\u001b[${COLOURS[colour]}m${printable(text)}\u001b[39m` : printable(text);
  });
  return print(shown.join("\n"));
}

export function printJson(value: unknown): Promise<boolean> {
  return print(printableJson(value) ?? "null");
}

function print(text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${text}\n`, (error) => {
      if (!error || (error as NodeJS.ErrnoException).code === "EPIPE") resolve(!error);
      else reject(error);
    });
  });
}

/**
 * Prints errors and progress to standard error. Lines after the first are indented, so that quoted text cannot pose as
 * a separate message.
 */
export function printError([first = "", ...more]: readonly string[]): void {
  console.error([first, ...more.map((line) => (line.startsWith(" ") ? line : `  ${line}`))].map(printable).join("\n"));
}

/** Output hooks for commander, with the same escaping. */
export const HELP_OUTPUT = {
  writeOut: (text: string): void => void process.stdout.write(text.split("\n").map(printable).join("\n")),
  writeErr: (text: string): void => void process.stderr.write(text.split("\n").map(printable).join("\n")),
  /** Escapes line breaks from the arguments; the one before "(Did you mean" is commander's own. */
  outputError: (text: string, write: (text: string) => void): void =>
    write(`${printable(text.trimEnd().replaceAll("\n(Did you mean ", " (Did you mean "))}\n`),
};

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

/** Quotes cells whose blanks could be mistaken for column padding. */
function cellOf(value: string): string {
  const text = printable(value);
  return /^ | $| {2}/.test(text) ? `"${text}"` : text;
}
