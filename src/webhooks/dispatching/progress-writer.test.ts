import { expect, onTestFinished, test, vi } from "vitest";
import { deliverableWebhook } from "../../../test/support/deliverable-webhook.ts";
import { NOTHING_YET } from "../../../test/support/queue-world.ts";
import { until } from "../../../test/support/until.ts";
import type { Database } from "../../postgres/database.ts";
import { type Instant, systemClock } from "../../std/clock.ts";
import type { Attempt } from "../attempt.ts";
import { Line } from "./line.ts";
import { ProgressWriter } from "./progress-writer.ts";

const NOW = 1_000_000 as Instant;

const WEBHOOK = deliverableWebhook();

test.each(["is written", "fails"])("a webhook has something unwritten until the write about it %s", async (ends) => {
  const writes: { done: () => void; fail: (error: Error) => void }[] = [];
  const rows = () =>
    new Promise((resolve, reject) =>
      writes.push({ done: () => resolve([{ webhook_id: WEBHOOK.id }]), fail: (error) => reject(error) }),
    );
  const writer = new ProgressWriter({
    database: { commits: { rows } } as unknown as Database,
    history: "first",
    clock: systemClock,
    onFailure: () => undefined,
    onWritten: () => undefined,
  });
  const line = new Line(WEBHOOK, 1n, { now: NOW, random: () => 0.5, stored: NOTHING_YET, rows: [] });
  line.queue.addPage(0n, { events: [], searchedTo: 5n, isLast: true });
  expect(writer.hasUnwritten(line)).toBe(false);
  writer.onChange(line);
  expect(writer.hasUnwritten(line)).toBe(true);
  const writing = writer.write();
  await until("the write is under way", () => writes.length === 1);
  expect(writer.hasUnwritten(line)).toBe(true);
  if (ends === "fails") {
    writes[0]?.fail(new Error("the database is away"));
    await expect(writing).rejects.toThrow("the database is away");
    expect(writer.hasUnwritten(line)).toBe(true);
  } else {
    writes[0]?.done();
    await writing;
    expect(writer.hasUnwritten(line)).toBe(false);
  }
});

test("after a write that failed the next one waits half a second, and then writes the same", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const writes: boolean[] = [];
  let isAway = true;
  const rows = async () => {
    writes.push(!isAway);
    if (isAway) throw new Error("the database is away");
    return [{ webhook_id: WEBHOOK.id }];
  };
  const writer = new ProgressWriter({
    database: { commits: { rows } } as unknown as Database,
    history: "first",
    clock: systemClock,
    onFailure: () => undefined,
    onWritten: () => undefined,
  });
  const running = writer.run();
  const line = new Line(WEBHOOK, 1n, { now: NOW, random: () => 0.5, stored: NOTHING_YET, rows: [] });
  line.queue.addPage(0n, { events: [], searchedTo: 5n, isLast: true });
  writer.onChange(line);
  await vi.advanceTimersByTimeAsync(499);
  expect([writes, writer.isBehind]).toEqual([[false], true]);
  await vi.advanceTimersByTimeAsync(1);
  expect(writes).toEqual([false, false]);
  isAway = false;
  await vi.advanceTimersByTimeAsync(500);
  expect([writes, writer.isBehind, writer.hasUnwritten(line)]).toEqual([[false, false, true], false, false]);
  writer.end();
  await vi.advanceTimersByTimeAsync(50);
  await running;
});

test("nothing more is sent while a thousand attempts are not written, which are written a thousand at once", async () => {
  const written: number[] = [];
  const rows = async (_: string, values: unknown[]) => {
    // The ids of the attempts.
    written.push((values[19] as unknown[]).length);
    return [];
  };
  const writer = new ProgressWriter({
    database: { commits: { rows } } as unknown as Database,
    history: "first",
    clock: systemClock,
    onFailure: () => undefined,
    onWritten: () => undefined,
  });
  for (let made = 0; made < 1_500; made += 1) {
    expect(writer.isBehind).toBe(made >= 1_000);
    writer.onAttempt({ at: NOW } as Attempt);
  }
  await writer.write();
  expect([written, writer.isBehind]).toEqual([[1_000, 500], false]);
});

test("of a webhook that another process has claimed since nothing more is written", async () => {
  let writes = 0;
  const rows = async () => {
    writes += 1;
    return [];
  };
  const writer = new ProgressWriter({
    database: { commits: { rows } } as unknown as Database,
    history: "first",
    clock: systemClock,
    onFailure: () => undefined,
    onWritten: () => undefined,
  });
  const line = new Line(WEBHOOK, 1n, { now: NOW, random: () => 0.5, stored: NOTHING_YET, rows: [] });
  for (const searchedTo of [5n, 9n]) {
    line.queue.addPage(searchedTo === 5n ? 0n : 5n, { events: [], searchedTo, isLast: true });
    writer.onChange(line);
    await writer.write();
  }
  expect([line.state, writes]).toEqual(["stale", 1]);
});
