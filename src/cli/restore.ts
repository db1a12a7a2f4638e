/** `parbook restore`: restores a backup of the embedded database and verifies the result. */
import type { Command } from "commander";
import { readLastTime } from "../ledger/stored-batches.ts";
import { type RestoreDisplay, type Restored, restoreBackup } from "../postgres/embedded/backup/restore.ts";
import { openFoundation } from "../service/core.ts";
import { createLogger } from "../service/logger.ts";
import { formatInstant } from "../std/clock.ts";
import { isPlainPath } from "../std/paths.ts";
import type { VerifyReport } from "../verify/verify.ts";
import { readPath, readTime } from "./arguments.ts";
import { headOf } from "./auditing/chain-heads.ts";
import { reportLines, reportRecord, verifyShowing } from "./auditing/verify.ts";
import { rejectExternal, reporter, type Showing, showingCopy } from "./backup.ts";
import { addCommand, type CommandResult, commandConfig, setAction, WrongUsage } from "./command.ts";
import { failureOf } from "./failure.ts";
import { interruptible } from "./interruption.ts";
import { withProgress } from "./progress.ts";

interface RestoreCommandOptions {
  readonly into?: string;
  readonly wal?: string;
  readonly until?: Date;
  readonly json?: true;
}

export function addRestore(program: Command): void {
  const restore = addCommand(program, "restore <directory>", {
    summary: "restore a backup into an empty data directory and verify it",
    examples: [
      "restore /mnt/backups/2026-11-21 --into /var/lib/parbook-restored",
      "restore /mnt/backups/2026-11-21 --wal /mnt/wal --until 2026-11-21T14:05:00Z",
    ],
  })
    .option("--into <directory>", "the data directory to create (default: PARBOOK_DATA_DIR)", readPath)
    .option("--wal <directory>", "the WAL archive (PARBOOK_WAL_ARCHIVE) to replay after the backup", readPath)
    .option("--until <time>", "with --wal: stop the replay at this time (RFC 3339)", readTime);
  setAction(restore, (directory: string, options: RestoreCommandOptions) =>
    interruptible("nothing was restored, and the directory is empty as before. Run it again", (stopping) =>
      restoreInto(directory, options, { quiet: options.json, stopping }),
    ),
  );
}

async function restoreInto(
  directory: string,
  { into, wal, until }: RestoreCommandOptions,
  showing: Showing,
): Promise<CommandResult> {
  const config = commandConfig();
  rejectExternal(config, "restore");
  if (until !== undefined && wal === undefined) {
    throw new WrongUsage("--until needs --wal: a backup alone restores to the time it ended");
  }
  if (wal !== undefined && !isPlainPath(wal))
    throw new WrongUsage("--wal: the path may contain only letters, digits and ._-/");
  const dataDir = into ?? config.dataDir;
  const log = createLogger(config, 2);
  const report = reporter(showing);
  const inspect = async (restored: Restored): Promise<Inspection> => {
    report("the database is restored; verifying the ledger");
    const found = { completeTo: restored.manifest.complete_to, replayed: restored.replayed };
    try {
      return { ...found, ...(await verifyRestored(restored)) };
    } catch (error) {
      if (showing.stopping?.aborted) throw error;
      return { ...found, unverified: failureOf(error).lines };
    }
  };
  const verifyRestored = async ({ dataDir, manifest }: Restored): Promise<Verified> => {
    // No archiving: a restored database must not write to the archive of the lost one.
    const foundation = await openFoundation({ ...config, dataDir, walArchive: undefined }, "command", log);
    try {
      const verified = await verifyShowing(foundation.database, manifest.ledger.heads.map(headOf), showing);
      const last = await readLastTime(foundation.database);
      return { report: verified, last: last && formatInstant(last) };
    } finally {
      await foundation.close();
    }
  };
  const found = await restoreBackup(
    {
      ...{ backup: directory, dataDir, walArchive: wal, until, onProgress: report },
      ...{ showing: displayOf(showing), stopping: showing.stopping },
    },
    inspect,
  );
  return answerOf(dataDir, wal, found);
}

const displayOf = (showing: Showing): RestoreDisplay => ({
  copy: (work) => showingCopy(showing, work),
  replay: (work) => withProgress({ what: "replaying the WAL", ...showing }, work),
});

interface Verified {
  readonly report: VerifyReport;
  readonly last: string | undefined;
}

export type Inspection = Pick<Restored, "replayed"> & { readonly completeTo: string } & (
    | Verified
    | { readonly unverified: readonly string[] }
  );

/**
 * A restore succeeds even if the ledger is unsound, could not be verified, or the archive has a gap, because there may be no
 * better backup. The exit code reports it.
 */
export function answerOf(dataDir: string, wal: string | undefined, found: Inspection): CommandResult {
  const { completeTo, replayed } = found;
  const place = {
    ...{ data_dir: dataDir, complete_to: completeTo },
    ...{ last_segment: replayed?.last, archive_lacks: replayed?.gap?.segment },
  };
  const reach = [`Restored into ${dataDir}. ${reachOf(wal, found)}`, ...(wal === undefined ? [] : [OWN_ARCHIVE])];
  if ("unverified" in found) {
    const [reason = "", ...more] = found.unverified;
    return {
      json: { ...place, not_verified: found.unverified.join("\n") },
      prose: [...reach, `Restored, not verified: ${reason}`, ...more, `Run parbook verify on ${dataDir}.`, REVIVED],
      failed: true,
    };
  }
  const { report, last } = found;
  const batches = report.heads.map(({ slot, n }) => `${slot}/${n}`).join(", ");
  return {
    json: { ...place, last_batch_at: last, verify: reportRecord(report) },
    prose: [
      ...reportLines(report, "The chains were compared with the chain heads in the backup."),
      "",
      ...reach,
      `The last batches are ${batches || "none"}; the latest was at ${last ?? "never"}.`,
      REVIVED,
    ],
    failed: !report.sound || replayed?.gap !== undefined,
  };
}

const OWN_ARCHIVE = "Give it a PARBOOK_WAL_ARCHIVE of its own, and take a backup at once: docs/backup.md.";
const REVIVED =
  "Clients disabled and keys revoked since then are valid again, and ref_ids used since then are unused: docs/backup.md.";

function reachOf(wal: string | undefined, { completeTo, replayed }: Inspection): string {
  if (wal === undefined || replayed === undefined)
    return `It contains everything that was confirmed before ${completeTo}, when the backup ended.`;
  const { last, gap } = replayed;
  if (gap !== undefined)
    return `The archive has a gap: ${gap.segment} ${gap.why}, and nothing after it is in this database.`;
  return `It continues from the backup, which ended at ${completeTo}, to the end of the archive or to --until, in segment ${last}.`;
}
