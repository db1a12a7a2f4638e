/** The archive of the log: who may use it, and what a restore says of it once the server has left the old timeline. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  archiving,
  examineReplay,
  type Gap,
  prepareArchive,
  type Replayed,
  readArchive,
  recovering,
} from "./wal-archive.ts";

const SEGMENT_BYTES = 16 * 1024 * 1024;

/** As PostgreSQL names a segment of timeline 1: its number in hexadecimal. */
const named = (segment: number): string => `0000000100000000${segment.toString(16).toUpperCase().padStart(8, "0")}`;

/** `own`: written in its place; `recycled`: with the content of an earlier one; `cut`: its own, and too short. */
type Kind = "own" | "recycled" | "cut";

/** The history of a timeline that was begun within segment 10 of the first one. */
const HISTORY = { name: "00000002.history", text: "1\t0/A000150\tno recovery target specified\n" };

/** What is found of an archive whose replay has ended where the new timeline begins. */
async function replayOf(
  archived: Readonly<Record<string, Kind>>,
  history = HISTORY,
  {
    histories = [],
    until,
    meanwhile = () => undefined,
  }: {
    readonly histories?: readonly string[];
    readonly until?: Date;
    readonly meanwhile?: (archive: string) => void;
  } = {},
): Promise<Replayed> {
  const place = mkdtempSync(join(tmpdir(), "parbook-archive-"));
  onTestFinished(() => rmSync(place, { recursive: true }));
  const [cluster, archive] = [join(place, "cluster"), join(place, "archive")];
  for (const directory of [cluster, join(cluster, "pg_wal"), archive]) mkdirSync(directory);
  writeFileSync(join(cluster, "pg_wal", HISTORY.name), HISTORY.text, { mode: 0o600 });
  writeFileSync(join(cluster, "pg_wal", history.name), history.text, { mode: 0o600 });
  for (const [name, kind] of Object.entries(archived)) {
    const header = Buffer.alloc(16);
    // Of 256 segments each the middle of a name counts one.
    const number =
      kind === "recycled" ? 1 : Number.parseInt(name.slice(8, 16), 16) * 256 + Number.parseInt(name.slice(16), 16);
    header.writeBigUInt64LE(BigInt(number) * BigInt(SEGMENT_BYTES), 8);
    const path = join(archive, name);
    writeFileSync(path, header);
    truncateSync(path, kind === "cut" ? 4_096 : SEGMENT_BYTES);
  }
  for (const name of histories) writeFileSync(join(archive, name), "");
  const before = await readArchive(archive, 0n, undefined);
  meanwhile(archive);
  return examineReplay(cluster, before, until);
}

const gapOf = async (...given: Parameters<typeof replayOf>): Promise<Gap | undefined> => (await replayOf(...given)).gap;

const [END, NEXT, LATER] = [named(10), named(11), named(12)];
const OTHER_TIMELINE = LATER.replace(/^00000001/, "00000002");

test.each<[string, Readonly<Record<string, Kind>>, Gap | undefined]>([
  ["ends there, with a record that goes on in the next segment", { [named(9)]: "own", [END]: "own" }, undefined],
  ["ends before it", { [named(9)]: "own" }, undefined],
  ["lacks it, and has later ones", { [NEXT]: "own" }, { segment: END, why: "is missing" }],
  ["lacks the next one, and has later ones", { [END]: "own", [LATER]: "own" }, { segment: NEXT, why: "is missing" }],
  ["has only old content by later names", { [END]: "own", [LATER]: "recycled" }, undefined],
  [
    "has later ones of a timeline whose history it lacks",
    { [END]: "own", [OTHER_TIMELINE]: "own" },
    { segment: "00000002.history", why: "is missing" },
  ],
  ["has only old content by names of such a timeline", { [END]: "own", [OTHER_TIMELINE]: "recycled" }, undefined],
  ["ends with it, too short", { [END]: "cut" }, { segment: END, why: "has 4096 bytes instead of 16777216" }],
  [
    "ends with the next one, too short",
    { [END]: "own", [NEXT]: "cut" },
    { segment: NEXT, why: "has 4096 bytes instead of 16777216" },
  ],
  [
    "has old content by its name, and later ones",
    { [END]: "recycled", [NEXT]: "own" },
    { segment: END, why: "is damaged" },
  ],
  ["ends with old content by its name", { [END]: "recycled" }, undefined],
  ["has it and later ones, whole", { [END]: "own", [NEXT]: "own" }, { segment: END, why: "is damaged" }],
])("a replay ends within a segment, and the archive %s", async (_what, archived, gap) => {
  expect(await gapOf(archived)).toEqual(gap);
});

