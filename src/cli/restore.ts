/** Restoring a backup of the embedded database, and proving that what came out of it is sound. */
import type { Command } from "commander";
import { readLastTime } from "../ledger/batch-log.ts";
import { type Restored, restoreBackup } from "../postgres/embedded/restore.ts";
import { openFoundation } from "../service/core.ts";
import { createLogger } from "../service/logger.ts";
import { formatInstant } from "../std/clock.ts";
import { isPlainPath } from "../std/plain-path.ts";
import { type VerifyReport, verifyAll } from "../verify/verify.ts";
import { readPath, readTime } from "./arguments.ts";
import { headOf } from "./auditing/heads.ts";
import { reportLines, reportRecord } from "./auditing/verify.ts";
import { refuseExternal, tell } from "./backup.ts";
import { type Answer, addCommand, answering, commandConfig, WrongUsage } from "./command.ts";

interface RestoreCommandOptions {
  readonly into?: string;
  readonly wal?: string;
  readonly until?: Date;
}

export function addRestore(program: Command): void {
  const restore = addCommand(program, "restore <directory>", {
    summary: "make a backup into a database again, in an empty data directory, and verify it",
    examples: [
      "restore /mnt/backups/2026-11-21 --into /var/lib/parbook-restored",
      "restore /mnt/backups/2026-11-21 --wal /mnt/wal --until 2026-11-21T14:05:00Z",
    ],
  })
    .option("--into <directory>", "the data directory to make; PARBOOK_DATA_DIR unless given", readPath)
    .option(
      "--wal <directory>",
      "what PARBOOK_WAL_ARCHIVE was: goes on from the backup as far as that has it",
      readPath,
    )
    .option("--until <time>", "with --wal: no further than to this moment (RFC 3339)", readTime);
  answering(restore, restoreInto);
}

async function restoreInto(directory: string, { into, wal, until }: RestoreCommandOptions): Promise<Answer> {
  const config = commandConfig();
  refuseExternal(config, "restore");
  if (until !== undefined && wal === undefined) {
    throw new WrongUsage("--until needs --wal: the backup alone has no more than the moment of its end");
  }
  if (wal !== undefined && !isPlainPath(wal)) throw new WrongUsage("--wal: only letters, digits and ._-/ in the path");
  const dataDir = into ?? config.dataDir;
  const log = createLogger(config, 2);
  const inspect = async (restored: Restored) => {
    tell("the database is there; the books are verified");
    // Nothing is archived from here: of two that go on from one backup, only one can be the archive's.
    const there = { ...config, dataDir: restored.dataDir, walArchive: undefined };
    const foundation = await openFoundation(there, "command", log);
    try {
      const checkpoint = restored.manifest.books.heads.map(headOf);
      const report = await verifyAll(foundation.database, { checkpoint });
      const last = await readLastTime(foundation.database);
      const { manifest, archiveLacks } = restored;
      return { report, last: last && formatInstant(last), completeTo: manifest.complete_to, archiveLacks };
    } finally {
      await foundation.close();
    }
  };
  const found = await restoreBackup({ backup: directory, dataDir, walArchive: wal, until, tell }, inspect);
  return answerOf(dataDir, wal, found);
}

interface Found {
  readonly report: VerifyReport;
  readonly last: string | undefined;
  readonly completeTo: string;
  readonly archiveLacks: string | undefined;
}

/**
 * Books that were off when they were backed up are restored as they were, and so are those that an archive with a hole
 * does not bring to its end: there may be nothing better.
 */
function answerOf(dataDir: string, wal: string | undefined, found: Found): Answer {
  const { report, last, completeTo, archiveLacks } = found;
  const batches = report.heads.map(({ slot, n }) => `${slot}/${n}`).join(", ");
  return {
    json: {
      data_dir: dataDir,
      complete_to: completeTo,
      last_batch_at: last,
      archive_lacks: archiveLacks,
      verify: reportRecord(report),
    },
    prose: [
      ...reportLines(report, "The chains were compared with the heads that the backup noted."),
      "",
      `Restored into ${dataDir}. ${reachOf(wal, found)}`,
      `The last batches are ${batches || "none"}, the latest of ${last ?? "never"}.`,
      "Clients disabled and keys revoked since then are good again, and ref_ids used since then are free: docs/backup.md.",
    ],
    failed: !report.sound || archiveLacks !== undefined,
  };
}

function reachOf(wal: string | undefined, { completeTo, archiveLacks }: Found): string {
  if (wal === undefined) return `It has everything that was answered before ${completeTo}, when the backup ended.`;
  if (archiveLacks !== undefined)
    return `The archive goes on behind ${archiveLacks}, which is missing in it or damaged: nothing from there on is in this database.`;
  return `It goes on from the backup, which ended at ${completeTo}, as far as the archive has it or was asked for.`;
}
