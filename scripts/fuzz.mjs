/**
 * `npm run fuzz -- --requests 100000 --seed 7`: a long run of the fuzzer, of which `npm test` makes a short one. The
 * seed tells the run: the same one makes the same requests of the same service.
 */
import { parseArgs } from "node:util";
import { prepare } from "./prepare.mjs";

const { values } = parseArgs({
  options: { requests: { type: "string", default: "100000" }, seed: { type: "string", default: "1" } },
});
for (const [name, value] of Object.entries(values)) {
  if (/^[0-9]{1,9}$/.test(value)) continue;
  console.error(`--${name} ${value} is not a number`);
  process.exit(1);
}
process.env.PARBOOK_FUZZ_REQUESTS = values.requests;
process.env.PARBOOK_FUZZ_SEED = values.seed;
await prepare({ tools: true, build: false });
process.argv.splice(2, process.argv.length, "run", "test/fuzz/fuzz.test.ts");
await import("../node_modules/vitest/vitest.mjs");
