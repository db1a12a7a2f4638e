/**
 * Runs rows in alternating rounds, so that a temporary slowdown affects all of them; every other round runs in reverse.
 * Also records the cost of each row.
 *
 * A row that fails is retried once. If it fails again, its results are discarded, and the others continue.
 */
import { databaseCpu } from "./service.mjs";

/**
 * Rows are `{ id, name, parties, prepare, run }`. Calls `onRound(number)` before each round; no round begins that would
 * not be done by `endsAt`, but the first. Answers figures by row, and why rows failed.
 */
export async function inRounds(rows, { rounds, seconds, endsAt = Infinity, onRound = () => undefined }) {
  const results = new Map(rows.map(({ id }) => [id, []]));
  const failures = [];
  const began = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    const now = performance.now();
    if (round > 0 && now + (now - began) / round > endsAt) break;
    onRound(round + 1);
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      const figures = results.get(row.id);
      if (figures === undefined) continue;
      try {
        figures.push(await withItsCost(row, seconds).catch(() => withItsCost(row, seconds)));
      } catch (error) {
        results.delete(row.id);
        failures.push({ id: row.id, name: row.name, error });
      }
    }
  }
  return { results, failures };
}

/** CPU in microseconds and WAL in bytes, per response. */
async function withItsCost({ parties: { service }, prepare, run }, seconds) {
  await prepare();
  const before = await usedBy(service);
  const result = await run(seconds);
  const after = await usedBy(service);
  const each = (figure) => (after[figure] - before[figure]) / result.answered;
  const [serviceCpu, databaseCpu] = [each("serviceCpu"), each("databaseCpu")];
  return {
    ...result,
    serviceCpu,
    ...(!Number.isNaN(databaseCpu) && { databaseCpu }),
    cpu: serviceCpu + (databaseCpu || 0),
    wal: each("wal"),
    residentMegabytes: after.resident / 1e6,
  };
}

async function usedBy(service) {
  return { ...(await service.ask("used")), databaseCpu: databaseCpu(service.directory) };
}

export const median = (numbers) => quantile(numbers, 0.5);

export function quantile(numbers, part) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

/** The median of each figure over the rounds. */
export function medians(rounds) {
  const figures = Object.keys(rounds[0]).filter((figure) => typeof rounds[0][figure] === "number");
  return Object.fromEntries(figures.map((figure) => [figure, median(rounds.map((round) => round[figure]))]));
}

/** Ratios round by round, of those whose rows were both run: their median, and whether it meets its goal. */
export function ratiosOf(wanted, results) {
  return wanted.flatMap(({ name, of, to, figure = "perSecond", ...goal }) => {
    const [these, those] = [results.get(of), to === undefined ? undefined : results.get(to)];
    if (these === undefined || (to !== undefined && those === undefined)) return [];
    const rounds = these.map((round, i) => round[figure] / (those === undefined ? 1 : those[i][figure]));
    const value = median(rounds);
    return [{ name, of, to, figure, value, rounds, ...goal, met: isMet(value, goal) }];
  });
}

function isMet(value, { atLeast, atMost }) {
  if (atLeast === undefined && atMost === undefined) return undefined;
  return (atLeast === undefined || value >= atLeast) && (atMost === undefined || value <= atMost);
}
