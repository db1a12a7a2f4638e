/**
 * The short form: a few rows, compared by cost ratios only, since times depend on the machine. A ratio below 0.7 of the
 * recorded one is measured again with more rounds, and fails if it stays there.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inRounds, ratiosOf } from "../rounds.mjs";
import { SHORT_RATIOS } from "./goals.mjs";
import { printTable } from "./table.mjs";

const RECORDED = join(import.meta.dirname, "recorded.json");
const LEAST_PART = 0.7;

export async function compareWithRecorded({ rows, options, isToRecord }) {
  const ratios = await ratiosAfter(rows, options);
  if (isToRecord) {
    const values = Object.fromEntries(ratios.map(({ name, value }) => [name, Number(value.toFixed(3))]));
    writeFileSync(RECORDED, `${JSON.stringify(values, undefined, 2)}\n`);
    return print(ratios, values);
  }
  const recorded = JSON.parse(readFileSync(RECORDED, "utf8"));
  print(ratios, recorded);
  const low = lowOf(ratios, recorded);
  if (low.length === 0) return undefined;
  console.log(`measured again, with more rounds: ${low.map(({ name }) => name).join("; ")}`);
  const concerned = new Set(low.flatMap(({ of, to }) => [of, to]));
  const again = await ratiosAfter(
    rows.filter(({ id }) => concerned.has(id)),
    { ...options, rounds: options.rounds * 2 + 1 },
  );
  const judged = again.filter(({ name }) => low.some((one) => one.name === name));
  print(judged, recorded);
  if (lowOf(judged, recorded).length > 0) {
    console.log(`FAILED: below ${LEAST_PART} of what was recorded`);
    process.exitCode = 1;
  }
  return undefined;
}

async function ratiosAfter(rows, options) {
  const { results, failures } = await inRounds(rows, options);
  for (const { name, error } of failures) throw new Error(`a row failed: ${name}`, { cause: error });
  return ratiosOf(SHORT_RATIOS, results);
}

const lowOf = (ratios, recorded) => ratios.filter(({ name, value }) => value < LEAST_PART * (recorded[name] ?? 0));

function print(ratios, recorded) {
  printTable(
    ["", "ratio", "recorded"],
    ratios.map(({ name, value }) => [name, value, recorded[name]]),
  );
}