test("of an archive that goes away during a replay, what it had is missing", async () => {
  const gone = { meanwhile: (archive: string) => rmSync(archive, { recursive: true }) };
  const missing = (segment: string): Gap => ({ segment, why: "is missing" });
  expect(await gapOf({ [END]: "own", [LATER]: "own" }, HISTORY, gone)).toEqual(missing(END));
  expect(await gapOf({ [END]: "own" }, HISTORY, gone)).toEqual(missing(END));
  expect(await gapOf({ [named(9)]: "own" }, HISTORY, gone)).toBe(undefined);
  // A segment that was there, alone.
  const without = { meanwhile: (archive: string) => rmSync(join(archive, NEXT)) };
  expect(await gapOf({ [END]: "own", [NEXT]: "own" }, HISTORY, without)).toEqual(missing(NEXT));
  expect(await gapOf({ [END]: "own", [NEXT]: "recycled" }, HISTORY, without)).toBe(undefined);
  const followed = { [END]: "own", [OTHER_TIMELINE]: "own" } as const;
  expect(await gapOf(followed, HISTORY, gone)).toEqual(missing("00000002.history"));
});

test("segments of a later timeline that was not followed are named, but not if a time was wanted and their history is there", async () => {
  const archived = { [END]: "own", [OTHER_TIMELINE]: "own" } as const;
  const until = new Date("2026-11-21T14:05:00Z");
  const lacking = { segment: "00000002.history", why: "is missing" };
  expect(await gapOf(archived, HISTORY, { until })).toEqual(lacking);
  const histories = ["00000002.history"];
  expect(await gapOf(archived, HISTORY, { histories, until })).toBe(undefined);
  expect(await gapOf(archived, HISTORY, { histories })).toEqual({
    ...{ segment: OTHER_TIMELINE, why: "is of a timeline that was not followed" },
  });
  // What comes behind that time is not wanted either.
  expect(await gapOf({ [LATER]: "own" }, HISTORY, { until })).toBe(undefined);
});

test("the last segment of which something was replayed is known", async () => {
  expect((await replayOf({})).last).toBe(END);
  const atItsEnd = { ...HISTORY, text: "1\t0/A000000\tno recovery target specified\n" };
  expect((await replayOf({}, atItsEnd)).last).toBe(named(9));
});

test("a restore of what was restored before ends where the last of its timelines begins, however far that is", async () => {
  // The first restore was made into the second timeline; the second one has left it, 5 GiB behind.
  const history = {
    name: "00000003.history",
    text: `${HISTORY.text}\n2\t1/FF000150\tbefore 2026-11-21 14:05:00+00\n`,
  };
  const [end, next, later] = ["0000000200000001000000FF", "000000020000000200000000", "000000020000000200000001"];
  expect(await gapOf({ [end]: "own" }, history)).toBe(undefined);
  expect(await gapOf({ [end]: "own", [later]: "own" }, history)).toEqual({ segment: next, why: "is missing" });
  expect(await gapOf({ [end]: "own", [next]: "recycled", [later]: "own" }, history)).toEqual({
    ...{ segment: next, why: "is damaged" },
  });
  // Of the timeline that was left before, segments are none of this one's.
  expect(await gapOf({ [end]: "own", [LATER]: "own" }, history)).toBe(undefined);
});

