/** What is examined of the files of a node, as they lie there. */
import files, { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Instant } from "../../std/clock.ts";
import { readConfig } from "../config/config.ts";
import { examine } from "./examine-database.ts";
import { EXAMINATIONS_OF_MACHINE } from "./examine-node.ts";
import { finding } from "./finding.ts";

test("secrets that others can read, or anybody but the owner can replace, are found: of the archive of the log too", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parbook-secrets-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [bootstrap, key, archive] = ["customers.json", "key.pem", "wal"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [bootstrap, key]) await writeFile(path, "");
  await mkdir(archive);
  const config = readConfig({
    ...{ PARBOOK_DATA_DIR: join(folder, "data"), PARBOOK_BOOTSTRAP: bootstrap, PARBOOK_WAL_ARCHIVE: archive },
    ...{ PARBOOK_TLS_CERT: join(folder, "cert.pem"), PARBOOK_TLS_KEY: key },
  });
  const found = async (ofBootstrap: number, ofKey: number, ofArchive: number) => {
    await chmod(bootstrap, ofBootstrap);
    await chmod(key, ofKey);
    await chmod(archive, ofArchive);
    const examinations = EXAMINATIONS_OF_MACHINE.filter(({ covers }) => covers.includes("secret-files"));
    return (await examine(examinations, { config, now: 0 as Instant })).findings;
  };
  // The group may read, because the operator has chosen it.
  expect(await found(0o600, 0o640, 0o750)).toEqual([]);
  expect(await found(0o604, 0o620, 0o755)).toEqual([
    finding("secret-files", `${bootstrap} has mode 604`, `chmod 600 ${bootstrap}`),
    finding("secret-files", `${key} has mode 620`, `chmod 600 ${key}`),
    finding("secret-files", `${archive} has mode 755`, `chmod 700 ${archive}`),
  ]);
});

test("a disk that is nearly full is found, of the data directory and of the archive of the log", async () => {
  const disks: Readonly<Record<string, number>> = { "/data": 99, "/wal": 50 };
  const spy = vi
    .spyOn(files, "statfs")
    .mockImplementation(async (path) => ({ bavail: disks[String(path)], blocks: 1_000 }) as never);
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  syncBuiltinESMExports();
  const found = async (settings: Readonly<Record<string, string>>) => {
    const config = readConfig({ PARBOOK_DATA_DIR: "/data", ...settings });
    const examinations = EXAMINATIONS_OF_MACHINE.filter(({ covers }) => covers.includes("disk"));
    return (await examine(examinations, { config, now: 0 as Instant })).findings.map(({ what }) => what);
  };
  const ofData = "9 % of the disk of /data is free";
  expect(await found({})).toEqual([ofData]);
  expect(await found({ PARBOOK_WAL_ARCHIVE: "/wal" })).toEqual([ofData, "5 % of the disk of /wal is free"]);
});
