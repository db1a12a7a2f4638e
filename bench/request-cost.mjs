/**
 * CPU that a request costs, of the service and of PostgreSQL, beside an empty POST. For a machine that others use too: rows
 * send a number of requests instead of for a time, and only CPU is measured. Two checkouts can be compared side by side.
 *
 *   node bench/request-cost.mjs [CHECKOUT ...] [--only empty-64,transfers-64] [--rounds 5] [--profile DIRECTORY]
 *
 * Without a CHECKOUT it measures this one. Each has a service with its own embedded PostgreSQL; rows take turns, every other
 * round backwards. The first round warms up and is not counted. A transfer of a bulk counts as one operation.
 * With --profile another round of each row leaves ROW-CHECKOUT.cpuprofile, for Chrome's or VS Code's viewer.
 */
import { realpathSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { Parties } from "./parties.mjs";
import { printTable } from "./report/table.mjs";
import { median } from "./rounds.mjs";
import { orders, reads } from "./rows/exchange.mjs";
import { bulks, empty, transfers } from "./rows/transfers.mjs";
import { databaseCpu } from "./service.mjs";

/** Requests of a row in a round. */
const REQUESTS = {
  "empty-64": 8_000,
  "transfers-64": 6_000,
  "transfers-256": 6_000,
  "bulk-100": 100,
  "bulk-atomic-100": 60,
  "orders-64": 2_000,
  "get-order-64": 3_000,
  "executions-64": 400,
};
const COMPARED_TO = "empty-64";
const MOST_SECONDS = 120;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string" }, rounds: { type: "string", default: "5" }, profile: { type: "string" } },
});
const wanted = values.only?.split(",") ?? Object.keys(REQUESTS);
const ids = Object.keys(REQUESTS).filter((id) => wanted.includes(id));

const directory = await mkdtemp(join(tmpdir(), "parbook-requests-"));
const services = [];
try {
  const rows = [];
  for (const checkout of positionals.length === 0 ? [join(import.meta.dirname, "..")] : positionals)
    rows.push(...(await rowsOf(realpathSync(checkout))));
  for (let round = 0; round <= Number(values.rounds); round += 1)
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      const cost = await costOf(row);
      if (round > 0) row.costs.push(cost);
    }
  if (values.profile !== undefined) for (const row of rows) await profileOf(row, values.profile);
  report(rows);
} finally {
  for (const service of services) await service.stop();
  await rm(directory, { recursive: true, force: true });
}

async function rowsOf(checkout) {
  const load = (path) => import(pathToFileURL(join(checkout, path)).href);
  await (await load("scripts/prepare.mjs")).prepare({ tools: true });
  const service = await (await load("bench/service.mjs")).startService(join(directory, String(services.length)));
  services.push(service);
  const parties = new Parties(service, true);
  const runs = {};
  for (const group of [empty, transfers, bulks, orders, reads])
    if (Object.keys(group.names).some((id) => ids.includes(id))) Object.assign(runs, await group.open(parties));
  return ids.map((id) => ({ id, checkout: basename(checkout), service, run: runs[id], costs: [] }));
}

async function profileOf(row, into) {
  const { id, checkout, service } = row;
  await service.ask("profile", {});
  await costOf(row);
  await service.ask("profile", { file: join(realpathSync(into), `${id}-${checkout}.cpuprofile`) });
}

/** In microseconds for each operation. */
async function costOf({ id, service, run }) {
  const before = await usedBy(service);
  const { answered } = await run(MOST_SECONDS, REQUESTS[id]);
  const after = await usedBy(service);
  return Object.fromEntries(Object.keys(after).map((part) => [part, (after[part] - before[part]) / answered]));
}

async function usedBy(service) {
  const { serviceCpu } = await service.ask("used");
  return { service: serviceCpu, database: databaseCpu(service.directory) ?? 0 };
}

function report(rows) {
  const of = ({ costs }, part) => median(costs.map((cost) => cost[part]));
  const ratioOf = (row) => {
    const beside = rows.find(({ id, service }) => id === COMPARED_TO && service === row.service);
    return beside && median(row.costs.map((cost, round) => beside.costs[round].service / cost.service)).toFixed(2);
  };
  printTable(
    ["CPU of an operation, us", "checkout", "service", "least", "PostgreSQL", "of an empty POST : its own"],
    rows.map((row) => [
      row.id,
      row.checkout,
      of(row, "service").toFixed(1),
      Math.min(...row.costs.map(({ service }) => service)).toFixed(1),
      of(row, "database").toFixed(1),
      ratioOf(row) ?? "",
    ]),
  );
}
