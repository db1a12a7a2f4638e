/** Verifying the books, beside a running service or without one. */
import type { Command } from "commander";
import type { Foundation } from "../../service/core.ts";
import { formatInstant } from "../../std/clock.ts";
import type { SignedCheckpoint } from "../../verify/checkpoint.ts";
import { recordVerify } from "../../verify/last-verify.ts";
import { formatReport } from "../../verify/report.ts";
import { readBooksId } from "../../verify/take-checkpoint.ts";
import { type VerifyReport, verifyAll } from "../../verify/verify.ts";
import { readDuration } from "../arguments.ts";
import { type Answer, addCommand, answering, CommandRejected, WrongUsage, withFoundation } from "../command.ts";
import { readPublicKey, readSigned } from "./checkpoint-file.ts";
import { headRecord } from "./heads.ts";

interface VerifyCommandOptions {
  readonly checkpoint?: string;
  readonly key?: string;
  readonly maxAge?: number;
}

/** What the chains are compared with, and whether its signature was checked. */
interface Noted {
  readonly checkpoint: SignedCheckpoint;
  readonly signatureChecked: boolean;
}

export function addVerify(program: Command): void {
  const verify = addCommand(program, "verify", {
    summary: "compute again what the books say; exit code 1 when something is off",
    examples: [
      "verify",
      "verify --json",
      "verify --checkpoint /media/elsewhere/parbook.checkpoint --key parbook.key.pub --max-age 7d",
    ],
  })
    .option("--checkpoint <file>", "what parbook checkpoint wrote: the books have to contain it")
    .option("--key <file>", "the public key that the checkpoint has to be signed by")
    .option(
      "--max-age <span>",
      "refuse a checkpoint that is older, such as 7d: an old one hides what came after",
      readDuration,
    );
  answering(verify, verifyBooks);
}

async function verifyBooks({ checkpoint, key, maxAge }: VerifyCommandOptions): Promise<Answer> {
  if (checkpoint === undefined && (key !== undefined || maxAge !== undefined))
    throw new WrongUsage("--key and --max-age are about a checkpoint: give --checkpoint too");
  const publicKey = key === undefined ? undefined : await readPublicKey(key);
  const signed = checkpoint === undefined ? undefined : await readSigned(checkpoint, publicKey);
  return withFoundation(async (foundation, { dataDir }) => {
    const { database, clock } = foundation;
    if (signed !== undefined) await refuseUnlessFitting(foundation, checkpoint as string, signed, maxAge);
    const report = await verifyAll(database, signed === undefined ? {} : { checkpoint: signed.heads });
    await recordVerify(dataDir, { finishedAt: clock.now(), sound: report.sound });
    return answerOf(report, signed && { checkpoint: signed, signatureChecked: publicKey !== undefined });
  });
}

async function refuseUnlessFitting(
  { database, clock }: Foundation,
  file: string,
  { booksId, at }: SignedCheckpoint,
  maxAgeMs: number | undefined,
): Promise<void> {
  const own = await readBooksId(database);
  if (booksId !== own) throw new CommandRejected(`${file} is of the books ${booksId}, and these are ${own}`);
  if (maxAgeMs !== undefined && at < clock.now() - maxAgeMs)
    throw new CommandRejected(`${file} is older than --max-age allows: it was made at ${formatInstant(at)}`);
}

function answerOf(report: VerifyReport, noted: Noted | undefined): Answer {
  return {
    json: { ...reportRecord(report), ...(noted && { checkpoint: checkpointRecord(noted) }) },
    prose: reportLines(report, comparedWith(noted)),
    failed: !report.sound,
  };
}

export function reportLines(report: VerifyReport, against: string): string[] {
  const verdict = report.sound ? "Everything is sound." : "Something is off.";
  const notes = report.notes.map((note) => `Note: ${note}.`);
  return [...formatReport(report.checks), "", ...notes, against, verdict];
}

function comparedWith(noted: Noted | undefined): string {
  if (noted === undefined)
    return "There was no checkpoint: whoever owns the database could have made the chains again as a whole.";
  const { at, keyId } = noted.checkpoint;
  const signature = noted.signatureChecked ? `signed by key ${keyId}` : "whose signature was not checked: give --key";
  return `The chains were compared with the checkpoint of ${formatInstant(at)}, ${signature}.`;
}

function checkpointRecord({ checkpoint: { at, keyId }, signatureChecked }: Noted) {
  return { at: formatInstant(at), key_id: keyId, signature_checked: signatureChecked };
}

export function reportRecord({ sound, hadCheckpoint, checks, heads, notes }: VerifyReport) {
  return {
    sound,
    notes,
    had_checkpoint: hadCheckpoint,
    checks: checks.map(({ check, examined, broken, first }) => ({
      check,
      examined,
      broken,
      first: first && { record: first.record, message: first.message },
    })),
    heads: heads.map(headRecord),
  };
}
