/**
 * The storm on a cluster: three PostgreSQL under Patroni, two nodes of Parbook. Two failovers each time; more by hand, one
 * blow in each round: `npm run storm -- --cluster --rounds 100 --fault failovers`.
 */
import { expect, test } from "vitest";
import { Storm } from "../reliability/storm/storm.ts";
import { isAskedToEnd, stepDone } from "../support/long-run.ts";
import { required } from "../support/required.ts";
import { BLOWS, type BlowName, FAILOVERS } from "./blows.ts";
import { Cluster, NODES } from "./cluster.ts";
import { whyNoCluster } from "./programs.ts";
import { changesIn, failoversIn, ROUNDS_HEAD, type Round, rowOf, runRound, sumsOf } from "./round.ts";

const { STORM_ROUNDS, STORM_SEED = "1", STORM_FAULT } = process.env;
/** `failovers`; or `primary-killed,restart+switchover`: one blow in the first round, two in the second. */
const BLOWS_ASKED_FOR =
  STORM_FAULT === "failovers"
    ? FAILOVERS.map((name) => [name])
    : (STORM_FAULT?.split(",") ?? Object.keys(BLOWS)).map((round) => round.split("+").map(blowNamed));
const IN_SHORT: readonly (readonly BlowName[])[] = [["primary-killed", "switchover"]];
/** The goal after a kill, on a machine that is not busy with anything else. */
const BACK_AFTER_A_KILL_MS = 35_000;
/** While these last, which is longer than a lease, no node has a primary to write to. */
const LONG_OUTAGES: readonly BlowName[] = ["primary-killed", "machine-killed", "primary-paused", "etcd-away"];
/** After a failed round the rest goes on, on a new cluster, so that a run of hours is not in vain. */
const MOST_FAILURES = 3;

test(
  "nothing that was answered is lost when the primary of the database is lost, and nothing happens twice",
  async (context) => {
    required(context, whyNoCluster());
    const planned = STORM_ROUNDS === undefined ? IN_SHORT : plannedFor(Number(STORM_ROUNDS));
    const rounds: Round[] = [];
    process.stdout.write(ROUNDS_HEAD);
    try {
      while (rounds.length < planned.length && !isAskedToEnd() && failuresIn(rounds).length < MOST_FAILURES)
        await series(planned.slice(rounds.length), rounds);
    } finally {
      process.stdout.write(sumsOf(rounds));
    }
    const [failure] = failuresIn(rounds);
    if (failure !== undefined) throw failure;
    expect(rounds.map(({ wrong }) => wrong)).toEqual(rounds.map(() => ({ lost: 0, doubled: 0 })));
    for (const { report } of rounds) expect(report?.answered).toBeGreaterThanOrEqual(30);
    if (STORM_ROUNDS !== undefined) return;
    for (const ms of rounds.flatMap(({ report }) => report?.recoveriesMs ?? []))
      expect(ms).toBeLessThan(2 * BACK_AFTER_A_KILL_MS);
  },
  240_000 + Number(STORM_ROUNDS ?? 1) * 240_000 * Math.max(...BLOWS_ASKED_FOR.map(({ length }) => length)),
);

/** Rounds on one cluster, until one fails. */
async function series(planned: readonly (readonly BlowName[])[], rounds: Round[]): Promise<void> {
  const storm = await Storm.open(Number(STORM_SEED) + rounds.length, BLOWS, Cluster.open);
  try {
    let primary = await storm.site.primary();
    for (const blows of planned) {
      if (isAskedToEnd()) break;
      const round = judged(await runRound(storm, blows, primary));
      primary = round.after ?? primary;
      rounds.push(round);
      stepDone();
      process.stdout.write(rowOf(round, rounds.length));
      const isOfItself = changesIn(round) > failoversIn(round);
      if (isOfItself) process.stdout.write("The primary has changed without being asked to.\n");
      if (isOfItself || round.failure !== undefined) process.stdout.write(await storm.site.lastWords());
      if (round.failure === undefined) continue;
      process.stdout.write(`${round.failure.stack}\n`);
      return;
    }
    await storm.end();
  } finally {
    await storm.close();
  }
}

/** A failover changes the primary. A long outage is no silence: requests get 503, and no node says that it is ready. */
function judged(round: Round): Round {
  const { blows, report, notReadyMs, failure } = round;
  if (failure !== undefined) return round;
  try {
    expect(changesIn(round), "changes of the primary").toBeGreaterThanOrEqual(failoversIn(round));
    if (!blows.some((name) => LONG_OUTAGES.includes(name))) return round;
    expect(report?.unavailable).toBeGreaterThan(0);
    for (const node of NODES) expect(notReadyMs?.[node]).toBeGreaterThan(0);
    return round;
  } catch (error) {
    return { ...round, failure: error as Error };
  }
}

const failuresIn = (rounds: readonly Round[]): Error[] => rounds.flatMap(({ failure }) => failure ?? []);

/** The rounds that were asked for, in turn; otherwise each blow in a round of its own. */
function plannedFor(rounds: number): readonly (readonly BlowName[])[] {
  return Array.from({ length: rounds }, (_, round) => BLOWS_ASKED_FOR[round % BLOWS_ASKED_FOR.length] ?? []);
}

function blowNamed(name: string): BlowName {
  if (!(name in BLOWS)) throw new Error(`a blow is one of failovers, ${Object.keys(BLOWS).join(", ")}`);
  return name as BlowName;
}
