/**
 * The storm on a cluster: three PostgreSQL under Patroni, two nodes of Parbook. Two failovers each time; more by hand, one
 * blow in each round: `npm run storm -- --cluster --rounds 100 --seed 7`.
 */
import { expect, test } from "vitest";
import { type RoundReport, Storm } from "../reliability/storm/storm.ts";
import { tableOf } from "../reliability/storm/storm-table.ts";
import { isAskedToEnd } from "../support/long-run.ts";
import { required } from "../support/required.ts";
import { BLOWS, type BlowName } from "./blows.ts";
import { Cluster, NODES } from "./cluster.ts";
import { whyNoCluster } from "./programs.ts";
import { type Readiness, ReadinessWatch, readinessTableOf } from "./readiness.ts";

const { STORM_ROUNDS, STORM_SEED = "1", STORM_FAULT } = process.env;
/** `primary-killed,restart+switchover`: one blow in the first round, two in the second. */
const BLOWS_ASKED_FOR = (STORM_FAULT?.split(",") ?? Object.keys(BLOWS)).map((round) => round.split("+").map(blowNamed));
const IN_SHORT: readonly (readonly BlowName[])[] = [["primary-killed", "switchover"]];
/** The goal after a kill, on a machine that is not busy with anything else. */
const BACK_AFTER_A_KILL_MS = 35_000;
/** While these last, which is longer than a lease, no node has a primary to write to. */
const LONG_OUTAGES: readonly BlowName[] = ["primary-killed", "machine-killed", "primary-paused", "etcd-away"];

test(
  "nothing that was answered is lost when the primary of the database is lost, and nothing happens twice",
  async (context) => {
    required(context, whyNoCluster());
    const rounds = STORM_ROUNDS === undefined ? IN_SHORT : planned(Number(STORM_ROUNDS));
    const reports: RoundReport[] = [];
    const readiness: Readiness[] = [];
    const storm = await Storm.open(Number(STORM_SEED), BLOWS, Cluster.open);
    try {
      for (const blows of rounds) {
        if (isAskedToEnd()) break;
        const watch = new ReadinessWatch(storm.site);
        await storm.reportRound(blows, reports);
        readiness.push(await watch.end(blows));
        expectSaidSo(blows, reports.at(-1), readiness.at(-1));
      }
      await storm.end();
    } catch (error) {
      process.stdout.write(await storm.site.lastWords());
      throw error;
    } finally {
      process.stdout.write(`${tableOf(reports)}${readinessTableOf(readiness)}`);
      await storm.close();
    }
    expect(reports.reduce((total, { answered }) => total + answered, 0)).toBeGreaterThanOrEqual(reports.length * 30);
    if (STORM_ROUNDS !== undefined) return;
    for (const ms of reports.flatMap(({ recoveriesMs }) => recoveriesMs))
      expect(ms).toBeLessThan(2 * BACK_AFTER_A_KILL_MS);
  },
  240_000 + Number(STORM_ROUNDS ?? 1) * 240_000 * Math.max(...BLOWS_ASKED_FOR.map(({ length }) => length)),
);

/** A long outage is no silence: requests are answered with 503, and no node says that it is ready. */
function expectSaidSo(
  blows: readonly BlowName[],
  report: RoundReport | undefined,
  readiness: Readiness | undefined,
): void {
  if (!blows.some((name) => LONG_OUTAGES.includes(name))) return;
  expect(report?.unavailable).toBeGreaterThan(0);
  for (const node of NODES) expect(readiness?.notReadyMs[node]).toBeGreaterThan(0);
}

/** The rounds that were asked for, in turn; otherwise each blow in a round of its own. */
function planned(rounds: number): readonly (readonly BlowName[])[] {
  return Array.from({ length: rounds }, (_, round) => BLOWS_ASKED_FOR[round % BLOWS_ASKED_FOR.length] ?? []);
}

function blowNamed(name: string): BlowName {
  if (!(name in BLOWS)) throw new Error(`a blow is one of ${Object.keys(BLOWS).join(", ")}`);
  return name as BlowName;
}
