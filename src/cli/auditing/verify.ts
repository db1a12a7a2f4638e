/** `parbook verify`: verifies the ledger, with the service running or stopped. */
import type { Command } from "commander";
import { type OutstandingSupply, readOutstandingSupply } from "../../ledger/outstanding-supply.ts";
import type { ChainHead } from "../../ledger/stored-batches.ts";
import type { Database } from "../../postgres/database.ts";
import type { Foundation } from "../../service/core.ts";
import { formatInstant } from "../../std/clock.ts";
import { recordVerify } from "../../verify/last-verify.ts";
import { formatReport, verdictOf } from "../../verify/report.ts";
import type { SignedCheckpoint } from "../../verify/signed-checkpoint.ts";
import { readLedgerId } from "../../verify/take-checkpoint.ts";
import { type VerifyReport, verifyAll } from "../../verify/verify.ts";
import { readDuration } from "../arguments.ts";
import { addCommand, CommandRejected, type CommandResult, setAction, WrongUsage, withFoundation } from "../command.ts";
import { endStatements, interruptible } from "../interruption.ts";
import { type ProgressOptions, withProgress } from "../progress.ts";
import { table } from "../terminal.ts";
import { headRecord } from "./chain-heads.ts";
import { readPublicKey, readSigned } from "./checkpoint-and-key-files.ts";

interface VerifyCommandOptions {
  readonly json?: true;
  readonly checkpoint?: string;
  readonly key?: string;
  readonly maxAge?: number;
}

interface ComparedCheckpoint {
  readonly checkpoint: SignedCheckpoint;
  readonly signatureChecked: boolean;
}

export function addVerify(program: Command): void {
  const verify = addCommand(program, "verify", {
    summary: "recompute the ledger and report every difference; exit code 1 unless it is sound",
    examples: [
      "verify",
      "verify --json",
      "verify --checkpoint /media/elsewhere/parbook.checkpoint --key parbook.key.pub --max-age 7d",
    ],
  })
    .option("--checkpoint <file>", "a checkpoint that the ledger must contain")
    .option("--key <file>", "the public key to check the signature of the checkpoint with")
    .option("--max-age <span>", "reject an older checkpoint, such as 7d: changes after it go undetected", readDuration);
  setAction(verify, verifyLedger);
}

const NOT_STORED =
  "the result could not be stored in PARBOOK_DATA_DIR: doctor, metrics and alerts know only of one before it. " +
  "Make room there, or run verify as the user of the service";

async function verifyLedger({ checkpoint, key, maxAge, json }: VerifyCommandOptions): Promise<CommandResult> {
  if (checkpoint === undefined && (key !== undefined || maxAge !== undefined))
    throw new WrongUsage("--key and --max-age need --checkpoint");
  const publicKey = key === undefined ? undefined : await readPublicKey(key);
  const signed = checkpoint === undefined ? undefined : await readSigned(checkpoint, publicKey);
  const verifying = (stopping: AbortSignal) =>
    withFoundation(async (foundation, config) => {
      const { database, clock, log } = foundation;
      if (signed !== undefined) await checkFits(foundation, checkpoint as string, signed, maxAge);
      const report = await verifyShowing(database, signed?.heads, { quiet: json, stopping });
      const last = { finishedAt: clock.now(), sound: report.sound, checkpointAt: signed?.at };
      const error = await recordVerify(config, last);
      if (error !== undefined) log.error({ reason: error.message }, NOT_STORED);
      const coins = await readOutstandingSupply(database);
      return answerOf(report, coins, signed && { checkpoint: signed, signatureChecked: publicKey !== undefined });
    });
  return interruptible("nothing is known of the rest of the ledger. Run it again: it begins anew", verifying);
}

