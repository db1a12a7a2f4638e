/**
 * What events cost transfers: CPU of service and database for each transfer without a publisher, with one to which nobody
 * listens, and with one reader of a stream of everything; and how late that reader has them.
 *
 *   node bench/events/event-cost.mjs [--rounds 5] [--seconds 4] [--connections 64]
 *
 * Two services, one of them without the role worker, each with its own embedded PostgreSQL. The three take turns, every other
 * round backwards, so that other load on the machine affects all of them. All transfers are of one customer, between a
 * thousand profiles: two events each. A round's CPU is counted until its events are published, and read: to fall behind is
 * not cheap. Rates are printed too, but on a machine that others use they say little. Exit code 1 if events take more than a
 * tenth of the CPU, a fifth with a reader, or p99 is above a second.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { prepare } from "../../scripts/prepare.mjs";
import { closedLoop } from "../load.mjs";
import { Parties } from "../parties.mjs";
import { printTable } from "../report/table.mjs";
import { median, quantile } from "../rounds.mjs";
import { databaseCpu, startService } from "../service.mjs";
import { openStream, untilPublished } from "./event-readers.mjs";

const PATH = "/v2/transfer/platform";
const WARM_UP_SECONDS = 3;
const MOST_BEHIND_MS = 60_000;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "4" },
    connections: { type: "string", default: "64" },
  },
});
const [rounds, seconds, connections] = ["rounds", "seconds", "connections"].map((name) => Number(values[name]));

await prepare({ tools: true });
const directory = await mkdtemp(join(tmpdir(), "parbook-events-"));
const services = [];
try {
  const open = async (name, roles) => {
    const service = await startService(join(directory, name), { PARBOOK_ROLES: roles });
    services.push(service);
    const next = (await new Parties(service).transfers())(PATH);
    return { service, run: (time) => closedLoop(service.baseUrl, { connections, seconds: time, next }) };
  };
  const without = await open("without", "api,auth,engine");
  const published = await open("with", "api,auth,engine,worker");
  for (const { run } of [without, published]) await run(WARM_UP_SECONDS);
  await untilPublished(published.service);
  const lagsMs = [];
  let missed = 0;
  const rows = {
    "without a publisher": () => measured(without, async () => undefined),
    "nobody listens": () => measured(published, () => untilPublished(published.service)),
    "one reader of everything": async () => {
      const reader = await openStream(published.service);
      const round = await measured(published, async ({ answered }) => {
        await untilPublished(published.service);
        missed += await untilRead(reader, 2 * answered);
      });
      lagsMs.push(...reader.lagsMs);
      reader.close();
      return round;
    },
  };
  const results = Object.fromEntries(Object.keys(rows).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const names = Object.keys(rows);
    for (const name of round % 2 === 0 ? names : names.toReversed()) results[name].push(await rows[name]());
  }
  report(results, lagsMs, missed);
} finally {
  for (const service of services) await service.stop();
  await rm(directory, { recursive: true, force: true });
}

/** Microseconds of CPU for each transfer, until everything that follows from it is done. */
async function measured({ service, run }, finish) {
  const before = await usedBy(service);
  const { answered, perSecond } = await run(seconds);
  await finish({ answered });
  const after = await usedBy(service);
  const each = (figure) => (after[figure] - before[figure]) / answered;
  return { perSecond, service: each("serviceCpu"), database: each("databaseCpu") };
}

async function usedBy(service) {
  return { ...(await service.ask("used")), databaseCpu: databaseCpu(service.directory) ?? 0 };
}

/** @returns how many events the reader does not have in the end */
async function untilRead(reader, expected) {
  for (const end = performance.now() + MOST_BEHIND_MS; reader.events < expected; await pause(50))
    if (performance.now() > end) break;
  return Math.max(0, expected - reader.events);
}

function report(results, lagsMs, missed) {
  const of = (name, figure) => median(results[name].map((round) => round[figure]));
  const names = Object.keys(results);
  const cpu = (name) => median(results[name].map(({ service, database }) => service + database));
  const shares = names.map((name) => 1 - cpu(names[0]) / cpu(name));
  printTable(
    ["", "CPU of a transfer, us", "service", "database", "share of events", "transfers/s"],
    names.map((name, at) => [
      name,
      cpu(name).toFixed(1),
      of(name, "service").toFixed(1),
      of(name, "database").toFixed(1),
      at === 0 ? "" : `${(shares[at] * 100).toFixed(1)} %`,
      Math.round(of(name, "perSecond")).toString(),
    ]),
  );
  const [p50, p99] = [quantile(lagsMs, 0.5), quantile(lagsMs, 0.99)];
  console.log(
    `from a transfer's request to the reader: p50 ${p50} ms, p99 ${p99} ms (${lagsMs.length} samples); missed ${missed}`,
  );
  if (shares[1] > 0.1 || shares[2] > 0.2 || p99 > 1_000 || missed > 0) process.exitCode = 1;
}
