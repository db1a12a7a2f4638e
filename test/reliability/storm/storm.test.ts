/**
 * Three rounds each time, with several faults in each; more by hand, with one: `npm run storm -- --rounds 100 --seed 7`.
 */
import { expect, test } from "vitest";
import { isAskedToEnd } from "../../support/long-run.ts";
import { FAULTS, type Fault } from "../faults.ts";
import { Site } from "../site.ts";
import { type RoundReport, Storm } from "./storm.ts";
import { tableOf } from "./storm-table.ts";

const { STORM_ROUNDS, STORM_SEED = "1", STORM_FAULT } = process.env;
const SEED = Number(STORM_SEED);
if (STORM_FAULT !== undefined && !(STORM_FAULT in FAULTS))
  throw new Error(`a fault is one of ${Object.keys(FAULTS).join(", ")}`);
/** They share a data directory, so that rounds come upon what those before them have left. */
const ROUNDS_PER_DIRECTORY = 12;

/** A round with a pause takes longer than its leases, so there is none among those of each time. */
const IN_SHORT: readonly (readonly Fault[])[] = [
  ["client-cut", "database-cut", "backend"],
  ["clock", "postmaster", "disk-full"],
  ["service", "database-clock", "both"],
];

test(
  "nothing that was answered is lost, nothing happens twice, and no sum ever differs, whatever befalls it",
  async () => {
    const rounds = STORM_ROUNDS === undefined ? IN_SHORT : planned(Number(STORM_ROUNDS));
    const reports: RoundReport[] = [];
    try {
      while (reports.length < rounds.length && !isAskedToEnd()) await series(rounds.slice(reports.length), reports);
    } finally {
      process.stdout.write(tableOf(reports));
    }
    expect(reports.reduce((total, { answered }) => total + answered, 0)).toBeGreaterThanOrEqual(reports.length * 30);
  },
  120_000 + Number(STORM_ROUNDS ?? 3) * 180_000,
);

/** One data directory's worth of rounds. */
async function series(rounds: readonly (readonly Fault[])[], reports: RoundReport[]): Promise<void> {
  const some = rounds.slice(0, ROUNDS_PER_DIRECTORY);
  const needsSmallDisk = some.some((faults) => faults.includes("disk-full"));
  const disk = needsSmallDisk ? "small disk" : "any disk";
  const storm = await Storm.open(SEED + reports.length, FAULTS, (bootstrap) => Site.open(bootstrap, disk));
  try {
    for (const wanted of some) {
      if (isAskedToEnd()) break;
      const faults = wanted.filter((fault) => fault !== "disk-full" || storm.site.disk !== undefined);
      if (faults.length < wanted.length) process.stdout.write("No file system can be mounted here: no full disk.\n");
      await storm.reportRound(faults.length === 0 ? ["none"] : faults, reports);
    }
    await storm.end();
  } catch (error) {
    process.stdout.write(await storm.site.lastWords());
    throw error;
  } finally {
    await storm.close();
  }
}

/** One fault in each round: the same in all of them, or each in turn, and full disks on every fourth data directory. */
function planned(rounds: number): readonly (readonly Fault[])[] {
  const others = (Object.keys(FAULTS) as Fault[]).filter((fault) => fault !== "disk-full");
  return Array.from({ length: rounds }, (_, round) => {
    const isOnSmallDisk = Math.floor(round / ROUNDS_PER_DIRECTORY) % 4 === 3;
    const inTurn = isOnSmallDisk && round % 2 === 0 ? "disk-full" : others[round % others.length];
    return [(STORM_FAULT ?? inTurn) as Fault];
  });
}
