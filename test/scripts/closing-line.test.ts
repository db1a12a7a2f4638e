/** The last line of a run of tests, by which CI judges it. */
import { expect, onTestFinished, test, vi } from "vitest";

interface Ran {
  readonly states?: readonly string[];
  readonly fileErrors?: number;
  readonly suiteErrors?: number;
}

const { default: ClosingLine } = await import(new URL("../../scripts/closing-line.mjs", import.meta.url).href);

const errors = (count = 0): Error[] => Array.from({ length: count }, () => new Error("it failed"));

/** What is printed at the end of a process with this exit code, after runs of these files. */
function printed(exitCode: number, runs: readonly (readonly Ran[])[], unhandled = 0): string {
  const reporter = new ClosingLine();
  const before = process.listeners("exit");
  reporter.onInit();
  const [end] = process.listeners("exit").filter((listener) => !before.includes(listener));
  if (end === undefined) return expect.fail("it waits for the end of the process");
  process.off("exit", end);
  for (const files of runs) {
    const modules = files.map(({ states = [], fileErrors, suiteErrors }) => ({
      errors: () => errors(fileErrors),
      children: {
        allSuites: () => [{ errors: () => errors(suiteErrors) }],
        allTests: () => states.map((state) => ({ result: () => ({ state }) })),
      },
    }));
    reporter.onTestRunEnd(modules, errors(unhandled));
  }
  let text = "";
  const write = vi.spyOn(process.stdout, "write").mockImplementation((piece) => {
    text += piece;
    return true;
  });
  onTestFinished(() => write.mockRestore());
  end(exitCode);
  write.mockRestore();
  return text;
}

test("it counts the tests of all files by how they ended", () => {
  const files = [{ states: ["passed", "failed"] }, { states: ["passed", "passed", "skipped", "pending"] }];
  expect(printed(0, [[{ states: ["passed"] }]])).toBe("1 passed, 0 failed\n");
  expect(printed(1, [files])).toBe("3 passed, 1 failed, 2 skipped\n");
});

test("files and suites that do not load, and errors that nobody has handled, are failures", () => {
  expect(printed(1, [[{ states: ["passed"], fileErrors: 1 }, { suiteErrors: 2 }]])).toBe("1 passed, 3 failed\n");
  expect(printed(1, [[{ states: ["passed"] }]], 1)).toBe("1 passed, 1 failed\n");
});

test("a run that fails without a failed test is one failure", () => {
  expect(printed(1, [])).toBe("0 passed, 1 failed\n");
  expect(printed(1, [[{ states: ["failed", "failed"] }]])).toBe("0 passed, 2 failed\n");
});
