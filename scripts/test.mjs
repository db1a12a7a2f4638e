/**
 * `npm test`: prepares the checkout (some tests kill and restart the built program), then runs every test once.
 * Arguments are vitest's own, e.g. `npm test -- src/money`.
 */
import { prepare } from "./prepare.mjs";

/**
 * Long ones that bring a database of their own, or none. With another one to be tested on (PARBOOK_DATABASE_URL) they
 * would only do once more what they do without it.
 */
const OF_THEIR_OWN = [
  "src/postgres/embedded/*.test.ts",
  "test/cli/{secrets,service}.test.ts",
  "test/keeping/*.test.ts",
  "test/reliability/{judges,storm}.test.ts",
  "test/service/ends.test.ts",
  "test/simulation/simulation.test.ts",
];

await prepare({ tools: true });
const left = process.env.PARBOOK_DATABASE_URL === undefined ? [] : OF_THEIR_OWN;
process.argv.splice(2, 0, "run", ...left.flatMap((files) => ["--exclude", files]));
await import("../node_modules/vitest/vitest.mjs");
