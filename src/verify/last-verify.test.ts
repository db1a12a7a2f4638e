import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Instant } from "../std/clock.ts";
import { noteVerify, readLastVerify } from "./last-verify.ts";

const LAST = { finishedAt: 1_790_000_000_000 as Instant, sound: false };

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "parbook-last-verify-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("how verify ended last is read as it was noted", async () => {
  const place = await directory();
  expect(await readLastVerify(place)).toBeUndefined();
  await noteVerify(place, { ...LAST, sound: true });
  await noteVerify(place, LAST);
  expect(await readLastVerify(place)).toEqual(LAST);
  expect(await readdir(place)).toEqual(["last-verify.json"]);
});

test("where it cannot be noted nothing is left behind, and what was found goes on to be told", async () => {
  const place = await directory();
  await mkdir(join(place, "last-verify.json"));
  await writeFile(join(place, "a file"), "");
  for (const unfit of [place, join(place, "a file"), join(place, "nowhere")]) {
    await noteVerify(unfit, LAST);
    expect(await readLastVerify(unfit)).toBeUndefined();
  }
  expect((await readdir(place)).sort()).toEqual(["a file", "last-verify.json"]);
});
