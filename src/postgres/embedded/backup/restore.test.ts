import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { MANIFEST, manifestText } from "./backup-manifest.ts";
import { restoreBackup } from "./restore.ts";

const ENDED_AT = "2026-11-21T09:30:00.500Z";

function makeBackup(): string {
  const backup = mkdtempSync(join(tmpdir(), "parbook-backup-"));
  onTestFinished(() => rmSync(backup, { recursive: true }));
  const times = { started_at: "2026-11-21T09:30:00.000Z", complete_to: "2026-11-21T09:30:00.400Z", ended_at: ENDED_AT };
  const ledger = { migration: "0001-schema.sql", heads: [] };
  writeFileSync(
    join(backup, MANIFEST),
    manifestText({ postgres: "18.4", ...times, ledger, directories: [], files: [] }),
  );
  return backup;
}

test("a backup can be restored to any time after its end, and to none before", async () => {
  const backup = makeBackup();
  // Where no restore is possible: what is said of the place shows that nothing is wrong with the time.
  const options = { backup, dataDir: join(backup, "data"), walArchive: backup, onProgress: () => undefined };
  const restoreTo = (until: string) => restoreBackup({ ...options, until: new Date(until) }, async () => undefined);
  for (const early of ["2026-11-21T09:30:00.400Z", "2026-11-21T09:30:00.401Z", ENDED_AT])
    await expect(restoreTo(early)).rejects.toThrow(
      `the backup ended at ${ENDED_AT}: it can only be restored to a later time`,
    );
  await expect(restoreTo("2026-11-21T09:30:00.501Z")).rejects.toThrow("are one inside the other");
});

test("what a killed restore left in the directory is removed, and the directory counts as empty", async () => {
  const place = mkdtempSync(join(tmpdir(), "parbook-restored-"));
  onTestFinished(() => rmSync(place, { recursive: true }));
  mkdirSync(join(place, "restoring-00000000/postgres/global"), { recursive: true });
  writeFileSync(join(place, "restoring-00000000/postgres/PG_VERSION"), "18\n");
  const options = { dataDir: place, walArchive: undefined, until: undefined, onProgress: () => undefined };
  const restored = restoreBackup({ ...options, backup: makeBackup() }, async () => undefined);
  // Nothing is in the backup. Only somebody for whom the directory is empty gets as far as that.
  await expect(restored).rejects.toThrow(/ENOENT.*\/postgres\/recovery\.signal/);
  expect(readdirSync(place)).toEqual(["holder.1"]);
});
