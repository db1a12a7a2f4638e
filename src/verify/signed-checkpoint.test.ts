import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { unwrap } from "../../test/support/results.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import { reject } from "../std/result.ts";
import { type Checkpoint, isSignedBy, keyIdOf, readCheckpoint, signCheckpoint } from "./signed-checkpoint.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");

const CHECKPOINT: Checkpoint = {
  ledgerId: "0190d5a4-0000-7000-8000-000000000002" as Uuid,
  at: Date.parse("2026-11-21T15:00:00.123Z") as Instant,
  heads: [
    { slot: 1, n: 57n, hash: Buffer.alloc(32, 0xab) },
    { slot: 64, n: 9_223_372_036_854_775_807n, hash: Buffer.alloc(32) },
  ],
};
const FILE = signCheckpoint(CHECKPOINT, privateKey);

test("a checkpoint is readable text", () => {
  expect(FILE.replace(/^(key|signature) .*$/gm, "$1 ...")).toBe(`parbook checkpoint 1
ledger 0190d5a4-0000-7000-8000-000000000002
at 2026-11-21T15:00:00.123Z
key ...
head 1/57 ${"ab".repeat(32)}
head 64/9223372036854775807 ${"00".repeat(32)}

signature ...
`);
});

test.each([
  ["with heads", CHECKPOINT],
  ["without a batch", { ...CHECKPOINT, heads: [] }],
])("a signed checkpoint is read back: %s", (_, checkpoint) => {
  const signed = unwrap(readCheckpoint(signCheckpoint(checkpoint, privateKey)));
  expect(signed).toEqual({
    ...checkpoint,
    keyId: keyIdOf(publicKey),
    text: expect.any(String),
    signature: expect.any(Buffer),
  });
  expect(isSignedBy(signed, publicKey)).toBe(true);
  expect(isSignedBy(signed, generateKeyPairSync("ed25519").publicKey)).toBe(false);
});

test("any changed, missing or additional character is detected", () => {
  for (let i = 0; i < FILE.length; i += 1) {
    const other = FILE[i] === "1" ? "2" : "1";
    for (const forged of [`${FILE.slice(0, i)}${other}${FILE.slice(i + 1)}`, FILE.slice(0, i) + FILE.slice(i + 1)]) {
      const read = readCheckpoint(forged);
      // The last Base64 character has unused bits, which are not signed.
      if (read.kind === "done" && isSignedBy(read.value, publicKey)) expect(read).toEqual(readCheckpoint(FILE));
    }
  }
  expect(readCheckpoint(`${FILE}\n`)).toEqual(reject("is malformed: it was edited or truncated"));
});

test.each([
  ["", "is not a checkpoint: its first line is wrong"],
  ['{"heads":[]}', "is not a checkpoint: its first line is wrong"],
  [FILE.replace("checkpoint 1", "checkpoint 2"), "is a checkpoint of version 2, but this program supports version 1"],
  [FILE.slice(0, FILE.indexOf("signature")), "is not signed"],
  [FILE.slice(0, -1), "is malformed: it was edited or truncated"],
  [FILE.replaceAll("\n", "\r\n"), "is not a checkpoint: its first line is wrong"],
  [FILE.replace("T15", "T25"), "is malformed: it was edited or truncated"],
])("an invalid checkpoint is rejected with the reason: %#", (file, reason) => {
  expect(readCheckpoint(file)).toEqual(reject(reason));
});
