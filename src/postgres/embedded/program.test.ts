import { expect, test } from "vitest";
import { lastLines, runProgram } from "./program.ts";

const HERE = { directory: "/", user: undefined };

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}

test("a program that cannot be run says why, and leaves no timer that would keep the process alive", async () => {
  const before = countTimers();
  expect(await runProgram("/does/not/exist", [], HERE)).toEqual({
    succeeded: false,
    output: "spawn /does/not/exist ENOENT",
  });
  expect(countTimers()).toBe(before);
});

test("what a program prints is kept whether or not it succeeds", async () => {
  expect(await runProgram("/bin/sh", ["-c", "echo out"], HERE)).toEqual({ succeeded: true, output: "out\n" });
  expect(await runProgram("/bin/sh", ["-c", "echo no >&2; exit 3"], HERE)).toEqual({
    succeeded: false,
    output: "no\n",
  });
});

test("programs get our environment for them, not the operator's", async () => {
  const { output } = await runProgram("/bin/sh", ["-c", 'echo "$LC_ALL $TZ $HOME"'], HERE);
  expect(output).toBe("C UTC \n");
});

test("the last lines of an output fit into one, and nothing is said to be nothing", () => {
  expect(lastLines("1\n\n2\n3\n", 2)).toBe("2 / 3");
  expect(lastLines("\n", 2)).toBe("(nothing)");
});
