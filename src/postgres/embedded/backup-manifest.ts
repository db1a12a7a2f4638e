/**
 * What a backup says of itself, in `manifest.json`: every file with its size and sha256, and what the books were at the
 * end of it. It is written last, so a directory without one is not a backup.
 *
 *     <backup>/manifest.json
 *     <backup>/postgres/         the files of the cluster, with the log from the beginning of the backup to its end
 *     <backup>/demo.json         and what else was beside the cluster and is needed with it
 */
import { readFile } from "node:fs/promises";
import { join, normalize } from "node:path";
import { EmbeddedError } from "./refusal.ts";

export const MANIFEST = "manifest.json";
const FORMAT = "parbook-backup-1";

export interface BackupFile {
  /** Below the backup's directory. */
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** Of the books, as they were at the end of the backup: what is restored has to have them. */
export interface NotedBooks {
  /** The last migration that was applied. */
  readonly migration: string;
  /** Where the chain of each slot stood. */
  readonly heads: readonly { readonly slot: number; readonly n: string; readonly hash: string }[];
}

export interface Manifest {
  readonly format: typeof FORMAT;
  readonly postgres: string;
  readonly started_at: string;
  /** Whatever was committed before is in the backup. */
  readonly complete_to: string;
  /** The log ends here: the database can be made again as of any later moment, or of this one. */
  readonly ended_at: string;
  readonly books: NotedBooks;
  /** Those that are empty get lost on some ways that a backup may take. */
  readonly directories: readonly string[];
  readonly files: readonly BackupFile[];
}

export function manifestText(manifest: Omit<Manifest, "format">): string {
  return `${JSON.stringify({ format: FORMAT, ...manifest }, undefined, 1)}\n`;
}

export async function readManifest(backup: string): Promise<Manifest> {
  const path = join(backup, MANIFEST);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new EmbeddedError(
      `${backup} is not a backup, or one that was not finished: ${MANIFEST} is missing (${code})`,
    );
  }
  const manifest = parse(text);
  if (manifest?.format !== FORMAT) throw new EmbeddedError(`${path} is damaged, or of another version of Parbook`);
  const outside = [...manifest.directories, ...manifest.files.map((file) => file.path)].find(leadsOut);
  if (outside !== undefined) throw new EmbeddedError(`${path} names ${outside}, which is not below the backup`);
  return manifest;
}

function parse(text: string): Manifest | undefined {
  try {
    return JSON.parse(text) as Manifest;
  } catch {
    return undefined;
  }
}

const leadsOut = (path: string): boolean => normalize(path) !== path || path.startsWith("/") || path.startsWith("..");
