/** Checkpoint and key files. An untrustworthy file is rejected before anything is done. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { withPath } from "../../std/file-error.ts";
import { isSignedBy, keyIdOf, readCheckpoint, type SignedCheckpoint } from "../../verify/signed-checkpoint.ts";
import { CommandRejected } from "../command.ts";
import { readInputFile } from "../input-file.ts";

/** Writes a new key pair to `path` (mode 0600) and `path.pub`. Never overwrites a file. */
export async function writeNewKey(path: string): Promise<{ keyId: string; publicPath: string }> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const publicPath = `${path}.pub`;
  await writeNew(path, privateKey.export({ type: "pkcs8", format: "pem" }), 0o600);
  try {
    await writeNew(publicPath, publicKey.export({ type: "spki", format: "pem" }), 0o644);
  } catch (error) {
    // Next to an existing .pub file, it would look like that key's private half.
    await rm(path);
    throw error;
  }
  return { keyId: keyIdOf(publicKey), publicPath };
}

/** Removes a partial file, which would block the next attempt. */
async function writeNew(path: string, pem: string | Buffer, mode: number): Promise<void> {
  try {
    await withPath(path, () => writeFile(path, pem, { flag: "wx", mode, flush: true }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") await rm(path, { force: true });
    throw error;
  }
}

export function readPrivateKey(path: string): Promise<KeyObject> {
  return readKey(path, "private", createPrivateKey);
}

/** Rejects a private key: verifying must not need it. */
export function readPublicKey(path: string): Promise<KeyObject> {
  return readKey(path, "public", createPublicKey);
}

async function readKey(path: string, kind: "private" | "public", read: (pem: string) => KeyObject): Promise<KeyObject> {
  const pem = (await readInputFile(path)).toString();
  const wanted = `-----BEGIN ${kind.toUpperCase()} KEY-----`;
  const key = pem.startsWith(wanted) ? tryTo(() => read(pem)) : undefined;
  if (key?.asymmetricKeyType === "ed25519") return key;
  throw new CommandRejected(`${path} is not a ${kind} key written by parbook checkpoint --new-key`);
}

/** @param publicKey Undefined: the signature is not checked. */
export async function readSigned(path: string, publicKey: KeyObject | undefined): Promise<SignedCheckpoint> {
  const read = readCheckpoint((await readInputFile(path)).toString());
  if (read.kind === "rejected") throw new CommandRejected(`${path} ${read.rejection}`);
  const checkpoint = read.value;
  if (publicKey === undefined) return checkpoint;
  const keyId = keyIdOf(publicKey);
  if (checkpoint.keyId !== keyId)
    throw new CommandRejected(`${path} is signed by key ${checkpoint.keyId}, not by ${keyId}`);
  if (!isSignedBy(checkpoint, publicKey))
    throw new CommandRejected(`${path} was changed after it was signed: the signature does not match`);
  return checkpoint;
}

function tryTo<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
