/**
 * `manifest.json` of a backup: every file with its size and SHA-256, and the state of the ledger at its end. It is written
 * last, so a directory without one is not a complete backup.
 *
 *     <backup>/manifest.json
 *     <backup>/postgres/         the files of the cluster, with the WAL written during the backup
 *     <backup>/demo.json         if there is one
 */
import { readFile } from "node:fs/promises";
import { join, normalize } from "node:path";
import { EmbeddedError } from "../embedded-error.ts";

export const MANIFEST = "manifest.json";
const FORMAT = "parbook-backup-1";

export interface BackupFile {
  /** Relative to the backup. */
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** The state of the ledger at the end of the backup, which a restored database must contain. */
export interface BackupState {
  /** The last applied migration. */
  readonly migration: string;
  /** The chain head of each slot. */
  readonly heads: readonly { readonly slot: number; readonly n: string; readonly hash: string }[];
}

export interface Manifest {
  readonly format: typeof FORMAT;
  readonly postgres: string;
  readonly started_at: string;
  /** Everything committed before this time is in the backup. */
  readonly complete_to: string;
  /** The end of its WAL, within a millisecond: the database can be restored to any later time. */
  readonly ended_at: string;
  readonly ledger: BackupState;
  /** Listed because some copying tools drop empty directories. */
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
    throw new EmbeddedError(`${backup} is not a complete backup: ${MANIFEST} is missing (${code})`);
  }
  const manifest = parse(text);
  if (manifest?.format !== FORMAT) throw new EmbeddedError(`${path} is damaged or from another version of Parbook`);
  const outside = [...manifest.directories, ...manifest.files.map((file) => file.path)].find(isOutside);
  if (outside !== undefined) throw new EmbeddedError(`${path} names ${outside}, which is outside the backup`);
  return manifest;
}

function parse(text: string): Manifest | undefined {
  try {
    return JSON.parse(text) as Manifest;
  } catch {
    return undefined;
  }
}

const isOutside = (path: string): boolean => normalize(path) !== path || path.startsWith("/") || path.startsWith("..");
