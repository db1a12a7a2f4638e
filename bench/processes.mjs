/**
 * What a transfer costs when several processes of the service share one database: CPU of the processes together, and of
 * PostgreSQL. Wherever load, processes and database share the cores, only CPU says something.
 *
 *   node bench/processes.mjs [--most 2] [--transfers 6000] [--rounds 5]
 *
 * Every process gets 64 connections. In rows of `the same profiles` transfers go between any two of a thousand; in rows of
 * `profiles of its own` each process has a share of them, as if a proxy sent each customer to one process. Rows take turns,
 * every other round backwards. The first round warms up and is not counted.
 */
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { prepare } from "../scripts/prepare.mjs";
import { transferBodies } from "./bodies.mjs";
import { closedLoop, requestTo } from "./load.mjs";
import { printTable } from "./report/table.mjs";
import { median } from "./rounds.mjs";
import { databaseCpu, makeProfiles, startService } from "./service.mjs";

const CONNECTIONS = 64;
const PROFILES = 1_000;
const MOST_SECONDS = 120;
const PATH = "/v2/transfer/platform";

const { values } = parseArgs({
  options: {
    most: { type: "string", default: "2" },
    transfers: { type: "string", default: "6000" },
    rounds: { type: "string", default: "5" },
  },
});
const [most, transfers, rounds] = [values.most, values.transfers, values.rounds].map(Number);

await prepare({ tools: true });
const { reachEmbedded } = await import("../dist/postgres/embedded/embedded.js");
const directory = await mkdtemp(join(tmpdir(), "parbook-processes-"));
const services = [];
try {
  const first = await open("1");
  // A token of the first is one of all.
  const shared = { ...(await databaseOf(first)), PARBOOK_BASE_URL: first.baseUrl, PARBOOK_AUTH_URL: first.authUrl };
  for (let number = 2; number <= most; number += 1) await open(String(number), shared);
  const profiles = await makeProfiles(first.customers[0], PROFILES, { USD: "100000" });
  const rows = [{ name: "1 process", parts: [profiles], costs: [] }];
  for (let count = 2; count <= most; count += 1) {
    const own = Array.from({ length: count }, (_, place) => profiles.filter((_, number) => number % count === place));
    rows.push({ name: `${count} processes, profiles of its own`, parts: own, costs: [] });
    rows.push({ name: `${count} processes, the same profiles`, parts: own.map(() => profiles), costs: [] });
  }
  for (let round = 0; round <= rounds; round += 1)
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      const cost = await costOf(row.parts);
      if (round > 0) row.costs.push(cost);
    }
  report(rows);
} finally {
  for (const service of services.toReversed()) await service.stop();
  await rm(directory, { recursive: true, force: true });
}

async function open(name, settings) {
  const own = join(directory, name);
  await mkdir(own);
  // Whose customers the load is of.
  if (services.length > 0) await copyFile(join(services[0].directory, "demo.json"), join(own, "demo.json"));
  const service = await startService(own, settings);
  services.push(service);
  return service;
}

/** The settings by which another process reaches the database of the first. */
async function databaseOf(service) {
  const reached = await reachEmbedded(service.directory);
  const url = (user) => {
    const { host, port, database } = reached.connection("parbook", user);
    return `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  };
  return { PARBOOK_DATABASE_URL: url("parbook"), PARBOOK_MIGRATE_URL: url("postgres") };
}

/** Of transfers through one process for each part of the profiles. In microseconds and bytes for each transfer. */
async function costOf(parts) {
  const { headers } = services[0].customers[0];
  const before = await used();
  const runs = parts.map((profiles, place) => {
    const { ownUrl } = services[place];
    const body = transferBodies(profiles);
    const request = requestTo(ownUrl, "POST", PATH, headers);
    const requests = Math.ceil(transfers / parts.length);
    const next = () => request(body());
    return closedLoop(ownUrl, { connections: CONNECTIONS, seconds: MOST_SECONDS, requests, next });
  });
  const answered = (await Promise.all(runs)).reduce((sum, run) => sum + run.answered, 0);
  const after = await used();
  return Object.fromEntries(Object.keys(after).map((part) => [part, (after[part] - before[part]) / answered]));
}

async function used() {
  const each = await Promise.all(services.map((service) => service.ask("used")));
  const service = each.reduce((sum, { serviceCpu }) => sum + serviceCpu, 0);
  return { service, database: databaseCpu(services[0].directory) ?? 0, wal: each[0].wal };
}

function report(rows) {
  const of = ({ costs }, part) => median(costs.map((cost) => cost[part]));
  printTable(
    ["of a transfer", "services, us", "PostgreSQL, us", "WAL, bytes"],
    rows.map((row) => [
      row.name,
      of(row, "service").toFixed(1),
      of(row, "database").toFixed(1),
      of(row, "wal").toFixed(0),
    ]),
  );
}
