/** Writing down where the chains stand, signed, for `verify` to hold the books against later. */
import { createPublicKey } from "node:crypto";
import { stat } from "node:fs/promises";
import type { Command } from "commander";
import { batchName } from "../../ledger/batch-log.ts";
import type { Foundation } from "../../service/core.ts";
import { formatInstant, requireRight } from "../../std/clock.ts";
import { writeWhole } from "../../std/write-whole.ts";
import { type Checkpoint, keyIdOf, signCheckpoint } from "../../verify/checkpoint.ts";
import { findMissingHead, takeCheckpoint } from "../../verify/take-checkpoint.ts";
import { type Answer, addCommand, answering, CommandRejected, WrongUsage, withFoundation } from "../command.ts";
import { readPrivateKey, readSigned, writeNewKey } from "./checkpoint-file.ts";
import { headRecord } from "./heads.ts";

interface CheckpointOptions {
  readonly newKey?: string;
  readonly key?: string;
  readonly file?: string;
}

export function addCheckpoint(program: Command): void {
  const checkpoint = addCommand(program, "checkpoint", {
    summary: "write down where the books' hash chains stand, signed: verify finds whatever is changed before that",
    examples: [
      "checkpoint --new-key /media/elsewhere/parbook.key",
      "checkpoint --key /media/elsewhere/parbook.key --file /media/elsewhere/parbook.checkpoint",
    ],
  })
    .option(
      "--new-key <file>",
      "make a key pair and no more: the private key in this file, the public one in <file>.pub",
    )
    .option(
      "--key <file>",
      "the private key. Keep it off the machines that hold the database: whoever has both can forge",
    )
    .option(
      "--file <file>",
      "where to write it. One that is there is the one before: the books have to contain it still",
    );
  answering(checkpoint, writeCheckpoint);
}

async function writeCheckpoint({ newKey, key, file }: CheckpointOptions): Promise<Answer> {
  if (newKey !== undefined && key === undefined && file === undefined) return makeKey(newKey);
  if (newKey !== undefined || key === undefined || file === undefined)
    throw new WrongUsage("give --key and --file, or --new-key alone");
  const privateKey = await readPrivateKey(key);
  const before = (await isThere(file)) ? await readSigned(file, createPublicKey(privateKey)) : undefined;
  return withFoundation(async ({ database, clock }) => {
    requireRight(clock);
    const checkpoint = await takeCheckpoint(database, clock.now());
    if (before !== undefined) await refuseUnlessContinued(file, before, checkpoint, database);
    await writeWhole(file, signCheckpoint(checkpoint, privateKey));
    return answerOf(file, checkpoint, keyIdOf(privateKey));
  });
}

/** Signing over books that lack what was signed before would make good whatever was done to them. */
async function refuseUnlessContinued(
  file: string,
  before: Checkpoint,
  now: Checkpoint,
  database: Foundation["database"],
): Promise<void> {
  if (before.booksId !== now.booksId)
    throw new CommandRejected(`${file} is of the books ${before.booksId}, and these are ${now.booksId}`);
  if (before.at > now.at) throw new CommandRejected(`${file} was made later than now: at ${formatInstant(before.at)}`);
  const missing = await findMissingHead(database, before.heads);
  if (missing === undefined) return;
  const noted = `${file} has ${batchName(missing)}, and the books have it no more or with another hash`;
  throw new CommandRejected(
    `${noted}: they were set back or made again. parbook verify --checkpoint ${file} says more`,
  );
}

async function makeKey(path: string): Promise<Answer> {
  const { keyId, publicPath } = await writeNewKey(path);
  return {
    json: { key_id: keyId, private_key: path, public_key: publicPath },
    prose: [`key ${keyId}: ${path} signs, keep it off the database's machines; ${publicPath} is for verify`],
  };
}

function answerOf(file: string, { booksId, at, heads }: Checkpoint, keyId: string): Answer {
  return {
    json: {
      file,
      books: booksId,
      at: formatInstant(at),
      key_id: keyId,
      heads: heads.map(headRecord),
    },
    prose: [`${file}: ${heads.map(batchName).join(", ") || "no batch yet"}, signed by key ${keyId}`],
  };
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}
