/**
 * `npm run storm -- --rounds 100 --seed 7`: fault injection under a load of transfers, conversions, orders and the steps of
 * operators, with a table of results; `--fault disk-full` injects one kind of fault only. See `test/reliability/`. With
 * `--cluster` the database is a cluster under Patroni, and the faults are those of `test/cluster/`; with `--restore` too it is
 * brought back to a moment. With `--webhooks` two nodes deliver to receivers that fail: see `test/webhooks/storm/`.
 */
import { parseArgs } from "node:util";
import { runLong } from "./long-run.mjs";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "100" },
    short: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    fault: { type: "string" },
    cluster: { type: "boolean", default: false },
    restore: { type: "boolean", default: false },
    webhooks: { type: "boolean", default: false },
  },
});
if (!values.short) process.env.STORM_ROUNDS = values.rounds;
process.env.STORM_SEED = values.seed;
if (values.fault !== undefined) process.env.STORM_FAULT = values.fault;
if (values.cluster) process.env.STORM_CLUSTER = "yes";
if (values.restore) process.env.STORM_RESTORE = "yes";
const ofCluster = values.restore ? "test/cluster/restore.test.ts" : "test/cluster/cluster.test.ts";
const ofService = values.webhooks ? "test/webhooks/storm/storm.test.ts" : "test/reliability/storm/storm.test.ts";
const test = values.cluster ? ofCluster : ofService;
const inShort = values.cluster ? 1 : values.webhooks ? 2 : 3;
const total = values.restore ? 1 : values.short ? inShort : Number(values.rounds);
const same = [
  values.cluster ? "--cluster " : "",
  values.webhooks ? "--webhooks " : "",
  values.fault === undefined ? "" : `--fault ${values.fault} `,
].join("");
await runLong({
  ...{ what: "storming", unit: "rounds", total, args: [test] },
  goOn: (done) => `npm run storm -- ${same}--rounds ${total - done} --seed ${Number(values.seed) + done}`,
});
