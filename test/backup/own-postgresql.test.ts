/**
 * A PostgreSQL of the operator's own, backed up and brought back to a moment: by the commands of docs/backup.md as they
 * stand there, but for the directories and the moment. The cluster is one of Debian's programs.
 */
import { access, appendFile, chmod, chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { chooseServerUser } from "../../src/postgres/embedded/cluster.ts";
import { runProgram } from "../../src/postgres/embedded/program.ts";
import { must } from "../../src/std/assert.ts";
import { answerOf, startService } from "../cli/parbook.ts";
import { freePort } from "../support/free-port.ts";
import { required } from "../support/required.ts";
import { until } from "../support/until.ts";
import { BusyCustomers } from "./busy-customers.ts";

vi.setConfig({ testTimeout: 300_000 });

/** The three pieces of the page: settings, the backup, the restore. */
async function documented(): Promise<{ settings: string; backup: string; restore: string }> {
  const page = await readFile(new URL("../../docs/backup.md", import.meta.url), "utf8");
  const [, section = ""] = page.split("## Your own PostgreSQL\n");
  const [before = ""] = section.split("**A standby**");
  const pieces = [...before.matchAll(/(?: {4}.*\n)+/g)].map(([piece]) => piece.replaceAll(/^ {4}/gm, ""));
  const [settings, backup, restore] = pieces;
  expect(pieces).toHaveLength(3);
  return { settings: must(settings, "first"), backup: must(backup, "second"), restore: must(restore, "third") };
}

/** A directory for everything, and a shell in it for the user that runs PostgreSQL. */
async function makeSite() {
  const place = await mkdtemp(join(tmpdir(), "parbook-own-"));
  await chmod(place, 0o755);
  const user = await chooseServerUser(place, false);
  if (user !== undefined) await chown(place, user.uid, user.gid);
  const run = async (script: string): Promise<string> => {
    const surroundings = `export PATH=/usr/bin:/bin PG_CLUSTER_CONF_ROOT=${place}/etc/postgresql\n`;
    const { succeeded, output } = await runProgram("/bin/sh", ["-ec", surroundings + script], {
      directory: place,
      user,
    });
    if (!succeeded) throw new Error(`${script} failed: ${output}`);
    return output.trim();
  };
  onTestFinished(async () => {
    await run("pg_ctlcluster 15 main stop --mode immediate").catch(() => undefined);
    await rm(place, { recursive: true, force: true, maxRetries: 10 });
  });
  return { place, run };
}

test("by the commands of the documentation a PostgreSQL is brought back to a moment, with all of it", async (context) => {
  const isThere = await access("/usr/bin/pg_createcluster").then(
    () => true,
    () => false,
  );
  required(context, isThere ? undefined : "there is no pg_createcluster: apt-get install postgresql-15");
  const { place, run } = await makeSite();
  const page = await documented();
  const here = (text: string): string => text.replaceAll(/\/(?=srv\/|etc\/|var\/)/g, `${place}/`);

  const port = await freePort();
  const configuration = join(place, "etc/postgresql/15/main");
  await run(`mkdir -p srv/wal srv/backups etc/postgresql var/lib/postgresql/15
    pg_createcluster 15 main -e UTF8 --locale C.UTF-8 --port ${port} --socketdir ${place} --logfile ${place}/main.log \
      --datadir ${place}/var/lib/postgresql/15/main -- --no-sync
    printf 'local all all trust\\nlocal replication all trust\\n' > ${configuration}/pg_hba.conf`);
  // The server is killed, and not the machine.
  await appendFile(join(configuration, "postgresql.conf"), "listen_addresses = ''\nfsync = off\n");
  await writeFile(join(configuration, "conf.d/parbook.conf"), here(page.settings));
  await run("pg_ctlcluster 15 main start");
  await run("psql postgres -c 'create role parbook_owner login' -c 'create role parbook login'");
  await run("psql postgres -c 'create database parbook owner parbook_owner'");

  const customers = new BusyCustomers();
  await writeFile(join(place, "customers.json"), customers.bootstrap);
  const settings = {
    PARBOOK_DATA_DIR: join(place, "data"),
    PARBOOK_DATABASE_URL: `postgresql://parbook@localhost:${port}/parbook?host=${place}`,
    PARBOOK_MIGRATE_URL: `postgresql://parbook_owner@localhost:${port}/parbook?host=${place}`,
    PARBOOK_BOOTSTRAP: join(place, "customers.json"),
  };
  const [key, checkpoint] = [join(place, "key"), join(place, "checkpoint")];
  const service = await startService(settings);
  onTestFinished(async () => void (await service.end("SIGKILL")));
  await customers.meet(service.ready);
  customers.begin();
  await customers.untilMore(20);
  await answerOf(settings, "checkpoint", "--new-key", key);
  await answerOf(settings, "checkpoint", "--key", key, "--file", checkpoint);
  await run(here(page.backup));
  await customers.untilMore(20);
  const moment = new Date();
  await customers.untilMore(20);
  await customers.end();
  await service.end("SIGKILL");
  const last = await run("psql postgres -Atc 'select pg_walfile_name(pg_switch_wal())'");
  const isArchived = async () =>
    (await run("psql postgres -Atc 'select last_archived_wal from pg_stat_archiver'")).slice(8) >= last.slice(8);
  await until("the last segment is in the archive", isArchived, 60);
  const at = moment.toISOString().replace("T", " ").replace("Z", "+00");
  await run(here(page.restore.replace("2026-11-21 14:05:00+00", at)));
  expect(await answerOf(settings, "verify", "--checkpoint", checkpoint, "--key", `${key}.pub`)).toMatchObject({
    sound: true,
    had_checkpoint: true,
    checkpoint: { signature_checked: true },
  });
  const restored = await startService(settings);
  onTestFinished(async () => void (await restored.end("SIGKILL")));
  await customers.meet(restored.ready);
  const { kept, gone } = await customers.expectKept(moment, moment);
  expect(kept).toBeGreaterThan(20);
  expect(gone).toBeGreaterThan(10);
});
