/**
 * Checkpoints: where the chains of all slots stood at some time, signed, to be kept outside of the database. Whoever owns
 * the database can make a chain again as a whole, with hashes that fit; he cannot make it end in hashes that somebody
 * else has noted. So a checkpoint fixes everything up to its heads, and nothing behind them.
 *
 * The signature (Ed25519, RFC 8032) lets a checkpoint lie anywhere, beside the database too, as long as its key does not:
 * it says that the holder of the key was shown these heads then, not that the books were right. It cannot say that
 * there is no later one: that takes a memory, such as the checkpoint before it, or a rule on how old one may be.
 *
 * A checkpoint is text, and what is signed is the text as it stands, up to the empty line: there is nothing to bring
 * into a form of its own first, and OpenSSL can check it.
 */
import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import type { ChainHead } from "../ledger/batch-log.ts";
import { formatInstant, type Instant, parseInstant } from "../std/clock.ts";
import { parseUuid, type Uuid } from "../std/id.ts";

const VERSION = "1";

export interface Checkpoint {
  /** Which books these are: `books` in the schema. */
  readonly booksId: Uuid;
  readonly at: Instant;
  /** One for each slot that has a batch, in the order of the slots. */
  readonly heads: readonly ChainHead[];
}

export interface SignedCheckpoint extends Checkpoint {
  readonly keyId: string;
  /** What the signature is of. */
  readonly text: string;
  readonly signature: Buffer;
}

/** The text of a checkpoint, signed with this private key. */
export function signCheckpoint({ booksId, at, heads }: Checkpoint, privateKey: KeyObject): string {
  const text = [
    `parbook checkpoint ${VERSION}`,
    `books ${booksId}`,
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

/** Names a key pair: the first 16 hexadecimal digits of the SHA-256 of the public key (its DER, SubjectPublicKeyInfo). */
export function keyIdOf(key: KeyObject): string {
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("hex")
    .slice(0, 16);
}

const FIRST_LINE = /^parbook checkpoint ([0-9]{1,4})\n/;
const FORM =
  /^(parbook checkpoint 1\nbooks ([0-9a-f-]{36})\nat (\S{24})\nkey ([0-9a-f]{16})\n((?:head [0-9]{1,2}\/[0-9]{1,19} [0-9a-f]{64}\n)*))\nsignature ([A-Za-z0-9+/]{86}==)\n$/;

/** Reads a checkpoint, to the letter; or says, to be read after the name of the file, why it is none. */
export function readCheckpoint(file: string): SignedCheckpoint | string {
  const version = FIRST_LINE.exec(file)?.[1];
  if (version === undefined) return "is not a checkpoint: its first line is not that of one";
  if (version !== VERSION) return `is a checkpoint of version ${version}, and this program knows version ${VERSION}`;
  if (!file.includes("\n\nsignature ")) return "is not signed";
  const [, text = "", books = "", time = "", keyId = "", heads = "", signature = ""] = FORM.exec(file) ?? [];
  const [booksId, at] = [parseUuid(books), parseInstant(time, "down")];
  if (booksId === undefined || at === undefined)
    return "is not as a checkpoint is written: it was changed by hand or broken off";
  return { booksId, at, heads: readHeads(heads), keyId, text, signature: Buffer.from(signature, "base64") };
}

function readHeads(lines: string): ChainHead[] {
  return [...lines.matchAll(/head ([0-9]+)\/([0-9]+) ([0-9a-f]+)\n/g)].map(([, slot = "", n = "", hash = ""]) => ({
    slot: Number(slot),
    n: BigInt(n),
    hash: Buffer.from(hash, "hex"),
  }));
}
