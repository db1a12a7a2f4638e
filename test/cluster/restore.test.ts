/** A cluster is brought back to a moment by the commands of docs/high-availability.md: `npm run storm -- --cluster --restore`. */
import { chmod, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { must } from "../../src/std/assert.ts";
import { BusyCustomers } from "../backup/busy-customers.ts";
import { required } from "../support/required.ts";
import { until } from "../support/until.ts";
import { Cluster, DATABASES, NODES, PATRONI_AND_POSTGRES } from "./cluster.ts";
import type { DatabaseName } from "./members.ts";
import { whyNoCluster } from "./programs.ts";

const { STORM_RESTORE } = process.env;
const PATIENCE_S = 120;

/** The three pieces of the page: settings, the backup, the restore. */
async function documented(): Promise<{ settings: string; backup: string; restore: string }> {
  const page = await readFile(new URL("../../docs/high-availability.md", import.meta.url), "utf8");
  const [, section = ""] = page.split("## Back to any moment\n");
  const [own = ""] = section.split("\n## ");
  const pieces = [...own.matchAll(/(?: {4}.*\n)+/g)].map(([piece]) => piece.replaceAll(/^ {4}/gm, ""));
  const [settings, backup, restore] = pieces;
  expect(pieces).toHaveLength(3);
  return { settings: must(settings, "first"), backup: must(backup, "second"), restore: must(restore, "third") };
}

test.runIf(STORM_RESTORE !== undefined)(
  "by the commands of the documentation a cluster is brought back to a moment, with all of it",
  async (context) => {
    required(context, whyNoCluster());
    const page = await documented();
    const customers = new BusyCustomers();
    const cluster = await Cluster.open(JSON.parse(customers.bootstrap));
    onTestFinished(() => cluster.close());
    try {
      await restore(cluster, customers, page);
    } catch (error) {
      process.stdout.write(await cluster.lastWords());
      throw error;
    }
  },
  900_000,
);

async function restore(
  cluster: Cluster,
  customers: BusyCustomers,
  page: Awaited<ReturnType<typeof documented>>,
): Promise<void> {
  const addresses = { base_url: cluster.baseUrl, auth_url: cluster.authUrl };
  for (const name of ["srv", "srv/wal", "srv/wal-2", "srv/backups"]) {
    await mkdir(join(cluster.place, name));
    await chmod(join(cluster.place, name), 0o777);
  }
  await operate(cluster, "db1", page.settings);
  await cluster.untilWhole();
  for (const node of NODES) await cluster.untilReady(node);
  await untilBalanced(cluster);

  await customers.meet(addresses);
  const { file, key } = cluster.checkpoint;
  customers.begin();
  await customers.untilMore(20);
  expect(await cluster.run("checkpoint", "--key", key, "--file", file)).toMatchObject({ exitCode: 0 });
  await operate(cluster, "db1", page.backup);
  await customers.untilMore(20);
  const moment = new Date();
  await customers.untilMore(20);
  await customers.end();
  await cluster.stop();
  const [last] = await cluster.database.rows<{ segment: string }>("select pg_walfile_name(pg_switch_wal()) as segment");
  const isArchived = async (): Promise<boolean> => {
    const [row] = await cluster.database.rows<{ done: string }>(
      "select last_archived_wal as done from pg_stat_archiver",
    );
    return (row?.done ?? "").slice(8) >= must(last, "it was switched").segment.slice(8);
  };
  await until("the last segment is in the archive", isArchived, PATIENCE_S);
  for (const name of DATABASES) await stopPatroni(cluster, name);

  const at = moment.toISOString().replace("T", " ").replace("Z", "+00");
  await operate(cluster, "db1", page.restore.replace("2026-11-21 14:05:00+00", at));
  cluster.startPatroni("db1");
  await until("db1 is the primary", async () => (await cluster.memberWithRole("leader")) === "db1", PATIENCE_S);
  const configuration = `http://${cluster.machine("db1").address}:8008/config`;
  await until("the cluster has its configuration again", async () => (await fetch(configuration)).ok, PATIENCE_S);
  await operate(cluster, "db1", settingsAfterwards(page.settings));
  for (const name of ["db2", "db3"] as const) {
    await operate(cluster, name, "rm -rf /var/lib/postgresql/15/parbook");
    cluster.startPatroni(name);
  }
  await cluster.untilWhole();
  expect(await settingsOf(cluster)).toEqual({
    archive_mode: "on",
    recovery_target_time: "",
    restore_command: "",
    synchronous_standby_names: expect.stringMatching(/^"?db[23]"?$/),
  });

  expect(await cluster.run("verify", "--checkpoint", file, "--key", `${key}.pub`)).toMatchObject({ exitCode: 0 });
  for (const node of NODES) cluster.startNode(node);
  for (const node of NODES) await cluster.untilReady(node);
  await untilBalanced(cluster);
  await customers.meet(addresses);
  const { kept, gone } = await customers.expectKept(moment, moment);
  expect(kept).toBeGreaterThan(20);
  expect(gone).toBeGreaterThan(10);
}

/** Runs a piece of the page as PostgreSQL's user, with the directories and addresses of this cluster. */
async function operate(cluster: Cluster, name: DatabaseName, script: string): Promise<void> {
  const directory = join(cluster.place, name);
  const machine = cluster.machine(name);
  const own = script
    .replaceAll("/etc/patroni/config.yml", join(directory, "patroni.yml"))
    .replaceAll("/var/lib/postgresql/15/parbook", join(directory, "disk", "postgresql"))
    .replaceAll("/var/run/postgresql", directory)
    .replaceAll("/srv", join(cluster.place, "srv"))
    .replaceAll("10.0.0.1", machine.address);
  await machine.run("postgres", "/bin/sh", "-ec", own);
}

/** The load balancer asks the nodes, too, and a second later. */
async function untilBalanced({ baseUrl, authUrl }: Cluster): Promise<void> {
  for (const url of [baseUrl, authUrl])
    await until(`${url} has a node`, async () => (await fetch(`${url}/readyz`)).ok, PATIENCE_S);
}

/** In order: PostgreSQL ends, too. */
async function stopPatroni(cluster: Cluster, name: DatabaseName): Promise<void> {
  cluster.machine(name).signal("SIGTERM", /patroni/);
  const isGone = (): boolean => cluster.machine(name).processes(PATRONI_AND_POSTGRES).length === 0;
  await until(`Patroni and PostgreSQL of ${name} have ended`, isGone, PATIENCE_S);
}

/** Another archive directory, and no restart. */
const settingsAfterwards = (settings: string): string =>
  settings
    .replaceAll("/srv/wal", "/srv/wal-2")
    .split("\n")
    .filter((line) => !line.includes(" restart ") && !line.startsWith("sleep"))
    .join("\n");

async function settingsOf(cluster: Cluster): Promise<Record<string, string>> {
  const names = ["archive_mode", "recovery_target_time", "restore_command", "synchronous_standby_names"];
  const rows = await cluster.database.rows<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name = any($1)",
    [names],
  );
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}
