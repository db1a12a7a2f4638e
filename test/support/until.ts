import { pause } from "../../src/std/pause.ts";

/** Waits for what has to become true within ten seconds; `what` is said when it does not. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 10_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ten seconds in vain until ${what}`);
    await pause(5);
  }
}
