import { execFileSync } from "node:child_process";
import { lchown, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { UnfitFile } from "./file-error.ts";
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
  await expect(writeAtomically(join(directory, "taken", "nowhere", "file"), "text")).rejects.toThrow("ENOENT");
  await expect(writeAtomically(join(directory, "note", "file"), "text")).rejects.toThrow("ENOTDIR");
  expect((await readdir(directory)).sort()).toEqual(["note", "taken"]);
});

test("what is no regular file is not replaced by one: a directory, a device, a pipe", async () => {
  const pipe = join(directory, "pipe");
  execFileSync("mkfifo", [pipe]);
  for (const path of [join(directory, "taken"), "/dev/null", pipe])
    await expect(writeAtomically(path, "text")).rejects.toThrow(new UnfitFile(path, "it is not a regular file"));
  expect([(await stat("/dev/null")).isCharacterDevice(), (await stat(pipe)).isFIFO()]).toEqual([true, true]);
  expect((await readdir(directory)).sort()).toEqual(["note", "pipe", "taken"]);
});

test("a link stays a link, and the file that it leads to is written", async () => {
  const folder = join(directory, "elsewhere");
  await mkdir(folder);
  const [link, file] = [join(directory, "link"), join(folder, "file")];
  await writeFile(file, "former");
  await symlink(file, link);
  await writeAtomically(link, "text");
  expect([(await lstat(link)).isSymbolicLink(), await readFile(file, "utf8")]).toEqual([true, "text"]);
  expect(await readdir(folder)).toEqual(["file"]);
});

test.runIf(process.geteuid?.() === 0)("another user's link is not followed", async () => {
  const [link, file] = [join(directory, "set"), join(directory, "own")];
  await writeFile(file, "kept");
  await symlink(file, link);
  await lchown(link, 12_345, 12_345);
  await expect(writeAtomically(link, "text")).rejects.toThrow(new UnfitFile(link, "it is another user's link"));
  expect(await readFile(file, "utf8")).toBe("kept");
});

test("a link in the place of the draft leads to no other file", async () => {
  const [path, other] = [join(directory, "linked"), join(directory, "other")];
  await writeFile(other, "kept");
  await symlink(other, `${path}.${process.pid}`);
  await writeAtomically(path, "text");
  expect([await readFile(path, "utf8"), await readFile(other, "utf8")]).toEqual(["text", "kept"]);
});
