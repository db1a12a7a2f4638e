/** Which archives a database takes, and which a restore. */
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkContinues, checkOwner } from "./archive-owner.ts";
import type { Manifest } from "./backup-manifest.ts";

const SEGMENT_BYTES = 16 * 1024 * 1024;
const [OWN_SYSTEM, OTHER_SYSTEM] = [7n, 8n];

function freshPlace(): string {
  const place = mkdtempSync(join(tmpdir(), "parbook-owner-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true, maxRetries: 10 }));
  return place;
}

/** A segment by its name: timeline and number are each a digit. */
const named = (timeline: number, number: number): string => `0000000${timeline}000000000000000${number}`;
const history = (timeline: number): string => `0000000${timeline}.history`;

/** The files of an archive. Segments are of the database with this identifier. */
function archiveOf(place: string, names: readonly string[], system = OWN_SYSTEM): string {
  const archive = mkdtempSync(join(place, "wal-"));
  for (const name of names) {
    const header = Buffer.alloc(32);
    header.writeBigUInt64LE(BigInt(Number(name[23] ?? 0) * SEGMENT_BYTES), 8);
    header.writeBigUInt64LE(system, 24);
    writeFileSync(join(archive, name), header);
    truncateSync(join(archive, name), SEGMENT_BYTES);
  }
  return archive;
}

function clusterOf(place: string, histories: readonly string[] = []): string {
  const cluster = join(mkdtempSync(join(place, "data-")), "postgres");
  for (const below of ["", "pg_wal", "global"]) mkdirSync(join(cluster, below));
  const control = Buffer.alloc(8_192);
  control.writeBigUInt64LE(OWN_SYSTEM);
  writeFileSync(join(cluster, "global/pg_control"), control, { mode: 0o600 });
  for (const name of histories) writeFileSync(join(cluster, "pg_wal", name), "", { mode: 0o600 });
  return cluster;
}

test.each<[string, readonly string[], readonly string[], string | undefined]>([
  ["an empty one", [], [], undefined],
  ["its own", [named(1, 1), named(1, 2), `${named(1, 2)}.00000028.backup`], [], undefined],
  ["of its timeline, begun by a restore", [history(2), named(2, 5)], [history(2)], undefined],
  [
    "of its timeline, with the histories of those before",
    [history(2), history(3), named(3, 5)],
    [history(2), history(3)],
    undefined,
  ],
  ["of the database that it was restored from", [named(1, 1)], [history(2)], named(1, 1)],
  ["of that and its own mixed", [history(2), named(1, 1), named(2, 1)], [history(2)], named(1, 1)],
  ["of a database that was restored from it", [named(2, 1)], [], named(2, 1)],
  ["of such a database, with a history alone", [history(2)], [], history(2)],
])("what a database does with an archive: %s", async (_what, names, histories, foreign) => {
  const place = freshPlace();
  const archive = archiveOf(place, names);
  const answer = await checkOwner(archive, clusterOf(place, histories)).catch((error: Error) => error.message);
  expect(answer).toBe(
    foreign &&
      `the WAL archive ${archive} has ${foreign}, which is of another database, or of this one before a restore: set PARBOOK_WAL_ARCHIVE to a new directory, and take a backup at once (docs/backup.md)`,
  );
});

test("an archive of another database is known by its identifier, and a new database takes only an empty one", async () => {
  const place = freshPlace();
  await expect(checkOwner(archiveOf(place, [named(1, 1)], OTHER_SYSTEM), clusterOf(place))).rejects.toThrow(
    `has ${named(1, 1)}, which is of another database`,
  );
  await expect(checkOwner(archiveOf(place, [named(1, 1)]), undefined)).rejects.toThrow(`has ${named(1, 1)}, which`);
  await checkOwner(archiveOf(place, []), undefined);
});

test("an archive continues a backup if it has the segment before it, or a later one, of the same database", async () => {
  const place = freshPlace();
  const backup = join(clusterOf(place), "..");
  const file = (name: string) => ({ path: `postgres/pg_wal/${name}`, size: SEGMENT_BYTES, sha256: "" });
  const manifest = { files: [file(named(1, 6)), file(named(1, 5))] } as unknown as Manifest;
  const answer = (archive: string) =>
    checkContinues(archive, backup, manifest).catch((error: Error) => error.message.replace(archive, "it"));
  const nothing =
    "nothing in it continues this backup: is it its archive? Nothing was restored. Without --wal the backup alone is";
  const answers = [
    [[named(1, 4)], undefined],
    [[named(1, 6)], undefined],
    [[named(2, 7)], undefined],
    [[], nothing],
    // As one that nothing was written to for a while.
    [[named(1, 3)], nothing],
  ] as const;
  for (const [names, expected] of answers)
    expect([names, await answer(archiveOf(place, names))]).toEqual([names, expected]);
  expect(await answer(archiveOf(place, [named(1, 6)], OTHER_SYSTEM))).toBe(nothing);
});