test("the server gets whole segments and histories from the archive, what is too short as if it were not there, and an error once the archive has gone", async () => {
  const place = freshPlace();
  const archive = join(place, "wal");
  mkdirSync(archive);
  for (const [name, bytes] of [
    [END, SEGMENT_BYTES],
    [NEXT, SEGMENT_BYTES - 1],
    ["00000002.history", 40],
  ] as const) {
    writeFileSync(join(archive, name), "");
    truncateSync(join(archive, name), bytes);
  }
  const { restore_command: command = "" } = recovering(await readArchive(archive, 0n, undefined), undefined);
  const statusOf = (name: string): number | null => {
    // As PostgreSQL does: %f is the name, %p the place for it.
    const filled = command.replaceAll("%f", name).replaceAll("%p", join(place, "fetched"));
    return spawnSync("sh", ["-c", filled]).status;
  };
  const names = [END, NEXT, LATER, "00000002.history", "00000003.history"];
  expect(names.map(statusOf)).toEqual([0, 1, 1, 0, 1]);
  // PostgreSQL takes that for a failure of the machine, and not for the end of the log. An empty mount point is no archive.
  renameSync(archive, join(place, "away"));
  expect(names.map(statusOf)).toEqual(Array(5).fill(255));
  mkdirSync(archive);
  expect(names.map(statusOf)).toEqual(Array(5).fill(255));
});

const NOBODY = { uid: 65534, gid: 65534 };
/** Only root can make something that the server's user cannot use. */
const asRoot = test.skipIf(process.getuid?.() !== 0);

function freshPlace(): string {
  const place = mkdtempSync(join(tmpdir(), "parbook-archive-"));
  onTestFinished(() => rmSync(place, { recursive: true }));
  chmodSync(place, 0o755);
  return place;
}

asRoot("a new archive belongs to the server's user, and nobody else can read it", async () => {
  const archive = join(freshPlace(), "made", "wal");
  mkdirSync(join(archive, ".."), { mode: 0o755 });
  await prepareArchive(archive, NOBODY);
  expect(statSync(archive)).toMatchObject({ ...NOBODY, mode: 0o40700 });
  await prepareArchive(archive, NOBODY);
  expect(await readArchive(archive, 0n, NOBODY)).toEqual({ archive, segments: new Map(), histories: [] });
});

asRoot("an archive that the server's user cannot use is found before anything is started", async () => {
  const archive = join(freshPlace(), "wal");
  mkdirSync(archive, { mode: 0o700 });
  const cannot = (what: string): string =>
    `user 65534, which PostgreSQL runs as, cannot ${what} the WAL archive ${archive}: grant access to it and its parent directories`;
  await expect(prepareArchive(archive, NOBODY)).rejects.toThrow(cannot("write to"));
  await expect(readArchive(archive, 0n, NOBODY)).rejects.toThrow(cannot("read"));
  chmodSync(archive, 0o755);
  await expect(prepareArchive(archive, NOBODY)).rejects.toThrow(cannot("write to"));
  await readArchive(archive, 0n, NOBODY);
});

test("an archive that is no directory, or cannot be one, is found before anything is started", async () => {
  const file = join(freshPlace(), "file");
  writeFileSync(file, "");
  await expect(prepareArchive(join(file, "wal"), undefined)).rejects.toThrow(
    `the WAL archive ${file}/wal cannot be created (ENOTDIR): set PARBOOK_WAL_ARCHIVE to another directory`,
  );
  await expect(readArchive(file, 0n, undefined)).rejects.toThrow(`the WAL archive ${file} is not a directory`);
});

test("without an archive a restore ends with the backup's own log; with a time it ends there", async () => {
  const settings = { restore_command: "false", hot_standby: "off", recovery_target_action: "promote" };
  expect(recovering(undefined, undefined)).toEqual(settings);
  const archive = freshPlace();
  expect(recovering(await readArchive(archive, 0n, undefined), new Date("2026-11-21T14:05:00.250Z"))).toEqual({
    ...settings,
    restore_command: expect.stringContaining(`cp "${archive}/%f" "%p" || exit 255; `),
    recovery_target_time: "2026-11-21T14:05:00.250+00",
  });
});

test("what is not full yet is archived after five minutes (docs/backup.md)", () => {
  expect(archiving("/mnt/wal")).toMatchObject({
    archive_mode: "on",
    "basic_archive.archive_directory": "/mnt/wal",
    archive_timeout: "5min",
  });
});
