/** What a restore says of the archive, once the server has left the old timeline. */
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findGap, type Gap, listSegments } from "./wal-archive.ts";

const SEGMENT_BYTES = 16 * 1024 * 1024;

/** As PostgreSQL names a segment of timeline 1: its number in hexadecimal. */
const named = (segment: number): string => `0000000100000000${segment.toString(16).toUpperCase().padStart(8, "0")}`;

/** `own`: written in its place; `recycled`: with the content of an earlier one; `cut`: its own, and too short. */
type Kind = "own" | "recycled" | "cut";

/** The gap of an archive whose replay has ended within segment 10. */
async function gapOf(archived: Readonly<Record<string, Kind>>): Promise<Gap | undefined> {
  const place = mkdtempSync(join(tmpdir(), "parbook-archive-"));
  onTestFinished(() => rmSync(place, { recursive: true }));
  const [cluster, archive] = [join(place, "cluster"), join(place, "archive")];
  for (const directory of [cluster, join(cluster, "pg_wal"), archive]) mkdirSync(directory);
  writeFileSync(join(cluster, "pg_wal", "00000002.history"), "1\t0/A000150\tno recovery target specified\n", {
    mode: 0o600,
  });
  for (const [name, kind] of Object.entries(archived)) {
    const header = Buffer.alloc(16);
    const number = kind === "recycled" ? 1 : Number.parseInt(name.slice(16), 16);
    header.writeBigUInt64LE(BigInt(number) * BigInt(SEGMENT_BYTES), 8);
    const path = join(archive, name);
    writeFileSync(path, header);
    truncateSync(path, kind === "cut" ? 4_096 : SEGMENT_BYTES);
  }
  return findGap(cluster, archive, await listSegments(archive));
}

const [END, NEXT, LATER] = [named(10), named(11), named(12)];
const OTHER_TIMELINE = LATER.replace(/^00000001/, "00000002");

test.each<[string, Readonly<Record<string, Kind>>, Gap | undefined]>([
  ["ends there, with a record that goes on in the next segment", { [named(9)]: "own", [END]: "own" }, undefined],
  ["ends before it", { [named(9)]: "own" }, undefined],
  ["lacks it, and has later ones", { [NEXT]: "own" }, { segment: END, why: "is missing" }],
  ["lacks the next one, and has later ones", { [END]: "own", [LATER]: "own" }, { segment: NEXT, why: "is missing" }],
  ["has only old content by later names", { [END]: "own", [LATER]: "recycled" }, undefined],
  ["has later ones of another timeline only", { [END]: "own", [OTHER_TIMELINE]: "own" }, undefined],
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
