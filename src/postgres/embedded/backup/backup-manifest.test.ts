import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { MANIFEST, type Manifest, manifestText, readManifest } from "./backup-manifest.ts";

const AT = "2026-11-21T09:30:00.000Z";
const FILE = { path: "postgres/PG_VERSION", size: 3, sha256: "00" };
const SOUND: Omit<Manifest, "format"> = {
  ...{ postgres: "18.4", started_at: AT, complete_to: AT, ended_at: AT },
  ledger: { migration: "0001-schema.sql", heads: [{ slot: 1, n: "7", hash: "00" }] },
  directories: ["postgres", "postgres/global"],
  files: [FILE],
};

function backupWith(text: string): string {
  const backup = mkdtempSync(join(tmpdir(), "parbook-manifest-"));
  onTestFinished(() => rmSync(backup, { recursive: true }));
  writeFileSync(join(backup, MANIFEST), text);
  return backup;
}

test("a manifest is read as it was written", async () => {
  expect(await readManifest(backupWith(manifestText(SOUND)))).toEqual({ format: "parbook-backup-1", ...SOUND });
});

test.each(["/etc/passwd", "../passwd", "..", "postgres/../../passwd", "./postgres", "postgres//PG_VERSION"])(
  "a manifest that names %s leads to nothing outside the backup",
  async (path) => {
    for (const changed of [{ files: [FILE, { ...FILE, path }] }, { directories: ["postgres", path] }]) {
      const backup = backupWith(manifestText({ ...SOUND, ...changed }));
      await expect(readManifest(backup)).rejects.toThrow(
        `${backup}/manifest.json names ${path}, which is outside the backup`,
      );
    }
  },
);

test("what is no manifest of this format is not restored from", async () => {
  const other = manifestText(SOUND).replace("parbook-backup-1", "parbook-backup-2");
  for (const text of ["", "{", "null", "{}", other]) {
    const backup = backupWith(text);
    await expect(readManifest(backup)).rejects.toThrow(
      `${backup}/manifest.json is damaged or from another version of Parbook`,
    );
  }
  await expect(readManifest("/nowhere")).rejects.toThrow(
    "/nowhere is not a complete backup: manifest.json is missing (ENOENT)",
  );
});
