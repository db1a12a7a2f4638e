import type { Command, Option } from "commander";
import { expect, onTestFinished, test, vi } from "vitest";
import { must } from "../std/assert.ts";
import { buildProgram, main } from "./parbook.ts";

/** Every option accepts at least one of these. */
const VALUES = [
  "0190d5a4-0000-7000-8000-000000000001",
  "1",
  "0.1",
  "1h",
  "2026-11-21T00:00:00Z",
  "1/1",
  "*",
  "::1",
  "ACME",
];

interface Case {
  readonly name: string;
  readonly option: Option;
  readonly argv: readonly string[];
}

const cases = (command: Command, path: readonly string[] = []): Case[] => [
  ...command.options
    .filter((option) => !option.isBoolean())
    .map((option) => {
      const value = must(
        [...(option.argChoices ?? []), ...VALUES].find((each) => isTaken(option, each)),
        `${option.flags} takes one of the values of this test`,
      );
      const long = must(option.long, "an option has a long name");
      return { name: `${path.join(" ")} ${long}`, option, argv: [...path, long, value, `${long}=${value}`] };
    }),
  ...command.commands.flatMap((below) => cases(below, [...path, below.name()])),
];

function isTaken(option: Option, value: string): boolean {
  try {
    option.parseArg?.(value, undefined);
    return true;
  } catch {
    return false;
  }
}

const CASES = cases(buildProgram());

test("the cases cover the options of every command", () => {
  expect(CASES.length).toBeGreaterThan(35);
});

test.each(CASES)("$name is rejected when it is given twice", async ({ option, argv }) => {
  let said = "";
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    said += text;
    return true;
  });
  const exitCode = await main(argv).finally(() => write.mockRestore());
  expect({ exitCode, said }).toEqual({
    exitCode: 2,
    said: `error: option '${option.flags}' may be given only once\n(use --help for usage)\n`,
  });
});

/** Every command that prints a result, with its words. */
const printing = (command: Command, path: readonly string[] = []): [words: string, command: Command][] => [
  ...(command.options.some(({ long }) => long === "--json") ? [[path.join(" "), command] as [string, Command]] : []),
  ...command.commands.flatMap((below) => printing(below, [...path, below.name()])),
];

test("--json behind the words of a command is that command's own", async () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  const taken: string[] = [];
  const words = printing(buildProgram()).map(([each]) => each);
  for (const each of words) {
    const program = buildProgram();
    for (const [own, command] of printing(program)) command.on("option:json", () => void taken.push(own));
    // It ends at the unknown option, and does nothing.
    await program.parseAsync([...each.split(" "), "--json", "--unknown"], { from: "user" }).catch(() => undefined);
  }
  expect(taken).toEqual(words);
  expect(words).toContain("events rebuild");
});
