/** `parbook backup`: copies the embedded database, with the service running or stopped. */
import type { Command } from "commander";
import { readHeads } from "../ledger/stored-batches.ts";
import type { Queryable } from "../postgres/database.ts";
import { takeBackup } from "../postgres/embedded/backup/backup.ts";
import type { BackupState } from "../postgres/embedded/backup/backup-manifest.ts";
import type { CopyListener } from "../postgres/embedded/copy-file.ts";
import { lastMigration } from "../postgres/migrations.ts";
import type { Config } from "../service/config/config.ts";
import { createLogger } from "../service/logger.ts";
import { provideDatabase } from "../service/provide-database.ts";
import { headRecord } from "./auditing/chain-heads.ts";
import { addCommand, CommandRejected, type CommandResult, commandConfig, setAction } from "./command.ts";
import { interruptible } from "./interruption.ts";
import { type ProgressOptions, withProgress } from "./progress.ts";
import { printError } from "./terminal.ts";

export function addBackup(program: Command): void {
  const backup = addCommand(program, "backup <directory>", {
    summary: "copy the embedded database into a new directory; the service may be running",
    examples: ["backup /mnt/backups/2026-11-21", "backup /mnt/backups/2026-11-21 --json"],
  });
  setAction(backup, (directory: string, { json }: JsonOption) =>
    interruptible("no backup was written. Run it again", (stopping) => backUp(directory, { quiet: json, stopping })),
  );
}

export interface JsonOption {
  readonly json?: true;
}

export type Showing = Pick<ProgressOptions, "quiet" | "stopping">;

/** On standard error: the result alone goes to standard output. */
export const reporter =
  ({ quiet }: Showing) =>
  (line: string): void => {
    if (quiet !== true) printError([line]);
  };

/** Shows how far a copy is, until `work` ends. */
export function showingCopy<Value>(showing: Showing, work: (copying: CopyListener) => Promise<Value>): Promise<Value> {
  const inMegabytes = (bytes: number): number => bytes / 1e6;
  return withProgress({ what: "copying", unit: "MB", ...showing }, (progress) =>
    work({
      begins: (bytes) => progress.expect(inMegabytes(bytes)),
      copied: (bytes) => progress.add(inMegabytes(bytes)),
    }),
  );
}

/** Backup and restore copy files, which an external database does not expose. */
export function rejectExternal({ databaseUrl }: Config, command: "backup" | "restore"): void {
  if (databaseUrl === undefined) return;
  throw new CommandRejected(
    `parbook ${command} works on the embedded database only, and PARBOOK_DATABASE_URL is set: use pg_basebackup or pgBackRest, see docs/backup.md`,
  );
}

async function backUp(directory: string, showing: Showing): Promise<CommandResult> {
  const config = commandConfig();
  rejectExternal(config, "backup");
  const log = createLogger(config, 2);
  const provided = await provideDatabase(config, "command", (line) => log.info(line));
  try {
    const { superuser } = provided;
    if (superuser === undefined) throw new CommandRejected("there is no embedded database to back up");
    const backup = await showingCopy(showing, (copying) =>
      takeBackup({
        superuser,
        dataDir: config.dataDir,
        target: directory,
        readState,
        onProgress: reporter(showing),
        copying,
      }),
    );
    const completeTo = backup.completeTo.toISOString();
    const { path, files, bytes } = backup;
    return {
      json: { path, complete_to: completeTo, files, bytes },
      prose: [
        `${path} contains everything that was confirmed before ${completeTo} (${files} files, ${Math.round(bytes / 1e6)} MB).`,
      ],
    };
  } finally {
    await provided.close();
  }
}

async function readState(session: Queryable): Promise<BackupState> {
  const migration = await lastMigration(session);
  if (migration === undefined) throw new CommandRejected("the database is empty: start the service first");
  return { migration, heads: (await readHeads(session)).map(headRecord) };
}
