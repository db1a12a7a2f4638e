/**
 * `npm run storm -- --rounds 100 --seed 7`: storms of orders in which the service or its database is killed, one after
 * the other, and a table of what came of it. See `test/reliability/`.
 */
import { parseArgs } from "node:util";
import { prepare } from "./prepare.mjs";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "100" }, seed: { type: "string", default: "1" } },
});
process.env.STORM_ROUNDS = values.rounds;
process.env.STORM_SEED = values.seed;
await prepare({ tools: true });
process.argv = [...process.argv.slice(0, 2), "run", "test/reliability/storm.test.ts"];
await import("../node_modules/vitest/vitest.mjs");
