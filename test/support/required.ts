import { execFileSync } from "node:child_process";
import type { TestContext } from "vitest";

/**
 * Skips a test when a program that it needs is missing, and says which; `missing` is undefined when it is there. Where
 * TEST_SKIPS is `forbidden`, as in CI, which installs these programs, the test fails instead.
 */
export function required(context: TestContext, missing: string | undefined): void {
  if (missing === undefined) return;
  if (process.env.TEST_SKIPS === "forbidden") throw new Error(`this must not be skipped, but ${missing}`);
  context.skip(missing);
}

/** Whether a program is there and ends well with these arguments. */
export function runs(program: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** For `required`. */
export function missingProgram(program: string): string | undefined {
  return runs(program, "--version") ? undefined : `there is no ${program}`;
}
