import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import {
  type Checkpoint,
  isSignedBy,
  keyIdOf,
  readCheckpoint,
  type SignedCheckpoint,
  signCheckpoint,
} from "./checkpoint.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");

const CHECKPOINT: Checkpoint = {
  booksId: "0190d5a4-0000-7000-8000-000000000002" as Uuid,
  at: Date.parse("2026-11-21T15:00:00.123Z") as Instant,
  heads: [
    { slot: 1, n: 57n, hash: Buffer.alloc(32, 0xab) },
    { slot: 64, n: 9_223_372_036_854_775_807n, hash: Buffer.alloc(32) },
  ],
};
const FILE = signCheckpoint(CHECKPOINT, privateKey);

test("a checkpoint is text that a person can read", () => {
  expect(FILE.replace(/^(key|signature) .*$/gm, "$1 ...")).toBe(`parbook checkpoint 1
books 0190d5a4-0000-7000-8000-000000000002
at 2026-11-21T15:00:00.123Z
key ...
head 1/57 ${"ab".repeat(32)}
head 64/9223372036854775807 ${"00".repeat(32)}

signature ...
`);
});

test.each([
  ["with heads", CHECKPOINT],
  ["of books without a batch", { ...CHECKPOINT, heads: [] }],
])("what was signed is read again: %s", (_, checkpoint) => {
  const signed = readCheckpoint(signCheckpoint(checkpoint, privateKey)) as SignedCheckpoint;
  expect(signed).toEqual({
    ...checkpoint,
    keyId: keyIdOf(publicKey),
    text: expect.any(String),
    signature: expect.any(Buffer),
  });
  expect(isSignedBy(signed, publicKey)).toBe(true);
  expect(isSignedBy(signed, generateKeyPairSync("ed25519").publicKey)).toBe(false);
});

test("no character can be changed, left out or added", () => {
  for (let i = 0; i < FILE.length; i += 1) {
    const other = FILE[i] === "1" ? "2" : "1";
    for (const forged of [`${FILE.slice(0, i)}${other}${FILE.slice(i + 1)}`, FILE.slice(0, i) + FILE.slice(i + 1)]) {
      const read = readCheckpoint(forged);
      // Base64 has bits to spare in its last character; none of them is part of what is signed.
      if (typeof read !== "string" && isSignedBy(read, publicKey)) expect(read).toEqual(readCheckpoint(FILE));
    }
  }
  expect(readCheckpoint(`${FILE}\n`)).toMatch(/^is not as a checkpoint is written/);
});

test.each([
  ["", "is not a checkpoint: its first line is not that of one"],
  ['{"heads":[]}', "is not a checkpoint: its first line is not that of one"],
  [FILE.replace("checkpoint 1", "checkpoint 2"), "is a checkpoint of version 2, and this program knows version 1"],
  [FILE.slice(0, FILE.indexOf("signature")), "is not signed"],
  [FILE.slice(0, -1), "is not as a checkpoint is written: it was changed by hand or broken off"],
  [FILE.replaceAll("\n", "\r\n"), "is not a checkpoint: its first line is not that of one"],
  [FILE.replace("T15", "T25"), "is not as a checkpoint is written: it was changed by hand or broken off"],
])("what is no checkpoint is refused in words %#", (file, refusal) => {
  expect(readCheckpoint(file)).toBe(refusal);
});
