import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import { writeAtomically } from "../../std/write-atomically.ts";
import { signCheckpoint } from "../../verify/signed-checkpoint.ts";
import { readPrivateKey, readPublicKey, readSigned, writeNewKey } from "./checkpoint-and-key-files.ts";

let folder: string;
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parbook-checkpoint-"));
  await writeNewKey(at("own"));
  await writeNewKey(at("other"));
  const checkpoint = { ledgerId: "0190d5a4-0000-7000-8000-000000000002" as Uuid, at: 0 as Instant, heads: [] };
  await writeAtomically(at("signed"), signCheckpoint(checkpoint, await readPrivateKey(at("own"))));
  const signed = await readFile(at("signed"), "utf8");
  await writeFile(at("forged"), signed.replace("1970", "2026"));
  await writeFile(at("unsigned"), signed.slice(0, signed.indexOf("signature")));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a new key is readable by its owner only and never overwrites an existing one", async () => {
  expect((await stat(at("own"))).mode & 0o777).toBe(0o600);
  await expect(writeNewKey(at("own"))).rejects.toMatchObject({ code: "EEXIST" });
  // A public key without its private key still blocks the name.
  await writeFile(at("gone.pub"), "");
  await expect(writeNewKey(at("gone"))).rejects.toMatchObject({ code: "EEXIST" });
  await expect(stat(at("gone"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("a checkpoint signed by the key is accepted, and without a key any signature is", async () => {
  const own = await readPublicKey(at("own.pub"));
  expect(await readSigned(at("signed"), own)).toEqual(await readSigned(at("signed"), undefined));
});

test.each([
  ["signed", "other.pub", /^\S+ is signed by key [0-9a-f]{16}, not by [0-9a-f]{16}$/],
  ["forged", "own.pub", /^\S+ was changed after it was signed: the signature does not match$/],
  ["unsigned", "own.pub", /^\S+ is not signed$/],
  ["own", "own.pub", /^\S+ is not a checkpoint: its first line is wrong$/],
  ["signed", "own", /^\S+ is not a public key written by parbook checkpoint --new-key$/],
  ["signed", "signed", /^\S+ is not a public key written by parbook checkpoint --new-key$/],
])("%s is rejected with the key %s", async (file, key, sentence) => {
  const rejected = readPublicKey(at(key)).then((publicKey) => readSigned(at(file), publicKey));
  await expect(rejected).rejects.toMatchObject({ name: "CommandRejected", message: expect.stringMatching(sentence) });
});

test("a key of another kind is none", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  await writeFile(at("ec"), privateKey.export({ type: "pkcs8", format: "pem" }));
  await writeFile(at("ec.pub"), publicKey.export({ type: "spki", format: "pem" }));
  const rejected = (kind: string, name: string) => ({
    name: "CommandRejected",
    message: `${at(name)} is not a ${kind} key written by parbook checkpoint --new-key`,
  });
  await expect(readPrivateKey(at("ec"))).rejects.toMatchObject(rejected("private", "ec"));
  await expect(readPublicKey(at("ec.pub"))).rejects.toMatchObject(rejected("public", "ec.pub"));
});

test("a public key does not sign", async () => {
  await expect(readPrivateKey(at("own.pub"))).rejects.toMatchObject({ name: "CommandRejected" });
});
