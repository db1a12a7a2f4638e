import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Instant } from "../std/clock.ts";
import { readLastVerify, recordVerify } from "./last-verify.ts";

const LAST = { finishedAt: 1_790_000_000_000 as Instant, sound: false };

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "parbook-last-verify-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("the last result of verify is read back", async () => {
  const place = await directory();
  expect(await readLastVerify(place)).toBeUndefined();
  await recordVerify(place, { ...LAST, sound: true });
  await recordVerify(place, LAST);
  expect(await readLastVerify(place)).toEqual(LAST);
  expect(await readdir(place)).toEqual(["last-verify.json"]);
});

test("a directory that cannot be written to is ignored, and no file is left behind", async () => {
  const place = await directory();
  await mkdir(join(place, "last-verify.json"));
  await writeFile(join(place, "a file"), "");
  for (const unfit of [place, join(place, "a file"), join(place, "nowhere")]) {
    await recordVerify(unfit, LAST);
    expect(await readLastVerify(unfit)).toBeUndefined();
  }
  expect((await readdir(place)).sort()).toEqual(["a file", "last-verify.json"]);
});
