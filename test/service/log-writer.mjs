/** Writes numbered lines to the log, one every few milliseconds, until asked to stop; then tells how many were dropped. */
import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createLogger, droppedLogLines } from "../../dist/service/logger.js";

const [output, report, count, padding] = process.argv.slice(2);
const log = createLogger({ logLevel: "info" }, Number(output));
for (let i = 0; i < Number(count); i += 1) {
  log.info({ i, padding: "x".repeat(Number(padding)) }, "a line");
  await pause(2);
}
writeFileSync(report, String(droppedLogLines()));
