import { expect, test } from "vitest";
import { answerOf, type Inspection } from "./restore.ts";

const report = { checks: [], heads: [], hadCheckpoint: true, sound: true, complete: true, notes: [] };
const base = { completeTo: "2026-11-27T12:00:00.000Z" };
const last = "000000010000000000000006";
const whole = { last, gap: undefined };
const holed = { last, gap: { segment: "000000010000000000000007", why: "is missing" } };
const found = (replayed: Inspection["replayed"], sound = true): Inspection => ({
  ...{ ...base, replayed, report: { ...report, sound }, last: undefined },
});

test("a restore fails if its ledger is not sound, or if its archive has a gap", () => {
  const failed = (wal: string | undefined, inspection: Inspection) => answerOf("/data", wal, inspection).failed;
  expect([failed(undefined, found(undefined)), failed("/wal", found(whole))]).toEqual([false, false]);
  expect(failed(undefined, found(undefined, false))).toBe(true);
  expect(failed("/wal", found(holed))).toBe(true);
});

test("it says how far it reaches", () => {
  const said = (wal: string | undefined, replayed: Inspection["replayed"]) =>
    answerOf("/data", wal, found(replayed)).prose.filter((line) => String(line).startsWith("Restored into /data."));
  expect([...said(undefined, undefined), ...said("/wal", whole), ...said("/wal", holed)]).toEqual([
    "Restored into /data. It contains everything that was confirmed before 2026-11-27T12:00:00.000Z, when the backup ended.",
    "Restored into /data. It continues from the backup, which ended at 2026-11-27T12:00:00.000Z, to the end of the archive or to --until, in segment 000000010000000000000006.",
    "Restored into /data. The archive has a gap: 000000010000000000000007 is missing, and nothing after it is in this database.",
  ]);
  expect(answerOf("/data", "/wal", found(holed)).json).toMatchObject({
    ...{ last_segment: last, archive_lacks: "000000010000000000000007" },
  });
});

test("what could not be verified is restored all the same, and the command says why and fails", () => {
  const answer = answerOf("/data", "/wal", { ...base, replayed: whole, unverified: ["the disk is full", "at line 1"] });
  expect(answer).toEqual({
    json: {
      ...{ data_dir: "/data", complete_to: base.completeTo, last_segment: last, archive_lacks: undefined },
      not_verified: "the disk is full\nat line 1",
    },
    prose: [
      "Restored into /data. It continues from the backup, which ended at 2026-11-27T12:00:00.000Z, to the end of the archive or to --until, in segment 000000010000000000000006.",
      "Give it a PARBOOK_WAL_ARCHIVE of its own, and take a backup at once: docs/backup.md.",
      "Restored, not verified: the disk is full",
      "at line 1",
      "Run parbook verify on /data.",
      "Clients disabled and keys revoked since then are valid again, and ref_ids used since then are unused: docs/backup.md.",
    ],
    failed: true,
  });
});
