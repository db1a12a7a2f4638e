import { expect, test } from "vitest";
import { pause } from "./pause.ts";
import { ThreadLoad } from "./thread-load.ts";

function work(ms: number): void {
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt);
}

test("a thread that works is busy, one that waits is not, and what was measured just now still holds", async () => {
  const load = new ThreadLoad();
  work(60);
  await pause(0);
  const busy = load.utilization;
  expect(busy).toBeGreaterThan(0.8);
  expect(load.utilization).toBe(busy);
  await pause(300);
  expect(load.utilization).toBeLessThan(0.5);
});
