/** What the rounds of a storm came to, as a table of Markdown. */
import type { RoundReport } from "./storm.ts";

export function tableOf(reports: readonly RoundReport[]): string {
  if (reports.length === 0) return "";
  const lines = [
    "",
    "| fault | rounds | answered | unknown | of those 503 | retried | of those booked | operators answered | unknown | snapshots | moving again ms, p50 / max |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
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

const SUMMED = [
  "answered",
  "unknown",
  "unavailable",
  "retried",
  "booked",
  "commands",
  "unknownCommands",
  "snapshots",
] as const;

const nameOf = ({ faults }: RoundReport): string => faults.join(", ");

function lineOf(name: string, reports: readonly RoundReport[]): string {
  const sum = (field: (typeof SUMMED)[number]) => reports.reduce((total, one) => total + one[field], 0);
  const times = reports.flatMap(({ recoveriesMs }) => recoveriesMs.map(Math.round)).sort((a, b) => a - b);
  const cells = [name, reports.length, ...SUMMED.map(sum), `${times[Math.floor(times.length / 2)]} / ${times.at(-1)}`];
  return `| ${cells.join(" | ")} |`;
}
