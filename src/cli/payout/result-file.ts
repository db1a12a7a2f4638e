/** Where the result of a payout is written, and what must not be replaced by it. */
import { CsvError } from "csv-parse/sync";
import { replaceableFile } from "../../std/write-atomically.ts";
import { CommandRejected } from "../command.ts";
import { fileExists } from "../file-exists.ts";
import { readInputFile } from "../input-file.ts";
import { isOpenLine, type Payout, type PayoutLine, readPayout } from "./payout-file.ts";

/** That of a result is itself. */
export function resultFileOf(file: string): string {
  return file.endsWith(".result.csv") ? file : `${file.replace(/\.csv$/i, "")}.result.csv`;
}

/**
 * A result replaces that of an earlier run of the same payout. Any other file is somebody's: another payout, or what became
 * of one.
 * @throws UnfitFile
 * @throws CommandRejected if what is there is no result, or has payments that the payout lacks
 */
export async function checkReplaceable(path: string, { lines }: Payout, mostBytes: number): Promise<void> {
  await replaceableFile(path);
  if (!(await fileExists(path))) return;
  const text = (await readInputFile(path, mostBytes)).toString();
  // As `mktemp` makes one.
  if (text === "") return;
  const refIds = new Set(lines.map(refIdOf));
  const there = linesIn(text);
  const isMissing = (line: PayoutLine): boolean => !isOpenLine(line) && !refIds.has(refIdOf(line));
  if (there.some(({ result }) => result !== undefined) && !there.some(isMissing)) return;
  throw new CommandRejected(
    `${path} exists, and is not the result of an earlier run of this payout: nothing was sent. Move it away, or name another place by --result`,
  );
}

function linesIn(text: string): readonly PayoutLine[] {
  try {
    return readPayout(text).lines;
  } catch (error) {
    if (error instanceof CsvError) return [];
    throw error;
  }
}

const refIdOf = ({ item }: PayoutLine): unknown => item.ref_id;
