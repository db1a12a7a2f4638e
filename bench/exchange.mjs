/**
 * The figures of the exchange, one table after the other: the book alone, orders through HTTP, and pages of executions.
 * Each is a script of its own with options of its own; this runs them all as they are.
 *
 *   node bench/exchange.mjs
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { prepare } from "../scripts/prepare.mjs";

await prepare({ tools: true });
for (const script of ["book.mjs", "orders.mjs", "executions.mjs"]) {
  const { status } = spawnSync(process.execPath, [fileURLToPath(new URL(script, import.meta.url))], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
  console.log("");
}
