import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
