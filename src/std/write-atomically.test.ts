import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeAtomically } from "./write-atomically.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "write-atomically-"));
});
afterAll(() => rm(directory, { recursive: true }));

test("the file is replaced, with the given mode, and nothing is left beside it", async () => {
  const path = join(directory, "note");
  const umask = process.umask(0o077);
  try {
    await writeAtomically(path, "first, and longer", 0o644);
    expect((await stat(path)).mode & 0o777).toBe(0o644);
    await writeAtomically(path, "second", 0o600);
  } finally {
    process.umask(umask);
  }
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readFile(path, "utf8")).toBe("second");
  expect(await readdir(directory)).toEqual(["note"]);
});

test("a failed write is an error, and leaves no draft", async () => {
  await mkdir(join(directory, "taken", "by-something"), { recursive: true });
  await expect(writeAtomically(join(directory, "taken"), "text")).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
  expect((await readdir(directory)).sort()).toEqual(["note", "taken"]);
});

test("a link in the place of the draft leads to no other file", async () => {
  const [path, other] = [join(directory, "linked"), join(directory, "other")];
  await writeFile(other, "kept");
  await symlink(other, `${path}.${process.pid}`);
  await writeAtomically(path, "text");
  expect([await readFile(path, "utf8"), await readFile(other, "utf8")]).toEqual(["text", "kept"]);
});
