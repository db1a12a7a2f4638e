/** What a command does with its result. */
import { Command } from "commander";
import { expect, onTestFinished, test, vi } from "vitest";
import { addCommand, CommandFailed, CommandRejected, setAction, setWritingAction } from "./command.ts";

/** How a command ends whose result cannot be written. */
async function endOf(setActionOf: (command: Command) => void, code: string, ...given: string[]): Promise<unknown> {
  const spy = vi.spyOn(process.stdout, "write").mockImplementation(((_text: string, done: (error: Error) => void) => {
    done(Object.assign(new Error(code), { code }));
    return false;
  }) as never);
  onTestFinished(() => spy.mockRestore());
  const program = new Command("parbook");
  setActionOf(addCommand(program, "deposit", { summary: "", examples: [] }));
  return program.parseAsync(["deposit", ...given], { from: "user" }).then(
    () => "succeeded",
    (error: unknown) => error,
  );
}

test.each([["--json"], []])(
  "a write whose result nobody reads says so, a look-up ends as with head (%s)",
  async (...given) => {
    const done = async () => ({ json: { id: 1 }, prose: ["1"] });
    const failed = async () => ({ ...(await done()), failed: true });
    const unread = (code: string) =>
      new CommandRejected(`the command succeeded, but its result could not be written (${code})`);
    expect(await endOf((command) => setWritingAction(command, done), "EPIPE", ...given)).toEqual(unread("EPIPE"));
    expect(await endOf((command) => setWritingAction(command, done), "ENOSPC", ...given)).toEqual(unread("ENOSPC"));
    expect(await endOf((command) => setWritingAction(command, failed), "EPIPE", ...given)).toEqual(
      new CommandFailed(1),
    );
    expect(await endOf((command) => setAction(command, done), "EPIPE", ...given)).toBe("succeeded");
  },
);
