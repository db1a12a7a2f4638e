import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findService, findServiceProcess, readyFile, writeReadyFile } from "./data-directory.ts";

const ADDRESSES = { baseUrl: "https://api.example.com", authUrl: "https://auth.example.com", coin: "ACMEUSD" };

test("a running service is found by what it has written; one that has ended, or whose number another process has, is not", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parbook-data-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const dataDir = join(folder, "data");
  const found = async () => [await findServiceProcess(dataDir), await findService(dataDir)];
  expect(await found()).toEqual([undefined, undefined]);
  const remove = await writeReadyFile(dataDir, ADDRESSES);
  expect(await found()).toEqual([process.pid, ADDRESSES]);
  // The directory holds secrets.
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  const written = JSON.parse(await readFile(readyFile(dataDir), "utf8"));
  // As a killed service leaves it, once its number is given out again.
  await writeFile(readyFile(dataDir), JSON.stringify({ ...written, started: "earlier" }));
  expect(await found()).toEqual([undefined, undefined]);
  await remove();
  await expect(stat(readyFile(dataDir))).rejects.toThrow("ENOENT");
  await remove();
});
