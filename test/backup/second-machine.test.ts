/** The machine with the embedded database is lost, and another one takes over: by the commands of docs/high-availability.md. */
import { access, chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { reachEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { listServerProcesses, stopServer } from "../../src/postgres/embedded/processes.ts";
import { runProgram } from "../../src/postgres/embedded/program.ts";
import { must } from "../../src/std/assert.ts";
import { answerOf, startService } from "../cli/parbook.ts";
import { until } from "../support/until.ts";
import { BusyCustomers } from "./busy-customers.ts";

vi.setConfig({ testTimeout: 300_000 });

const PARBOOK = fileURLToPath(new URL("../../bin/parbook.mjs", import.meta.url));

/** The two pieces of the page: each night, and the takeover. */
async function documented(): Promise<{ nightly: string; takeover: string }> {
  const page = await readFile(new URL("../../docs/high-availability.md", import.meta.url), "utf8");
  const [, section = ""] = page.split("## With the embedded database\n");
  const [own = ""] = section.split("\n## ");
  const pieces = [...own.matchAll(/(?: {4}.*\n)+/g)].map(([piece]) => piece.replaceAll(/^ {4}/gm, ""));
  const [nightly, takeover] = pieces;
  expect(pieces).toHaveLength(2);
  return { nightly: must(nightly, "first"), takeover: must(takeover, "second") };
}

/** Runs a piece of the page in a shell, with the directories of this test. */
async function operate(place: string, script: string, settings: Readonly<Record<string, string>> = {}): Promise<void> {
  const exported = Object.entries(settings).map(([name, value]) => `export ${name}='${value}'\n`);
  const surroundings = `${exported.join("")}parbook() { '${process.execPath}' '${PARBOOK}' "$@"; }\n`;
  const own = script.replaceAll(/\/(?=mnt\/|var\/)/g, `${place}/`);
  const here = { directory: place, user: undefined };
  const { succeeded, output } = await runProgram("/bin/sh", ["-ec", surroundings + own], here);
  if (!succeeded) throw new Error(`${own} failed: ${output}`);
}

/** Ends the segment of the log that is being written, and waits until the archive has it. */
async function archiveSegment(dataDir: string, archive: string): Promise<void> {
  const reached = must(await reachEmbedded(dataDir), "the database answers");
  const client = new Client(reached.connection("postgres", "postgres"));
  try {
    await client.connect();
    const { rows } = await client.query("select pg_walfile_name(pg_switch_wal()) as name");
    const isArchived = (): Promise<boolean> =>
      access(join(archive, rows[0].name)).then(
        () => true,
        () => false,
      );
    await until(`${rows[0].name} is in the archive`, isArchived, 60);
  } finally {
    await client.end();
    reached.close();
  }
}

test("by the commands of the documentation a second machine takes over, with all that was archived", async () => {
  const place = await mkdtemp(join(tmpdir(), "parbook-second-"));
  // As root the database runs as somebody else, who has to get to the archive.
  await chmod(place, 0o755);
  for (const name of ["mnt", "mnt/backups", "var", "var/lib"]) await mkdir(join(place, name));
  const page = await documented();
  const customers = new BusyCustomers();
  await writeFile(join(place, "customers.json"), customers.bootstrap);
  const bootstrap = { PARBOOK_BOOTSTRAP: join(place, "customers.json") };
  const [first, second] = [join(place, "var/lib/parbook"), join(place, "var/lib/parbook-2")];
  const archive = join(place, "mnt/wal");
  onTestFinished(async () => {
    for (const directory of [first, second]) await stopServer(join(directory, "postgres"));
    await rm(place, { recursive: true, force: true, maxRetries: 10 });
  });
  const settings = { ...bootstrap, PARBOOK_DATA_DIR: first, PARBOOK_WAL_ARCHIVE: archive };
  const service = await startService(settings);
  onTestFinished(async () => void (await service.end("SIGKILL")));
  await answerOf(settings, "checkpoint", "--new-key", join(place, "var/lib/parbook.key"));
  await customers.meet(service.ready);
  customers.begin();
  await customers.untilMore(20);
  await operate(place, page.nightly, settings);

  await customers.untilMore(20);
  const before = new Date();
  await archiveSegment(first, archive);
  const after = new Date();
  await customers.untilMore(20);
  // Neither the service nor its database ends in order: the rest is not archived any more.
  for (const pid of await listServerProcesses(join(first, "postgres"))) process.kill(pid, "SIGKILL");
  await service.end("SIGKILL");
  await customers.end();

  // It fails if the ledger is not sound, or is not that of the checkpoint.
  await operate(place, page.takeover);
  const successor = await startService({ ...bootstrap, PARBOOK_DATA_DIR: second });
  onTestFinished(async () => void (await successor.end("SIGKILL")));
  await customers.meet(successor.ready);
  const { kept, gone } = await customers.expectKept(before, after);
  expect(kept).toBeGreaterThanOrEqual(40);
  expect(gone).toBeGreaterThan(10);
});
