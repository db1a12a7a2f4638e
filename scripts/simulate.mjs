/**
 * `npm run simulate -- --seeds 100000`: that many seeds of the simulation, from `--from` on; `--seed 54` is one of them
 * alone. See `test/simulation/`.
 */
import { parseArgs } from "node:util";
import { runLong } from "./long-run.mjs";

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string" },
    seed: { type: "string" },
  },
});
if (values.seed !== undefined && (values.seeds ?? values.from) !== undefined) {
  console.error("--seed is one seed alone: without --seeds and --from");
  process.exit(2);
}
const { seeds = "1000", from = "1" } = values;
const total = values.seed === undefined ? Number(seeds) : 1;
const first = Number(values.seed ?? from);
process.env.SIMULATION_SEEDS = String(total);
process.env.SIMULATION_SEED = String(first);
await runLong({
  ...{ what: "simulating", unit: "seeds", total },
  args: ["test/simulation/simulation.test.ts", "-t", "under faults"],
  goOn: (done) => `npm run simulate -- --from ${first + done} --seeds ${total - done}`,
});
