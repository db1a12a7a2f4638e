/** Output of a run: tables on the terminal, JSON and a picture in bench/results/, and the figures in the document. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { ratiosOf } from "../rounds.mjs";
import { FIGURES, RATIOS } from "./goals.mjs";
import { picture } from "./picture.mjs";
import { markdownTable, printTable, shown } from "./table.mjs";

const RESULTS = join(import.meta.dirname, "..", "results");
const DOCUMENT = join(import.meta.dirname, "..", "..", "docs", "performance.md");
const [BEGIN, END] = ["<!-- figures -->", "<!-- end of figures -->"];

const ROW_HEADER = [
  "",
  "per second",
  "p50 ms",
  "p99 ms",
  "p99.9 ms",
  "CPU µs, service",
  "CPU µs, PostgreSQL",
  "WAL bytes",
  "rejected",
];
const RATIO_HEADER = ["", "median", "rounds", "goal", ""];

export function machine() {
  const [processor] = cpus();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  return { processor: processor?.model.trim(), cores: cpus().length, memory, node: process.version };
}

/** The tables of a run, for `print` and `document` alike. */
function tablesOf({ rows, ratios, failures, process: ours }) {
  return [
    [ROW_HEADER, rows.map(rowCells)],
    [["failed, and left out", "why"], failures.map(({ name, error }) => [name, error.split("\n")[0]])],
    [RATIO_HEADER, ratios.map(ratioCells)],
    [["the process", ""], Object.entries(ours)],
  ];
}

function rowCells({ name, figures }) {
  const { perSecond, p50, p99, p999, serviceCpu, databaseCpu, wal, rejected } = figures;
  // Of a generator that does not tell the service is not asked either.
  const isOurs = p99 !== undefined;
  return [name, perSecond, p50, p99, p999, isOurs ? serviceCpu : undefined, databaseCpu, wal, rejected || ""];
}

function ratioCells({ name, value, rounds, atLeast, atMost, met }) {
  const goal = atLeast !== undefined ? `at least ${atLeast}` : atMost !== undefined ? `at most ${atMost}` : "";
  const said = met === undefined ? "" : met ? "met" : "not met";
  return [name, value, `${shown(Math.min(...rounds))} to ${shown(Math.max(...rounds))}`, goal, said];
}

const headline = ({ date, machine: { processor, cores, memory, node }, options, postgresql }) =>
  `${date}: ${processor}, ${cores} cores, ${memory}; Node ${node}, PostgreSQL ${postgresql}, fsync on. Medians of ${options.rounds} alternating rounds of ${options.seconds} s; load, service and database share the machine.`;

export function print(result) {
  console.log(headline(result));
  for (const [header, rows] of tablesOf(result)) if (rows.length > 0) printTable(header, rows);
}

/** Writes JSON and picture. @returns The path. */
export function save(result) {
  mkdirSync(RESULTS, { recursive: true });
  const name = join(RESULTS, result.date.replaceAll(":", "-"));
  writeFileSync(`${name}.json`, `${JSON.stringify(result, undefined, 1)}\n`);
  writeFileSync(`${name}.svg`, picture(result));
  return `${name}.json`;
}

/** Puts the tables of a run that was saved into docs/performance.md, in place of those that are there; its ratios by the goals of now. */
export function writeDocument(path) {
  const saved = JSON.parse(readFileSync(path, "utf8"));
  const rounds = new Map(saved.rows.map(({ id, rounds }) => [id, rounds]));
  const result = { ...saved, ratios: ratiosOf([...RATIOS, ...FIGURES], rounds) };
  const text = readFileSync(DOCUMENT, "utf8");
  const [before, after] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (before < 0 || after < before) throw new Error(`${DOCUMENT} has no place for the figures`);
  const tables = tablesOf(result).filter(([, rows]) => rows.length > 0);
  const figures = [headline(result), ...tables.map(([header, rows]) => markdownTable(header, rows))];
  writeFileSync(DOCUMENT, `${text.slice(0, before)}${BEGIN}\n${figures.join("\n\n")}\n${text.slice(after)}`);
}
