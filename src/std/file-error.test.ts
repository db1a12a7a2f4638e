import { open } from "node:fs/promises";
import { expect, test } from "vitest";
import { fileErrorText, withPath } from "./file-error.ts";

const textOf = (work: Promise<unknown>): Promise<string | undefined> =>
  work.then(() => "it did not fail", fileErrorText);

test("an error on an open file gets its path, and one that names a path keeps that", async () => {
  const readFrom = async (): Promise<void> => {
    const directory = await open("/");
    await directory.readFile().finally(() => directory.close());
  };
  const reason = "cannot be used: illegal operation on a directory (read: EISDIR)";
  expect(await textOf(withPath("/data/note", readFrom))).toBe(`/data/note ${reason}`);
  const elsewhere = withPath("/data/note", () => open("/nowhere/other"));
  expect(await textOf(elsewhere)).toBe("/nowhere/other cannot be used: no such file or directory (open: ENOENT)");
});

test("any other error is as it was, and has no such text", async () => {
  const failed = new Error("a bug");
  await expect(withPath("/data/note", () => Promise.reject(failed))).rejects.toBe(failed);
  const others = [failed, undefined, null, "text", Object.assign(new Error("refused"), { code: "ECONNREFUSED" })];
  expect(others.map(fileErrorText)).toEqual(others.map(() => undefined));
  expect(failed).not.toHaveProperty("path");
});
