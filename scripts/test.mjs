/**
 * `npm test`: prepares the checkout (some tests run the built program), then runs every test once. Arguments are vitest's,
 * e.g. `npm test -- src/money`.
 */
import { prepare } from "./prepare.mjs";

await prepare({ tools: true });
// The others do not use PARBOOK_DATABASE_URL: the result would be the same. See also vitest.config.ts.
const options = process.env.PARBOOK_DATABASE_URL === undefined ? [] : ["--project", "database*"];
process.argv.splice(2, 0, "run", ...options);
await import("../node_modules/vitest/vitest.mjs");
