import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CommandRejected } from "./command.ts";
import { readInputFile } from "./input-file.ts";

test("a file is read up to its bound, and rejected beyond", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parbook-input-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "input");
  await writeFile(path, "12345");
  expect(await readInputFile(path, 5)).toEqual(Buffer.from("12345"));
  await expect(readInputFile(path, 4)).rejects.toEqual(new CommandRejected(`${path} is longer than 4 bytes`));
});

test("a device without an end is rejected too", async () => {
  const rejected = new CommandRejected("/dev/zero is longer than 1048576 bytes");
  await expect(readInputFile("/dev/zero")).rejects.toEqual(rejected);
});

test.each([
  ["/not/there", "ENOENT"],
  ["/dev", "EISDIR"],
])("what cannot be read is named: %s", async (path, code) => {
  await expect(readInputFile(path)).rejects.toMatchObject({ code, path });
});
