/**
 * `npm run storm -- --rounds 100 --seed 7`: fault injection under a load of transfers, conversions, orders and the steps of
 * operators, with a table of results; `--fault disk-full` injects one kind of fault only. See `test/reliability/`. With
 * `--cluster` the database is a cluster under Patroni, and the faults are those of `test/cluster/`; with `--restore` too it is
 * brought back to a moment.
 */
import { parseArgs } from "node:util";
import { prepare } from "./prepare.mjs";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "100" },
    short: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    fault: { type: "string" },
    cluster: { type: "boolean", default: false },
    restore: { type: "boolean", default: false },
  },
});
if (!values.short) process.env.STORM_ROUNDS = values.rounds;
process.env.STORM_SEED = values.seed;
if (values.fault !== undefined) process.env.STORM_FAULT = values.fault;
await prepare({ tools: true });
if (values.cluster) process.env.STORM_CLUSTER = "yes";
if (values.restore) process.env.STORM_RESTORE = "yes";
const ofCluster = values.restore ? "test/cluster/restore.test.ts" : "test/cluster/cluster.test.ts";
const test = values.cluster ? ofCluster : "test/reliability/storm/storm.test.ts";
process.argv = [...process.argv.slice(0, 2), "run", test];
await import("../node_modules/vitest/vitest.mjs");
