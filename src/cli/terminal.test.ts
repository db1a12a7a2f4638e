import { expect, onTestFinished, test, vi } from "vitest";
import { type ColouredLine, printColoured, table } from "./terminal.ts";

/** What is printed on a terminal, or on what is none. */
async function printed(terminal: { isTTY: boolean; colours: boolean }, lines: readonly (string | ColouredLine)[]) {
  let text = "";
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((piece, done) => {
    text += piece;
    (done as unknown as () => void)();
    return true;
  });
  onTestFinished(() => spy.mockRestore());
  const stdout = { isTTY: terminal.isTTY, hasColors: () => terminal.colours } as typeof process.stdout;
  await printColoured(lines, stdout);
  spy.mockRestore();
  return text;
}

const LINES = [
  { text: "fatal", colour: "red" },
  "plain\u001b[2J",
  { text: "a\u001b[2J\nb", colour: "green" },
  { text: "note", colour: "cyan" },
  { text: "warning", colour: "yellow" },
  { text: "why", colour: "grey" },
] as const;

test("lines have the colours of ECMA-48 on a terminal that has them, and what a terminal would obey is escaped", async () => {
  expect(await printed({ isTTY: true, colours: true }, LINES)).toBe(
    [
      "\u001b[31mfatal\u001b[39m",
      "plain\\u001b[2J",
      "\u001b[32ma\\u001b[2J\\nb\u001b[39m",
      "\u001b[36mnote\u001b[39m",
      "\u001b[33mwarning\u001b[39m",
      "\u001b[90mwhy\u001b[39m",
      "",
    ].join("\n"),
  );
});

test.each([[{ isTTY: true, colours: false }], [{ isTTY: false, colours: true }]])(
  "lines have no colour on %j",
  async (terminal) => {
    const plain = "fatal\nplain\\u001b[2J\na\\u001b[2J\\nb\nnote\nwarning\nwhy\n";
    expect(await printed(terminal, LINES)).toBe(plain);
  },
);

test("a cell with leading, trailing or double blanks is quoted", () => {
  const names = ["a b", " a", "a ", "a  b", ""];
  const rows = names.map((name, at) => [name, String(at)]);
  expect(table(["name", "number"], rows)).toEqual([
    "name    number",
    "a b     0",
    '" a"    1',
    '"a "    2',
    '"a  b"  3',
    "        4",
  ]);
});
