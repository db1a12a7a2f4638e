/** Commands in the process of the test, which is faster than one of their own. Settings come from `vi.stubEnv`. */
import { vi } from "vitest";
import { main } from "../../src/cli/parbook.ts";

export interface Said {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process, and takes down what it writes. */
export async function run(argv: readonly string[]): Promise<Said> {
  const said = { stdout: "", stderr: "" };
  const note = (name: keyof typeof said, text: unknown): void => {
    said[name] += text;
  };
  const spies = [
    vi.spyOn(console, "log").mockImplementation((line) => note("stdout", `${line}\n`)),
    vi.spyOn(console, "error").mockImplementation((line) => note("stderr", `${line}\n`)),
    ...(["stdout", "stderr"] as const).map((name) =>
      vi.spyOn(process[name], "write").mockImplementation((text, ...rest) => {
        note(name, text);
        (rest.at(-1) as (() => void) | undefined)?.();
        return true;
      }),
    ),
  ];
  try {
    return { exitCode: await main(argv), ...said };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
