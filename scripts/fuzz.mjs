/**
 * `npm run fuzz -- --requests 100000 --seed 7`: a long run of the request fuzzer; `npm test` includes a short one.
 * `npm run fuzz -- --sequences 500000 --seed 7`: the same for raw byte sequences. A seed reproduces a run.
 */
import { parseArgs } from "node:util";
import { prepare } from "./prepare.mjs";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "100000" },
    sequences: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});
for (const [name, value] of Object.entries(values)) {
  if (/^[0-9]{1,9}$/.test(value)) continue;
  console.error(`--${name} ${value} is not a number`);
  process.exit(1);
}
const { requests, sequences, seed } = values;
process.env.PARBOOK_FUZZ_SEED = seed;
if (sequences === undefined) process.env.PARBOOK_FUZZ_REQUESTS = requests;
else process.env.PARBOOK_FUZZ_SEQUENCES = sequences;
await prepare({ tools: true, build: false });
const file = sequences === undefined ? "test/fuzz/fuzz.test.ts" : "test/fuzz/connections.test.ts";
process.argv.splice(2, process.argv.length, "run", file);
await import("../node_modules/vitest/vitest.mjs");
