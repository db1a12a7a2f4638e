/** Backing the embedded database up, beside a running service or without one. */
import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { readHeads } from "../ledger/batch-log.ts";
import type { Queryable } from "../postgres/database.ts";
import { takeBackup } from "../postgres/embedded/backup.ts";
import type { NotedBooks } from "../postgres/embedded/backup-manifest.ts";
import { lastMigration } from "../postgres/migrations.ts";
import { createLogger } from "../service/logger.ts";
import { provideDatabase } from "../service/provide-database.ts";
import { headRecord } from "./auditing/heads.ts";
import { type Answer, addCommand, answering, CommandRejected, commandConfig } from "./command.ts";
import { printError } from "./terminal.ts";

export function addBackup(program: Command): void {
  const backup = addCommand(program, "backup <directory>", {
    summary: "copy the embedded database, while the service goes on or without one, into a new directory",
    examples: ["backup /mnt/backups/2026-11-21", "backup /mnt/backups/2026-11-21 --json"],
  });
  answering(backup, (directory: string) => backUp(directory));
}

/** Progress is no part of the answer. */
export const tell = (line: string): void => printError([line]);

/** These two commands copy files, which an external database keeps to itself. */
export function refuseExternal({ databaseUrl }: Config, command: "backup" | "restore"): void {
  if (databaseUrl === undefined) return;
  throw new CommandRejected(
    `parbook ${command} is for the embedded database, and PARBOOK_DATABASE_URL names one of your own: use pg_basebackup or pgBackRest, see docs/backup.md`,
  );
}

async function backUp(directory: string): Promise<Answer> {
  const config = commandConfig();
  refuseExternal(config, "backup");
  const log = createLogger(config, 2);
  const provided = await provideDatabase(config, "command", (line) => log.info(line));
  try {
    const { superuser } = provided;
    if (superuser === undefined) throw new CommandRejected("there is no embedded database to back up");
    const backup = await takeBackup({ superuser, dataDir: config.dataDir, target: directory, note: noteBooks, tell });
    const completeTo = backup.completeTo.toISOString();
    const { path, files, bytes } = backup;
    return {
      json: { path, complete_to: completeTo, files, bytes },
      prose: [
        `${path} has everything that was answered before ${completeTo} (${files} files, ${Math.round(bytes / 1e6)} MB).`,
      ],
    };
  } finally {
    await provided.close();
  }
}

async function noteBooks(session: Queryable): Promise<NotedBooks> {
  const migration = await lastMigration(session);
  if (migration === undefined) throw new CommandRejected("the database has no books yet: start the service first");
  return { migration, heads: (await readHeads(session)).map(headRecord) };
}
