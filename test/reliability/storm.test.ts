/**
 * Three rounds each time, with several blows in each; more by hand, with one: `npm run storm -- --rounds 100 --seed 7`.
 */
import { expect, test } from "vitest";
import { BLOWS, type Blow } from "./blows.ts";
import { type RoundReport, Storm } from "./storm.ts";

const { STORM_ROUNDS, STORM_SEED = "1", STORM_BLOW } = process.env;
const SEED = Number(STORM_SEED);
if (STORM_BLOW !== undefined && !(STORM_BLOW in BLOWS))
  throw new Error(`a blow is one of ${Object.keys(BLOWS).join(", ")}`);
/** They share a data directory, so that rounds come upon what those before them have left. */
const ROUNDS_PER_DIRECTORY = 12;

/** A round with a pause takes longer than its leases, so there is none among those of each time. */
const IN_SHORT: readonly (readonly Blow[])[] = [
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
      while (reports.length < rounds.length) await series(rounds.slice(reports.length), reports);
    } finally {
      process.stdout.write(tableOf(reports));
    }
    expect(reports.reduce((total, { answered }) => total + answered, 0)).toBeGreaterThan(rounds.length * 30);
  },
  120_000 + Number(STORM_ROUNDS ?? 3) * 180_000,
);

/** One data directory's worth of rounds. */
async function series(rounds: readonly (readonly Blow[])[], reports: RoundReport[]): Promise<void> {
  const some = rounds.slice(0, ROUNDS_PER_DIRECTORY);
  const needsSmallDisk = some.some((blows) => blows.includes("disk-full"));
  const storm = await Storm.open(SEED + reports.length, needsSmallDisk ? "small disk" : "any disk");
  try {
    for (const wanted of some) {
      const blows = wanted.filter((blow) => blow !== "disk-full" || storm.site.disk !== undefined);
      if (blows.length < wanted.length) process.stdout.write("No file system can be mounted here: no full disk.\n");
      const started = performance.now();
      const report = await storm.round(blows.length === 0 ? ["none"] : blows);
      reports.push(report);
      const took = `${Math.round((performance.now() - started) / 1_000)} s`;
      process.stdout.write(`${reports.length} (${took}): ${JSON.stringify(report)}\n`);
    }
    await storm.end();
  } catch (error) {
    process.stdout.write(await storm.site.lastWords());
    throw error;
  } finally {
    await storm.close();
  }
}

/** One blow in each round: the same in all of them, or each in turn, and full disks on every fourth data directory. */
function planned(rounds: number): readonly (readonly Blow[])[] {
  const others = (Object.keys(BLOWS) as Blow[]).filter((blow) => blow !== "disk-full");
  return Array.from({ length: rounds }, (_, round) => {
    const isOnSmallDisk = Math.floor(round / ROUNDS_PER_DIRECTORY) % 4 === 3;
    const inTurn = isOnSmallDisk && round % 2 === 0 ? "disk-full" : others[round % others.length];
    return [(STORM_BLOW ?? inTurn) as Blow];
  });
}

function tableOf(reports: readonly RoundReport[]): string {
  if (reports.length === 0) return "";
  const lines = [
    "",
    "| blow | rounds | answered | unknown | retried | of those booked | snapshots | moving again ms, p50 / max |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
  ];
  for (const name of new Set(reports.map(nameOf))) {
    lines.push(
      lineOf(
        name,
        reports.filter((report) => nameOf(report) === name),
      ),
    );
  }
  return [...lines, lineOf("all", reports), ""].join("\n");
}

const nameOf = ({ blows }: RoundReport): string => blows.join(", ");

function lineOf(name: string, reports: readonly RoundReport[]): string {
  const sum = (field: "answered" | "unknown" | "retried" | "booked" | "snapshots") =>
    reports.reduce((total, one) => total + one[field], 0);
  const times = reports.flatMap(({ recoveriesMs }) => recoveriesMs.map(Math.round)).sort((a, b) => a - b);
  const cells = [
    name,
    reports.length,
    ...(["answered", "unknown", "retried", "booked", "snapshots"] as const).map(sum),
    `${times[Math.floor(times.length / 2)]} / ${times.at(-1)}`,
  ];
  return `| ${cells.join(" | ")} |`;
}
