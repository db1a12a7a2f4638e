import { expect, test } from "vitest";
import { answerOf, type Inspection } from "./restore.ts";

const report = { checks: [], heads: [], hadCheckpoint: true, sound: true, complete: true, notes: [] };
const found: Inspection = { report, last: undefined, completeTo: "2026-11-27T12:00:00.000Z", gap: undefined };
const gap = { segment: "000000010000000000000007", why: "is missing" } as const;

test("a restore fails if its ledger is not sound, or if its archive has a gap", () => {
  const failed = (wal: string | undefined, some: Partial<Inspection>) =>
    answerOf("/data", wal, { ...found, ...some }).failed;
  expect([failed(undefined, {}), failed("/wal", {})]).toEqual([false, false]);
  expect(failed(undefined, { report: { ...report, sound: false } })).toBe(true);
  expect(failed("/wal", { gap })).toBe(true);
});

test("it says how far it reaches", () => {
  const said = (wal: string | undefined, some: Partial<Inspection> = {}) =>
    answerOf("/data", wal, { ...found, ...some }).prose.filter((line) =>
      String(line).startsWith("Restored into /data."),
    );
  expect([...said(undefined), ...said("/wal"), ...said("/wal", { gap })]).toEqual([
    "Restored into /data. It contains everything that was confirmed before 2026-11-27T12:00:00.000Z, when the backup ended.",
    "Restored into /data. It continues from the backup, which ended at 2026-11-27T12:00:00.000Z, to the end of the archive or to --until.",
    "Restored into /data. The archive has a gap: 000000010000000000000007 is missing, and nothing after it is in this database.",
  ]);
});
