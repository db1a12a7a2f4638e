import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { copyFileDurably, forEachConcurrently, writeFileDurably } from "./copy-file.ts";

const ITEMS = Array.from({ length: 100 }, (_, i) => i);

test("each item is worked on once, several at a time", async () => {
  const done: number[] = [];
  let running = 0;
  let most = 0;
  await forEachConcurrently(ITEMS, async (item) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
    done.push(item);
  });
  expect(done.toSorted((a, b) => a - b)).toEqual(ITEMS);
  expect(most).toBeGreaterThan(1);
});

test("after a failure nothing is started, and it is told once nothing runs any more", async () => {
  const full = new Error("no space left on the disk");
  let running = 0;
  let started = 0;
  const work = async (item: number): Promise<void> => {
    started += 1;
    running += 1;
    await new Promise(setImmediate);
    running -= 1;
    if (item === 0) throw full;
  };
  await expect(forEachConcurrently(ITEMS, work)).rejects.toBe(full);
  expect(running).toBe(0);
  // Those that ran beside it, and at most as many again.
  expect(started).toBeLessThan(20);
});

function freshPlace(): (name: string) => string {
  const place = mkdtempSync(join(tmpdir(), "parbook-copy-"));
  onTestFinished(() => rmSync(place, { recursive: true }));
  return (name) => join(place, name);
}

const sha256 = (content: Buffer | string): string => createHash("sha256").update(content).digest("hex");

test("a file of several pieces is copied as it is, for its owner alone, and each piece is reported", async () => {
  const at = freshPlace();
  const content = randomBytes(2.5 * 2 ** 20);
  writeFileSync(at("from"), content, { mode: 0o644 });
  const reported: number[] = [];
  const copied = await copyFileDurably(at("from"), at("to"), (bytes) => reported.push(bytes));
  expect(copied).toEqual({ size: content.length, sha256: sha256(content) });
  expect(readFileSync(at("to")).equals(content)).toBe(true);
  expect(statSync(at("to")).mode & 0o777).toBe(0o600);
  expect([reported.length > 1, reported.reduce((sum, bytes) => sum + bytes, 0)]).toEqual([true, content.length]);
  expect(await copyFileDurably(at("nothing"), at("none"))).toBe(undefined);
});

test("an existing file is not overwritten, and an error of the progress callback stops the copy", async () => {
  const at = freshPlace();
  for (const name of ["from", "there"]) writeFileSync(at(name), name);
  await expect(copyFileDurably(at("from"), at("there"))).rejects.toThrow("EEXIST");
  await expect(writeFileDurably(at("there"), "another")).rejects.toThrow("EEXIST");
  expect(readFileSync(at("there"), "utf8")).toBe("there");
  const enough = new Error("enough");
  const stopped = copyFileDurably(at("from"), at("to"), () => {
    throw enough;
  });
  await expect(stopped).rejects.toBe(enough);
});

test("what is written is measured in bytes", async () => {
  const at = freshPlace();
  const text = "\u00e9\u{1f7e1}";
  expect(await writeFileDurably(at("text"), text)).toEqual({ size: 6, sha256: sha256(text) });
  expect([readFileSync(at("text"), "utf8"), statSync(at("text")).mode & 0o777]).toEqual([text, 0o600]);
});
