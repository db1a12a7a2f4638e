import { expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { lastLines, runProgram } from "./program.ts";

const HERE = { directory: "/", user: undefined };

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}

test("a program that cannot be run gives the reason and leaves no timer", async () => {
  // Vitest has one for a moment.
  await until("no other timer is left", () => countTimers() === 0);
  expect(await runProgram("/does/not/exist", [], HERE)).toEqual({
    succeeded: false,
    output: "spawn /does/not/exist ENOENT",
  });
  expect(countTimers()).toBe(0);
});

test("output is kept whether or not the program succeeds", async () => {
  expect(await runProgram("/bin/sh", ["-c", "echo out"], HERE)).toEqual({ succeeded: true, output: "out\n" });
  expect(await runProgram("/bin/sh", ["-c", "echo no >&2; exit 3"], HERE)).toEqual({
    succeeded: false,
    output: "no\n",
  });
});

test("of a long output the end is kept, which says why a program failed", async () => {
  const { output } = await runProgram("/bin/sh", ["-c", "printf '%20000s' x; echo last; exit 1"], HERE);
  expect(output).toBe("xlast\n".padStart(16_384));
});

test("programs get the fixed environment, not the operator's", async () => {
  const { output } = await runProgram("/bin/sh", ["-c", 'echo "$LC_ALL $TZ $HOME"'], HERE);
  expect(output).toBe("C UTC \n");
});

test("the last lines of an output are joined, and empty output is marked", () => {
  expect(lastLines("1\n\n2\n3\n", 2)).toBe("2 / 3");
  expect(lastLines("\n", 2)).toBe("(nothing)");
});
