import { pause } from "../../src/std/pause.ts";

/** Waits for what has to become true within ten seconds, or as many as are given; `what` is said when it does not. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, seconds = 10): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited ${seconds} seconds in vain until ${what}`);
    await pause(5);
  }
}

/** Waits for the next millisecond: what is of the same one has no order by time, in which many lists are. */
export async function untilNextMillisecond(): Promise<void> {
  const now = Date.now();
  await until("the clock goes on", () => Date.now() > now);
}
