/** Between a test of many steps and the script that runs it by hand (`scripts/long-run.mjs`): files in a directory. */
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";

const place = process.env.LONG_RUN;

/** Another step is done. */
export function stepDone(): void {
  if (place !== undefined) appendFileSync(join(place, "done"), ".");
}

/** Whether Ctrl-C was pressed: no further step should begin. */
export const isAskedToEnd = (): boolean => place !== undefined && existsSync(join(place, "stop"));
