/**
 * `npm test`: prepares the checkout (some tests run the built program), then runs every test once. Arguments are vitest's,
 * e.g. `npm test -- src/money`.
 */
import { prepare } from "./prepare.mjs";

/**
 * Long tests with their own database or none: excluded when testing another database (PARBOOK_DATABASE_URL), since the
 * result would be the same.
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
