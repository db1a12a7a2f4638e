/**
 * Three rounds of it each time; more by hand: `npm run storm -- --rounds 100 --seed 7`. A data directory is used for
 * twenty of them, so that rounds come upon what those before them have left.
 */
import { expect, test } from "vitest";
import { type Blow, type RoundReport, Storm } from "./storm.ts";

const ROUNDS = Number(process.env.STORM_ROUNDS ?? 3);
const SEED = Number(process.env.STORM_SEED ?? 1);
const ROUNDS_PER_DIRECTORY = 20;
/** In turn. A round with a pause takes longer than its leases, so there is none among the first three. */
const BLOWS: readonly Blow[] = [
  "service",
  "both",
  "postmaster",
  "service",
  "service",
  "paused",
  "service",
  "both",
  "postmaster",
  "service",
];

test(
  `nothing that was answered is lost, and nothing happens twice, in ${ROUNDS} storms with a blow in the middle`,
  async () => {
    const reports: RoundReport[] = [];
    while (reports.length < ROUNDS) {
      const storm = await Storm.open(SEED + reports.length);
      try {
        const last = Math.min(reports.length + ROUNDS_PER_DIRECTORY, ROUNDS);
        while (reports.length < last) {
          const report = await storm.round(BLOWS[reports.length % BLOWS.length] as Blow);
          reports.push(report);
          process.stdout.write(`${reports.length}: ${JSON.stringify(report)}\n`);
        }
        await storm.end();
      } finally {
        await storm.close();
        process.stdout.write(tableOf(reports));
      }
    }
    expect(reports.reduce((total, { answered }) => total + answered, 0)).toBeGreaterThan(ROUNDS * 30);
  },
  60_000 + ROUNDS * 180_000,
);

function tableOf(reports: readonly RoundReport[]): string {
  const lines = ["", "| blow | rounds | orders answered | unanswered | of those booked | recovery ms, p50 / max |"];
  lines.push("| --- | --- | --- | --- | --- | --- |");
  for (const blow of new Set(BLOWS)) {
    const some = reports.filter((report) => report.blow === blow);
    if (some.length > 0) lines.push(lineOf(blow, some));
  }
  return [...lines, lineOf("all", reports), ""].join("\n");
}

function lineOf(name: string, reports: readonly RoundReport[]): string {
  const sum = (field: "answered" | "unanswered" | "booked") => reports.reduce((total, one) => total + one[field], 0);
  const times = reports.map(({ recoveryMs }) => Math.round(recoveryMs)).sort((a, b) => a - b);
  const middle = times[Math.floor(times.length / 2)];
  const cells = [
    name,
    reports.length,
    sum("answered"),
    sum("unanswered"),
    sum("booked"),
    `${middle} / ${times.at(-1)}`,
  ];
  return `| ${cells.join(" | ")} |`;
}
