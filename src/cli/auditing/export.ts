/** The journal as text, for an accountant's own program. It is the only command that answers with no document of ours. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import { exportJournals, FORMATS, type Format } from "../../accounting/export.ts";
import { naming } from "../../std/file-error.ts";
import { findMissingHead, readBooksId } from "../../verify/take-checkpoint.ts";
import { CommandRejected, WrongUsage, withFoundation } from "../command.ts";
import { readPublicKey, readSigned } from "./checkpoint-file.ts";

interface ExportOptions {
  readonly format: Format;
  readonly checkpoint?: string;
  readonly key?: string;
}

const EXAMPLES = `
Examples:
  $ parbook export --format hledger > books.journal && hledger -f books.journal check
  $ parbook export --format beancount --checkpoint parbook.checkpoint --key parbook.key.pub > books.beancount

It may run beside the service or on a replica: it holds no long snapshot, so nobody who writes is slowed down by it. What is
written while it runs is left out. The last line is "; The end: ..."; a file without it was broken off.`;

export function addExport(program: Command): void {
  program
    .command("export")
    .description("write every journal and every balance as text for hledger, Ledger or Beancount, to standard output")
    .addOption(
      new Option("--format <program>", "who is to read it").choices(Object.keys(FORMATS)).makeOptionMandatory(),
    )
    .option("--checkpoint <file>", "the books as they were when parbook checkpoint wrote this, instead of as they are")
    .option("--key <file>", "the public key that the checkpoint has to be signed by")
    .addHelpText("after", EXAMPLES)
    .action(writeExport);
}

async function writeExport({ format, checkpoint, key }: ExportOptions): Promise<void> {
  if (key !== undefined && checkpoint === undefined)
    throw new WrongUsage("--key is about a checkpoint: give --checkpoint too");
  const publicKey = key === undefined ? undefined : await readPublicKey(key);
  const signed = checkpoint === undefined ? undefined : await readSigned(checkpoint, publicKey);
  await withFoundation(async ({ database }) => {
    if (signed !== undefined) {
      const own = await readBooksId(database);
      if (signed.booksId !== own)
        throw new CommandRejected(`${checkpoint} is of the books ${signed.booksId}, and these are ${own}`);
      if ((await findMissingHead(database, signed.heads)) !== undefined)
        throw new CommandRejected(
          `the books do not contain ${checkpoint}: parbook verify --checkpoint ${checkpoint} says more`,
        );
    }
    await writeOut(exportJournals(database, format, signed?.heads));
  });
}

/** Nothing is read ahead of a reader who is slower than the database. One that has had enough, as `head` has, ends it. */
async function writeOut(pieces: AsyncIterable<string>): Promise<void> {
  try {
    await naming("standard output", () => pipeline(Readable.from(pieces), process.stdout, { end: false }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
  }
}
