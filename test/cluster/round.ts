/** One round of the storm on a cluster: what it did, also if something was wrong, and tables of that in Markdown. */
import type { RoundReport, Storm } from "../reliability/storm/storm.ts";
import { type BlowName, FAILOVERS } from "./blows.ts";
import { type Cluster, NODES } from "./cluster.ts";
import type { DatabaseName } from "./members.ts";
import { type NotReadyMs, ReadinessWatch } from "./readiness.ts";

export interface Primary {
  readonly name: DatabaseName;
  readonly timeline: number;
}

export interface Round {
  readonly blows: readonly BlowName[];
  readonly before: Primary;
  readonly after: Primary | undefined;
  readonly report: RoundReport | undefined;
  readonly notReadyMs: NotReadyMs | undefined;
  /** Undefined: it could not be counted. */
  readonly wrong: { readonly lost: number; readonly doubled: number } | undefined;
  readonly failure: Error | undefined;
}

/** Does not throw: what went wrong is the round's failure. */
export async function runRound(
  storm: Storm<Cluster, BlowName>,
  blows: readonly BlowName[],
  before: Primary,
): Promise<Round> {
  const watch = new ReadinessWatch(storm.site);
  const seen: { report?: RoundReport; notReadyMs?: NotReadyMs; after?: Primary; failure?: Error } = {};
  try {
    seen.report = await storm.round(blows);
    seen.notReadyMs = await watch.untilReady();
    seen.after = await storm.site.primary();
  } catch (error) {
    seen.failure = error as Error;
    watch.stop();
  }
  const { report, notReadyMs, after, failure } = seen;
  return { blows, before, after, report, notReadyMs, failure, wrong: await storm.countWrong().catch(() => undefined) };
}

/** The columns that a row and the sums have in common. */
const COUNTED = "answered | unknown | of those 503 | lost | doubled | writes back s | not ready s";

export const ROUNDS_HEAD = ["", `| round | blow | primary, timeline | ${COUNTED} |`, line(10), ""].join("\n");

/** Of one round, as soon as it is over. */
export function rowOf(round: Round, number: number): string {
  const [before, after] = [round.before, round.after].map((one) => (one ? `${one.name} ${one.timeline}` : "?"));
  const primary = before === after ? before : `${before} to ${after}`;
  return `${cells([number, nameOf(round), String(primary), ...countedIn([round])])}\n`;
}

/** By kind of blow, and of all. */
export function sumsOf(rounds: readonly Round[]): string {
  if (rounds.length === 0) return "";
  const lines = ["", `| blow | rounds | ${COUNTED} |`, line(9)];
  for (const name of new Set(rounds.map(nameOf))) {
    const own = rounds.filter((round) => nameOf(round) === name);
    lines.push(cells([name, own.length, ...countedIn(own)]));
  }
  lines.push(cells(["all", rounds.length, ...countedIn(rounds)]));
  const sum = (count: (round: Round) => number): number => rounds.reduce((total, round) => total + count(round), 0);
  return `${lines.join("\n")}\n\nThe primary changed ${sum(changesIn)} times, for ${sum(failoversIn)} failovers.\n`;
}

/** How often the primary changed since the round before. */
export const changesIn = ({ before, after }: Round): number => (after?.timeline ?? before.timeline) - before.timeline;

export const failoversIn = ({ blows }: Round): number => blows.filter((name) => FAILOVERS.includes(name)).length;

function countedIn(rounds: readonly Round[]): (string | number)[] {
  const reports = rounds.flatMap(({ report }) => report ?? []);
  const sum = (field: "answered" | "unknown" | "unavailable"): number =>
    reports.reduce((total, report) => total + report[field], 0);
  // What is lost or doubled stays so, and is counted again in later rounds.
  const most = (field: "lost" | "doubled"): number | string =>
    rounds.some(({ wrong }) => wrong === undefined)
      ? "not counted"
      : Math.max(...rounds.map(({ wrong }) => wrong?.[field] ?? 0));
  const back = reports.flatMap(({ recoveriesMs }) => recoveriesMs);
  const notReady = rounds.flatMap(({ notReadyMs }) => NODES.flatMap((node) => notReadyMs?.[node] ?? []));
  const failed = rounds.filter(({ failure }) => failure !== undefined);
  return [
    ...[sum("answered"), sum("unknown"), sum("unavailable"), most("lost"), most("doubled")],
    failed.length === 0 ? seconds(back) : `${failed.length} FAILED`,
    seconds(notReady),
  ];
}

/** One time, or the middle one and the longest. */
function seconds(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b).map((ms) => (ms / 1_000).toFixed(1));
  const ends = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return sorted.length === 0 ? "" : sorted.length === 1 ? String(ends[0]) : ends.join(" / ");
}

const nameOf = ({ blows }: Round): string => blows.join(", ");

function cells(values: readonly (string | number)[]): string {
  return `| ${values.join(" | ")} |`;
}

function line(columns: number): string {
  return cells(Array.from({ length: columns }, () => "---"));
}
