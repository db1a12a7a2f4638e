/** `parbook export`: the journal as text for plain-text accounting programs. The only command without --json. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import { exportJournals, FORMATS, type Format } from "../accounting/export.ts";
import { withPath } from "../std/file-error.ts";
import { findMissingHead, readLedgerId } from "../verify/take-checkpoint.ts";
import { readPublicKey, readSigned } from "./auditing/checkpoint-and-key-files.ts";
import { CommandRejected, WrongUsage, withFoundation } from "./command.ts";
import { endStatements, interruptible } from "./interruption.ts";
import { withProgress } from "./progress.ts";
import { shellWord } from "./shell-word.ts";

interface ExportOptions {
  readonly format: Format;
  readonly checkpoint?: string;
  readonly key?: string;
}

const EXAMPLES = `
Examples:
  $ parbook export --format hledger > books.journal && hledger -f books.journal check
  $ parbook export --format beancount --checkpoint parbook.checkpoint --key parbook.key.pub > books.beancount

It can run against the live database or a replica: it holds no long snapshot and slows down no writes. Records written while
it runs are left out. The last line is "; The end: ..."; a file without it is incomplete.`;

export function addExport(program: Command): void {
  program
    .command("export")
    .description("write every journal and every balance as text for hledger, Ledger or Beancount, to standard output")
    .addOption(
      new Option("--format <program>", "the target program").choices(Object.keys(FORMATS)).makeOptionMandatory(),
    )
    .option("--checkpoint <file>", "export the ledger as of this checkpoint instead of now")
    .option("--key <file>", "the public key to check the signature of the checkpoint with")
    .addHelpText("after", EXAMPLES)
    .action(writeExport);
}

async function writeExport({ format, checkpoint, key }: ExportOptions): Promise<void> {
  if (key !== undefined && checkpoint === undefined) throw new WrongUsage("--key needs --checkpoint");
  const publicKey = key === undefined ? undefined : await readPublicKey(key);
  const signed = checkpoint === undefined ? undefined : await readSigned(checkpoint, publicKey);
  const then = "what it has written lacks the end. Run it again: it begins anew";
  const exporting = (stopping: AbortSignal) =>
    withFoundation(async ({ database }) => {
      endStatements(database, stopping);
      if (checkpoint !== undefined && signed !== undefined) {
        const own = await readLedgerId(database);
        if (signed.ledgerId !== own)
          throw new CommandRejected(`${checkpoint} belongs to ledger ${signed.ledgerId}, but this database is ${own}`);
        if ((await findMissingHead(database, signed.heads)) !== undefined)
          throw new CommandRejected(
            `the ledger does not contain ${checkpoint}. For details: parbook verify --checkpoint ${shellWord(checkpoint)}`,
          );
      }
      // On a terminal the bar would stand between the lines of the export.
      const about = { what: "exporting", unit: "batches", quiet: process.stdout.isTTY, stopping };
      await withProgress(about, (progress) => {
        const watching = { onBegin: (batches: number) => progress.expect(batches), onBatch: () => progress.add(1) };
        return writeOut(exportJournals(database, format, { heads: signed?.heads, ...watching }));
      });
    });
  await interruptible(then, exporting);
}

/** Respects backpressure. A closed pipe, as with `head`, ends the export without an error. */
async function writeOut(pieces: AsyncIterable<string>): Promise<void> {
  try {
    await withPath("standard output", () => pipeline(Readable.from(pieces), process.stdout, { end: false }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
  }
}
