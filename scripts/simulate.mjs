/**
 * `npm run simulate -- --seeds 100000`: that many seeds of the simulation, from `--from` on; `--seed 54` is one of them
 * alone. See `test/simulation/`.
 */
import { parseArgs } from "node:util";
import { prepare } from "./prepare.mjs";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
  },
});
process.env.SIMULATION_SEEDS = values.seed === undefined ? values.seeds : "1";
process.env.SIMULATION_SEED = values.seed ?? values.from;
await prepare({ tools: true });
process.argv = [...process.argv.slice(0, 2), "run", "test/simulation/simulation.test.ts", "-t", "under faults"];
await import("../node_modules/vitest/vitest.mjs");
