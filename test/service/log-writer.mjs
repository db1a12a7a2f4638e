/** Writes numbered lines to the log, one every few milliseconds; then tells how many, and how many of them were dropped. */
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createLogger, droppedLogLines } from "../../dist/service/logger.js";

const [output, report, count, padding, back] = process.argv.slice(2);
const log = createLogger({ logLevel: "info" }, Number(output));
let lines = 0;

async function writeWhile(holds) {
  while (holds()) {
    log.info({ i: lines, padding: "x".repeat(Number(padding)) }, "a line");
    lines += 1;
    await pause(2);
  }
}

if (back !== undefined) {
  await writeWhile(() => droppedLogLines() === 0);
  // Its reader is gone, and may come back: the file `back` says when it is there.
  writeFileSync(report, "");
  await writeWhile(() => !existsSync(back));
}
const first = lines;
await writeWhile(() => lines < first + Number(count));
writeFileSync(report, JSON.stringify({ lines, dropped: droppedLogLines() }));
