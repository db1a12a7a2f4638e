import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
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
  const dataDir = await directory();
  const own = { dataDir, databaseUrl: undefined };
  expect(await readLastVerify(own)).toBeUndefined();
  await recordVerify(own, { ...LAST, sound: true });
  await recordVerify(own, LAST);
  expect(await readLastVerify(own)).toEqual(LAST);
  expect(await readdir(dataDir)).toEqual(["last-verify.json"]);
});

test("each database has a result of its own, whatever user and options its URL has", async () => {
  const dataDir = await directory();
  const at = (databaseUrl: string) => ({ dataDir, databaseUrl });
  await recordVerify(at("postgres://parbook:secret@db.example/parbook"), LAST);
  for (const other of ["db.example/drill", "db.example:5433/parbook", "drill.example/parbook"])
    await recordVerify(at(`postgres://parbook@${other}`), { ...LAST, sound: true });
  expect(await readLastVerify(at("postgres://verifier@db.example:5432/parbook?sslmode=verify-full"))).toEqual(LAST);
  expect(await readLastVerify({ dataDir, databaseUrl: undefined })).toBeUndefined();
  const texts = await Promise.all((await readdir(dataDir)).map((name) => readFile(join(dataDir, name), "utf8")));
  expect(texts.map((text) => JSON.parse(text).database).sort()).toEqual([
    "db.example:5432/drill",
    "db.example:5432/parbook",
    "db.example:5433/parbook",
    "drill.example:5432/parbook",
  ]);
  expect(texts.join()).not.toContain("secret");
});

test("why a result could not be stored is told, and no file is left behind", async () => {
  const place = await directory();
  await mkdir(join(place, "last-verify.json"));
  await writeFile(join(place, "a file"), "");
  const codes = [];
  for (const unfit of [place, join(place, "a file"), join(place, "nowhere")]) {
    const verified = { dataDir: unfit, databaseUrl: undefined };
    codes.push((await recordVerify(verified, LAST)) as { code?: string } | undefined);
    expect(await readLastVerify(verified)).toBeUndefined();
  }
  expect(codes.map((error) => error?.code)).toEqual(["EISDIR", "ENOTDIR", "ENOENT"]);
  expect((await readdir(place)).sort()).toEqual(["a file", "last-verify.json"]);
});

test("without room for a second file the result replaces the former one in its place", async () => {
  const dataDir = await directory();
  const verified = { dataDir, databaseUrl: undefined };
  const checkpointAt = LAST.finishedAt;
  expect(await recordVerify(verified, { ...LAST, sound: true, checkpointAt })).toBeUndefined();
  // What stands in the way of the draft can be neither removed nor replaced.
  await mkdir(join(dataDir, `last-verify.json.${process.pid}`, "full"), { recursive: true });
  const unsound = { finishedAt: (LAST.finishedAt + 1) as Instant, sound: false };
  expect(await recordVerify(verified, unsound)).toBeUndefined();
  expect(await readLastVerify(verified)).toEqual({ ...unsound, checkpointAt: undefined });
});
