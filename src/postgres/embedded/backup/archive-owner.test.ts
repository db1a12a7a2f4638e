/** Which archives a database takes, and which a restore. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkContinues, checkOwner } from "./archive-owner.ts";
import { readArchive } from "./wal-archive.ts";

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
  for (const name of names) writeSegment(archive, name, system);
  return archive;
}

/** @param content Its last byte. */
function writeSegment(directory: string, name: string, system = OWN_SYSTEM, content = 0): void {
  const segment = Buffer.alloc(name.endsWith(".history") ? 32 : SEGMENT_BYTES);
  segment.writeBigUInt64LE(BigInt(Number(name[23] ?? 0) * SEGMENT_BYTES), 8);
  segment.writeBigUInt64LE(system, 24);
  segment.writeUInt8(content, segment.length - 1);
  writeFileSync(join(directory, name), segment, { mode: 0o600 });
}

/** A database that has come to segment 6 of its timeline. Its histories are those of `archiveOf`. */
function clusterOf(place: string, histories: readonly string[] = []): string {
  const cluster = join(mkdtempSync(join(place, "data-")), "postgres");
  for (const below of ["", "pg_wal", "global"]) mkdirSync(join(cluster, below));
  const control = Buffer.alloc(8_192);
  control.writeBigUInt64LE(OWN_SYSTEM);
  writeFileSync(join(cluster, "global/pg_control"), control, { mode: 0o600 });
  for (const name of histories) writeSegment(join(cluster, "pg_wal"), name);
  const timeline = Number(histories.at(-1)?.[7] ?? 1);
  for (const number of [5, 6]) writeSegment(join(cluster, "pg_wal"), named(timeline, number));
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

test("an archive that is ahead of a database, or differs from it, is of another one that was restored from the same backup", async () => {
  const place = freshPlace();
  const cluster = clusterOf(place, [history(2)]);
  const check = (archive: string) => checkOwner(archive, cluster).catch((error: Error) => error.message);
  expect(await check(archiveOf(place, [named(2, 5), named(2, 6)]))).toBe(undefined);
  expect(await check(archiveOf(place, [named(2, 7)]))).toContain(
    `has ${named(2, 7)}, which is of another database, or`,
  );
  // A recycled one, as in a copy of `pg_wal`, has another address in it.
  const copied = archiveOf(place, [named(2, 6)]);
  renameSync(join(archiveOf(place, [named(2, 3)]), named(2, 3)), join(copied, named(2, 9)));
  expect(await check(copied)).toBe(undefined);
  writeSegment(copied, named(2, 6), OWN_SYSTEM, 1);
  expect(await check(copied)).toContain(`has ${named(2, 6)}, which is of another database, or`);
});

test("a history that differs from the database's own is of another restore, and an earlier one may be in the archive alone", async () => {
  const place = freshPlace();
  const cluster = clusterOf(place, [history(3), history(4)]);
  const check = (archive: string) => checkOwner(archive, cluster).catch((error: Error) => error.message);
  const archive = archiveOf(place, [history(2), history(3), history(4), named(4, 6)]);
  expect(await check(archive)).toBe(undefined);
  for (const timeline of [3, 4]) {
    writeSegment(archive, history(timeline), OWN_SYSTEM, 1);
    expect(await check(archive)).toContain(`has ${history(timeline)}, which is of another database, or`);
    writeSegment(archive, history(timeline));
  }
});

test("an archive that cannot be read is said with what cannot be, and why", async () => {
  const place = freshPlace();
  const check = (archive: string) => checkOwner(archive, clusterOf(place, [history(2)]));
  const none = join(place, "none");
  await expect(check(none)).rejects.toThrow(
    `the WAL archive ${none} cannot be listed (ENOENT): user ${process.getuid?.()}, which Parbook runs as, needs access to it too`,
  );
  for (const name of [history(2), named(2, 6)]) {
    const archive = archiveOf(place, []);
    mkdirSync(join(archive, name));
    await expect(check(archive)).rejects.toThrow(`${join(archive, name)} is not a file: remove it`);
    rmSync(join(archive, name), { recursive: true });
    symlinkSync(join(archiveOf(place, [name]), name), join(archive, name));
    await expect(check(archive)).rejects.toThrow(`${join(archive, name)} is, or is reached through, a symbolic link`);
  }
});

/** Only root reads what belongs to others and is open to nobody else. */
const asRoot = test.skipIf(process.getuid?.() !== 0);

asRoot(
  "an archive may belong to somebody else than its segments, as one of root that is open to the server's user",
  async () => {
    const place = freshPlace();
    const cluster = clusterOf(place, [history(2)]);
    const archive = archiveOf(place, [history(2), named(2, 6)]);
    chmodSync(archive, 0o777);
    for (const name of [history(2), named(2, 6)]) chownSync(join(archive, name), 65534, 65534);
    await checkOwner(archive, cluster);
    // A backup too.
    chownSync(join(cluster, "global/pg_control"), 65534, 65534);
    await checkContinues(await readArchive(archive, 5n, undefined), join(cluster, ".."));
  },
);

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
  const answer = async (archive: string) =>
    checkContinues(await readArchive(archive, 4n, undefined), backup).catch((error: Error) =>
      error.message.replace(archive, "it"),
    );
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
