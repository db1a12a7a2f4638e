/**
 * `npm run bench`: throughput and cost of Parbook beside comparable programs, in one run on one machine. See
 * docs/performance.md for how to read it.
 *
 *   npm run bench                                the standard form, within 15 minutes
 *   npm run bench -- --only transfers-256,empty-256 --rounds 5 --seconds 4
 *   npm run bench -- --short                     a minute; fails when a ratio is far below bench/report/recorded.json
 *   npm run bench -- --short --record            writes bench/report/recorded.json
 *   npm run bench -- --long [--data DIR]         with a large database, created once and kept (an hour)
 *   npm run bench -- --long --divisor 100        the same with a hundredth of the data, to test the procedure
 *   npm run bench -- --long --fill profiles --only million-256     the same with a million profiles alone (ten minutes)
 *   npm run bench -- --document bench/results/X.json     writes the tables of a run into docs/performance.md
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { prepare } from "../scripts/prepare.mjs";
import { Parties } from "./parties.mjs";
import { FIGURES, RATIOS, SHORT_RATIOS } from "./report/goals.mjs";
import { compareWithRecorded } from "./report/recorded.mjs";
import { machine, print, save, writeDocument } from "./report/report.mjs";
import { inRounds, median, medians, ratiosOf } from "./rounds.mjs";
import { conversions, orders, reads } from "./rows/exchange.mjs";
import { growth, withGrown } from "./rows/growth.mjs";
import { pgbench, wrk } from "./rows/neighbours.mjs";
import { quiet } from "./rows/quiet.mjs";
import { bulks, empty, hotPair, transfers } from "./rows/transfers.mjs";
import { usualWay } from "./rows/usual-way.mjs";
import { startService } from "./service.mjs";

/** In running order: compared rows are adjacent. */
const GROUPS = [transfers, empty, bulks, hotPair, usualWay, pgbench, wrk, conversions, orders, reads, quiet];
/** Rows of the long form, on a large database. */
const GROWN = [transfers, growth, orders, reads];
const WARM_STARTS = 3;
/** The time limit of the standard form reduces the rounds. */
const MOST_MS = 14 * 60_000;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string" },
    seconds: { type: "string" },
    short: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    data: { type: "string", default: "data/bench" },
    divisor: { type: "string", default: "1" },
    fill: { type: "string" },
    document: { type: "string" },
  },
});
const options = {
  rounds: Number(values.rounds ?? (values.short ? 3 : 5)),
  seconds: Number(values.seconds ?? (values.short ? 1 : 4)),
};

if (values.document !== undefined) writeDocument(values.document);
else {
  await prepare({ tools: true });
  await main();
}

async function main() {
  const directory = await mkdtemp(join(tmpdir(), "parbook-bench-"));
  try {
    const starts = values.short ? [] : await warmStarts(directory);
    const service = await startService(directory);
    try {
      const idle = await service.ask("memory");
      const rows = await openRows(GROUPS, new Parties(service, values.short), isWanted);
      if (values.short) await compareWithRecorded({ rows, options, isToRecord: values.record });
      else if (!values.long) await measure(rows, service, { starts, idle });
      else {
        const extent = { divisor: Number(values.divisor), kinds: values.fill?.split(",") };
        await withGrown(values.data, extent, async (grown, sizes) => {
          const more = await openRows(GROWN, grown, isWanted, "grown-");
          await measure([...rows, ...more], service, { starts, idle, sizes });
        });
      }
    } finally {
      await service.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function isWanted(id) {
  if (values.only !== undefined) return values.only.split(",").includes(id);
  return !values.short || SHORT_RATIOS.some(({ of, to }) => of === id || to === id);
}

/** Milliseconds from process start to ready, on an existing database. */
async function warmStarts(directory) {
  const times = [];
  for (let start = 0; start <= WARM_STARTS; start += 1) {
    const service = await startService(directory);
    times.push(service.startMs);
    await service.stop();
  }
  return times.slice(1);
}

/** Opens the groups of the selected rows, skipping those whose program is not installed. */
async function openRows(groups, parties, wanted, prefix = "") {
  const rows = [];
  for (const group of groups) {
    const ids = Object.keys(group.names).filter((id) => wanted(prefix + id) || wanted(id));
    if (ids.length === 0) continue;
    if (group.isThere?.() === false) {
      console.log(`skipped, program not installed: ${ids.join(", ")}`);
      continue;
    }
    const runs = await opened(group, parties, ids);
    for (const id of ids) {
      const name = prefix === "" ? group.names[id] : `${group.names[id]}, grown database`;
      rows.push({ id: prefix + id, name, parties, ...runOf(runs[id]) });
    }
  }
  return rows;
}

/** If preparing fails, each row fails with the same reason. */
async function opened(group, parties, ids) {
  try {
    return await group.open(parties, ids);
  } catch (error) {
    return Object.fromEntries(ids.map((id) => [id, () => Promise.reject(error)]));
  }
}

/** A row is a function to measure, or an object with a preparation. */
function runOf(run) {
  return typeof run === "function" ? { run, prepare: () => undefined } : run;
}

/** The cost of filling. */
function bytesEach(sizes) {
  const cells = Object.entries(sizes).flatMap(([kind, { made, bytes, wal }]) => [
    [`bytes of database for each of the ${kind}`, bytes / made],
    [`bytes of WAL for each of the ${kind}`, wal / made],
  ]);
  return Object.fromEntries(cells);
}

async function measure(rows, service, { starts, idle, sizes = {} }) {
  const onRound = (round) => console.log(`round ${round} of ${options.rounds}, ${new Date().toISOString()}`);
  const { results, failures } = await inRounds(rows, {
    ...options,
    onRound,
    endsAt: values.long ? undefined : MOST_MS,
  });
  const measured = rows.filter(({ id }) => results.has(id));
  const [{ version }] = await service.ask("rows", { text: "select current_setting('server_version') as version" });
  const most = Math.max(...[...results.values()].flat().map(({ residentMegabytes }) => residentMegabytes));
  const result = {
    date: new Date().toISOString(),
    machine: machine(),
    postgresql: version,
    options: { ...options, rounds: Math.max(...[...results.values()].map(({ length }) => length)) },
    rows: measured.map(({ id, name }) => ({ id, name, figures: medians(results.get(id)), rounds: results.get(id) })),
    ratios: ratiosOf([...RATIOS, ...FIGURES], results),
    failures: failures.map(({ id, name, error }) => ({ id, name, error: String(error) })),
    process: {
      "warm start, ms": median(starts),
      "memory after the start, MB": idle.resident / 1e6,
      "most memory under load, MB": most,
      ...bytesEach(sizes),
    },
  };
  print(result);
  if (failures.length > 0) process.exitCode = 1;
  console.log(`written: ${save(result)}, and a picture beside it`);
}
