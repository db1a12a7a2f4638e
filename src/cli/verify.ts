/** Verifying the books, beside a running service or without one. */
import { readFile, rename, writeFile } from "node:fs/promises";
import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import type { Foundation } from "../core.ts";
import { noteVerify } from "../verify/last-verify.ts";
import { formatReport } from "../verify/report.ts";
import { type VerifyReport, verifyAll } from "../verify/verify.ts";
import { type Answer, addCommand, answering, Refused, withFoundation } from "./command.ts";
import { headOf, headRecord } from "./heads.ts";

interface VerifyCommandOptions {
  readonly checkpoint?: string;
}

type Heads = VerifyReport["heads"];

export function addVerify(program: Command): void {
  const verify = addCommand(program, "verify", {
    summary: "compute again what the books say; exit code 1 when something is off",
    examples: ["verify", "verify --json", "verify --checkpoint /media/elsewhere/parbook-heads.json"],
  }).option(
    "--checkpoint <file>",
    "where the chains stood before: compared when the file is there, written when everything is sound",
  );
  answering(verify, (options: VerifyCommandOptions) =>
    withFoundation((foundation, config) => verifyBooks(foundation, config, options)),
  );
}

async function verifyBooks(
  { database, clock }: Foundation,
  { dataDir }: Config,
  { checkpoint }: VerifyCommandOptions,
): Promise<Answer> {
  const before = checkpoint === undefined ? undefined : await readHeads(checkpoint);
  const report = await verifyAll(database, before === undefined ? {} : { checkpoint: before });
  await noteVerify(dataDir, { finishedAt: clock.now(), sound: report.sound });
  if (checkpoint !== undefined && report.sound) await writeHeads(checkpoint, report.heads);
  return { json: reportRecord(report), prose: reportText(report), failed: !report.sound };
}

export function reportText(report: VerifyReport): string {
  const against = report.hadCheckpoint
    ? "The chains were compared with a checkpoint."
    : "There was no checkpoint: whoever owns the database could have made the chains again as a whole.";
  const verdict = report.sound ? "Everything is sound." : "Something is off.";
  return [formatReport(report.checks), "", against, verdict].join("\n");
}

export function reportRecord({ sound, hadCheckpoint, checks, heads }: VerifyReport) {
  return {
    sound,
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

/** Undefined when there is no such file yet: the first run makes it. */
async function readHeads(path: string): Promise<Heads | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { heads } = JSON.parse(text) as { heads: ReturnType<typeof headRecord>[] };
    return heads.map(headOf);
  } catch (error) {
    throw new Refused(`${path} is not a checkpoint that verify has written: ${(error as Error).message}`);
  }
}

/** Whole or not at all: half a checkpoint would be none. */
async function writeHeads(path: string, heads: Heads): Promise<void> {
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify({ heads: heads.map(headRecord) }, undefined, 2)}\n`);
  await rename(draft, path);
}
