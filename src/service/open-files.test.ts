import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { connectionsWithin, openFilesLimit } from "./open-files.ts";

test("two servers together leave 200 open files of the limit, and keep what was asked for below it", () => {
  expect(connectionsWithin(4_096, 2, 10_000)).toBe(1_948);
  expect(connectionsWithin(20_200, 2, 10_000)).toBe(10_000);
  expect(connectionsWithin(20_199, 2, 10_000)).toBe(9_999);
  expect(connectionsWithin(4_096, 1, 10_000)).toBe(3_896);
  expect(connectionsWithin(Number.POSITIVE_INFINITY, 2, 10_000)).toBe(10_000);
  expect(connectionsWithin(64, 2, 10_000)).toBe(1);
});

test("the limit of this process is read from the system, and is none where there is no such file", async () => {
  const ours = await openFilesLimit();
  expect(ours).toBe(
    Number(execFileSync("prlimit", ["--pid", String(process.pid), "--nofile", "-o", "SOFT", "--noheadings"])),
  );
  expect(await openFilesLimit("/nowhere")).toBe(Number.POSITIVE_INFINITY);
});
