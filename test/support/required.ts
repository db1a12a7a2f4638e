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
