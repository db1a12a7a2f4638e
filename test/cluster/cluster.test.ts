/**
 * The storm on a cluster: three PostgreSQL under Patroni, two nodes of Parbook. Two failovers each time; more by hand, one
 * blow in each round: `npm run storm -- --cluster --rounds 100 --seed 7`.
 */
import { expect, test } from "vitest";
import { type RoundReport, Storm } from "../reliability/storm/storm.ts";
import { tableOf } from "../reliability/storm/storm-table.ts";
import { required } from "../support/required.ts";
import { BLOWS, type BlowName } from "./blows.ts";
import { Cluster, whyNoCluster } from "./cluster.ts";

const { STORM_ROUNDS, STORM_SEED = "1", STORM_FAULT } = process.env;
if (STORM_FAULT !== undefined && !(STORM_FAULT in BLOWS))
  throw new Error(`a blow is one of ${Object.keys(BLOWS).join(", ")}`);
const IN_SHORT: readonly (readonly BlowName[])[] = [["primary-killed", "switchover"]];
/** The goals, on a machine that is not busy with anything else. */
const BACK_AFTER_A_KILL_MS = 35_000;

test(
  "nothing that was answered is lost when the primary of the database is lost, and nothing happens twice",
  async (context) => {
    required(context, whyNoCluster());
    const rounds = STORM_ROUNDS === undefined ? IN_SHORT : planned(Number(STORM_ROUNDS));
    const reports: RoundReport[] = [];
    const storm = await Storm.open(Number(STORM_SEED), BLOWS, Cluster.open);
    try {
      for (const blows of rounds) await storm.reportRound(blows, reports);
      await storm.end();
    } catch (error) {
      process.stdout.write(await storm.site.lastWords());
      throw error;
    } finally {
      process.stdout.write(tableOf(reports));
      await storm.close();
    }
    expect(reports.reduce((total, { answered }) => total + answered, 0)).toBeGreaterThan(rounds.length * 30);
    if (STORM_ROUNDS !== undefined) return;
    for (const ms of reports.flatMap(({ recoveriesMs }) => recoveriesMs))
      expect(ms).toBeLessThan(2 * BACK_AFTER_A_KILL_MS);
  },
  240_000 + Number(STORM_ROUNDS ?? 1) * 300_000,
);

/** The same blow in each round, or each in turn. */
function planned(rounds: number): readonly (readonly BlowName[])[] {
  const names = Object.keys(BLOWS) as BlowName[];
  return Array.from({ length: rounds }, (_, round) => [(STORM_FAULT ?? names[round % names.length]) as BlowName]);
}
