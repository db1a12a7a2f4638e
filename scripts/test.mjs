/**
 * `npm test`: prepares the checkout (some tests kill and restart the built program), then runs every test once.
 * Arguments are vitest's own, e.g. `npm test -- src/money`.
 */
import { prepare } from "./prepare.mjs";

await prepare({ tools: true });
process.argv.splice(2, 0, "run");
await import("../node_modules/vitest/vitest.mjs");