/** Verifies, and shows how far it is. */
export function verifyShowing(
  database: Database,
  checkpoint: readonly ChainHead[] | undefined,
  showing: Pick<ProgressOptions, "quiet" | "stopping">,
): Promise<VerifyReport> {
  endStatements(database, showing.stopping);
  return withProgress({ what: "verifying", unit: "rows", ...showing }, (progress) => {
    const watcher = { begins: (rows: number) => progress.expect(rows), read: (rows: number) => progress.add(rows) };
    return verifyAll(database, { watcher, ...(checkpoint && { checkpoint }) });
  });
}

async function checkFits(
  { database, clock }: Foundation,
  file: string,
  { ledgerId, at }: SignedCheckpoint,
  maxAgeMs: number | undefined,
): Promise<void> {
  const own = await readLedgerId(database);
  if (ledgerId !== own) throw new CommandRejected(`${file} belongs to ledger ${ledgerId}, but this database is ${own}`);
  if (maxAgeMs !== undefined && at < clock.now() - maxAgeMs)
    throw new CommandRejected(`${file} is older than --max-age: it is from ${formatInstant(at)}`);
}

function answerOf(
  report: VerifyReport,
  coins: readonly OutstandingSupply[],
  compared: ComparedCheckpoint | undefined,
): CommandResult {
  const isBehind = compared !== undefined && endsBefore(report.heads, compared.checkpoint);
  const checkpoint = compared && { ...checkpointRecord(compared), ...(isBehind && { ledger_ends_before: true }) };
  const against = [comparedWith(compared), ...(isBehind ? [ENDS_BEFORE] : [])];
  return {
    json: {
      ...reportRecord(report),
      coins: coins.map(({ coin, supply, reserve }) => ({ coin, supply, reserve })),
      ...(checkpoint && { checkpoint }),
    },
    prose: [...coinLines(coins), ...reportLines(report, ...against)],
    failed: !report.sound,
  };
}

/** What is in circulation, and what backs it. Whether they are equal is the check `reserve`, and its finding names both. */
function coinLines(coins: readonly OutstandingSupply[]): string[] {
  const issued = coins.filter(({ supply, reserve }) => supply !== "0" || reserve !== "0");
  if (issued.length === 0) return [];
  const rows = issued.map(({ coin, supply, reserve }) => [coin, supply, reserve]);
  return [...table(["coin", "outstanding supply", "reserve (USD)"], rows), ""];
}

/** Whether the ledger lacks the last batches that the checkpoint has. */
function endsBefore(heads: readonly ChainHead[], { heads: expected }: SignedCheckpoint): boolean {
  return expected.some(({ slot, n }) => n > (heads.find((head) => head.slot === slot)?.n ?? -1n));
}

const ENDS_BEFORE =
  "The ledger ends before the checkpoint. If it was restored to an earlier moment, that is what the restore lost: verify it " +
  "with a checkpoint from before that moment, keep this one with a note, and begin a new one (docs/backup.md). If it was " +
  "not, batches were removed.";

export function reportLines(report: VerifyReport, ...against: readonly string[]): string[] {
  const notes = report.notes.map((note) => `Note: ${note}.`);
  return [...formatReport(report.checks), "", ...notes, ...against, verdictOf(report)];
}

function comparedWith(compared: ComparedCheckpoint | undefined): string {
  if (compared === undefined)
    return "Without a checkpoint, a complete rewrite of the chains by the database owner goes undetected.";
  const { at, keyId } = compared.checkpoint;
  const signature = compared.signatureChecked ? `signed by key ${keyId}` : "whose signature was not checked (no --key)";
  return `The chains were compared with the checkpoint of ${formatInstant(at)}, ${signature}.`;
}

function checkpointRecord({ checkpoint: { at, keyId }, signatureChecked }: ComparedCheckpoint) {
  return { at: formatInstant(at), key_id: keyId, signature_checked: signatureChecked };
}

export function reportRecord({ sound, complete, hadCheckpoint, checks, heads, notes }: VerifyReport) {
  return {
    sound,
    complete,
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
