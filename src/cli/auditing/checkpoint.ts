/** `parbook checkpoint`: writes the signed heads of the hash chains, for `verify` to compare with later. */
import { createPublicKey } from "node:crypto";
import type { Command } from "commander";
import { batchName } from "../../ledger/stored-batches.ts";
import type { Foundation } from "../../service/core.ts";
import { formatInstant, requireCorrectTime } from "../../std/clock.ts";
import { writeAtomically } from "../../std/write-atomically.ts";
import { type Checkpoint, keyIdOf, signCheckpoint } from "../../verify/signed-checkpoint.ts";
import { findMissingHead, takeCheckpoint } from "../../verify/take-checkpoint.ts";
import { addCommand, CommandRejected, type CommandResult, setAction, WrongUsage, withFoundation } from "../command.ts";
import { fileExists } from "../file-exists.ts";
import { shellWord } from "../shell-word.ts";
import { headRecord } from "./chain-heads.ts";
import { readPrivateKey, readSigned, writeNewKey } from "./checkpoint-and-key-files.ts";

interface CheckpointOptions {
  readonly newKey?: string;
  readonly key?: string;
  readonly file?: string;
}

export function addCheckpoint(program: Command): void {
  const checkpoint = addCommand(program, "checkpoint", {
    summary: "write a signed checkpoint of the hash chains, so that verify can detect later changes to earlier records",
    examples: [
      "checkpoint --new-key /media/elsewhere/parbook.key",
      "checkpoint --key /media/elsewhere/parbook.key --file /media/elsewhere/parbook.checkpoint",
    ],
  })
    .option("--new-key <file>", "only create a key pair: the private key in this file, the public key in <file>.pub")
    .option("--key <file>", "the private key. Keep it away from the database machines: access to both allows forgery")
    .option(
      "--file <file>",
      "where to write it. An existing file is the previous checkpoint, which the ledger must still contain",
    );
  setAction(checkpoint, writeCheckpoint);
}

async function writeCheckpoint({ newKey, key, file }: CheckpointOptions): Promise<CommandResult> {
  if (newKey !== undefined && key === undefined && file === undefined) return makeKey(newKey);
  if (newKey !== undefined || key === undefined || file === undefined)
    throw new WrongUsage("give --key and --file, or --new-key alone");
  const privateKey = await readPrivateKey(key);
  const before = (await fileExists(file)) ? await readSigned(file, createPublicKey(privateKey)) : undefined;
  return withFoundation(async ({ database, clock }) => {
    requireCorrectTime(clock);
    const checkpoint = await takeCheckpoint(database, clock.now());
    if (before !== undefined) await checkContinues(file, before, checkpoint, database);
    await writeAtomically(file, signCheckpoint(checkpoint, privateKey));
    return answerOf(file, checkpoint, keyIdOf(privateKey));
  });
}

/** Signing a ledger that lacks what was signed before would legitimise the tampering. */
async function checkContinues(
  file: string,
  before: Checkpoint,
  now: Checkpoint,
  database: Foundation["database"],
): Promise<void> {
  if (before.ledgerId !== now.ledgerId)
    throw new CommandRejected(`${file} belongs to ledger ${before.ledgerId}, but this database is ${now.ledgerId}`);
  if (before.at > now.at) throw new CommandRejected(`${file} is from the future: ${formatInstant(before.at)}`);
  const missing = await findMissingHead(database, before.heads);
  if (missing === undefined) return;
  const mismatch = `${file} contains ${batchName(missing)}, which the ledger lacks or has with another hash`;
  throw new CommandRejected(
    `${mismatch}: it was rolled back or rewritten. For details: parbook verify --checkpoint ${shellWord(file)}`,
  );
}

async function makeKey(path: string): Promise<CommandResult> {
  const { keyId, publicPath } = await writeNewKey(path);
  return {
    json: { key_id: keyId, private_key: path, public_key: publicPath },
    prose: [`key ${keyId}: sign with ${path}, and keep it away from the database machines; verify with ${publicPath}`],
  };
}

function answerOf(file: string, { ledgerId, at, heads }: Checkpoint, keyId: string): CommandResult {
  return {
    json: {
      file,
      ledger: ledgerId,
      at: formatInstant(at),
      key_id: keyId,
      heads: heads.map(headRecord),
    },
    prose: [`${file}: ${heads.map(batchName).join(", ") || "no batches"}, signed by key ${keyId}`],
  };
}
