/**
 * Checkpoints: the signed heads of all slots' chains at one time, kept outside the database. An attacker who controls
 * the database can recompute a whole chain with consistent hashes, but cannot make it end in hashes that were recorded
 * elsewhere. A checkpoint therefore protects everything up to its heads, and nothing after them.
 *
 * Because of the signature (Ed25519, RFC 8032) a checkpoint may be stored anywhere, even beside the database, as long as
 * the private key is not. It proves that the holder of the key saw these heads, not that the ledger was correct, and not
 * that there is no later checkpoint: that takes the previous one, or a maximum age.
 *
 * A checkpoint is text. The signature covers the text as it is, up to the empty line: nothing has to be canonicalized,
 * and OpenSSL can check it.
 */
import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import type { ChainHead } from "../ledger/stored-batches.ts";
import { formatInstant, type Instant, parseInstant } from "../std/clock.ts";
import { parseUuid, type Uuid } from "../std/id.ts";
import { done, type Result, reject } from "../std/result.ts";

const VERSION = "1";

export interface Checkpoint {
  /** Identifies the installation: table `ledger`. */
  readonly ledgerId: Uuid;
  readonly at: Instant;
  /** One per slot that has a batch, in slot order. */
  readonly heads: readonly ChainHead[];
}

export interface SignedCheckpoint extends Checkpoint {
  readonly keyId: string;
  readonly text: string;
  readonly signature: Buffer;
}

/** @returns the text of the checkpoint file */
export function signCheckpoint({ ledgerId, at, heads }: Checkpoint, privateKey: KeyObject): string {
  const text = [
    `parbook checkpoint ${VERSION}`,
    `ledger ${ledgerId}`,
    `at ${formatInstant(at)}`,
    `key ${keyIdOf(privateKey)}`,
    ...heads.map(({ slot, n, hash }) => `head ${slot}/${n} ${hash.toString("hex")}`),
    "",
  ].join("\n");
  return `${text}\nsignature ${sign(null, Buffer.from(text), privateKey).toString("base64")}\n`;
}

export function isSignedBy({ text, signature }: SignedCheckpoint, publicKey: KeyObject): boolean {
  return verify(null, Buffer.from(text), publicKey, signature);
}

/** Identifies a key pair: the first 16 hex digits of the SHA-256 of the public key (DER, SubjectPublicKeyInfo). */
export function keyIdOf(key: KeyObject): string {
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("hex")
    .slice(0, 16);
}

const FIRST_LINE = /^parbook checkpoint ([0-9]{1,4})\n/;
const FORM =
  /^(parbook checkpoint 1\nledger ([0-9a-f-]{36})\nat (\S{24})\nkey ([0-9a-f]{16})\n((?:head [0-9]{1,2}\/[0-9]{1,19} [0-9a-f]{64}\n)*))\nsignature ([A-Za-z0-9+/]{86}==)\n$/;

/** Parses a checkpoint strictly. @returns the reason, phrased to follow the file name, if it is not a valid one */
export function readCheckpoint(file: string): Result<SignedCheckpoint, string> {
  const version = FIRST_LINE.exec(file)?.[1];
  if (version === undefined) return reject("is not a checkpoint: its first line is wrong");
  if (version !== VERSION)
    return reject(`is a checkpoint of version ${version}, but this program supports version ${VERSION}`);
  if (!file.includes("\n\nsignature ")) return reject("is not signed");
  const [, text = "", ledger = "", time = "", keyId = "", heads = "", signature = ""] = FORM.exec(file) ?? [];
  const [ledgerId, at] = [parseUuid(ledger), parseInstant(time, "down")];
  if (ledgerId === undefined || at === undefined) return reject("is malformed: it was edited or truncated");
  return done({ ledgerId, at, heads: readHeads(heads), keyId, text, signature: Buffer.from(signature, "base64") });
}

function readHeads(lines: string): ChainHead[] {
  return [...lines.matchAll(/head ([0-9]+)\/([0-9]+) ([0-9a-f]+)\n/g)].map(([, slot = "", n = "", hash = ""]) => ({
    slot: Number(slot),
    n: BigInt(n),
    hash: Buffer.from(hash, "hex"),
  }));
}
