import { expect, onTestFinished, test, vi } from "vitest";
import { NOTHING_YET } from "../../../test/support/queue-world.ts";
import { until } from "../../../test/support/until.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { DeliverableWebhook, WebhookId } from "../../customers/webhooks/webhook.ts";
import type { Database } from "../../postgres/database.ts";
import { type Instant, systemClock } from "../../std/clock.ts";
import { Line } from "./line.ts";
import { ProgressWriter } from "./progress-writer.ts";

const NOW = 1_000_000 as Instant;

const WEBHOOK: DeliverableWebhook = {
  id: "0190d5a4-0000-7000-8000-000000000001" as WebhookId,
  customerId: "0190d5a4-0000-7000-8000-000000000002" as CustomerId,
  name: "orders",
  url: "https://example.com",
  types: ["*"],
  body: "thin",
  deliveryOrder: "per_object",
  deliveriesPerSecond: 100,
  receiverAccess: undefined,
  receiverSecret: undefined,
  status: "ACTIVE",
  disabledReason: undefined,
  disabledAt: undefined,
  publicKeys: [],
  signingSecrets: [],
  createdAt: NOW,
  updatedAt: NOW,
  version: 1n,
};

test.each(["is written", "fails"])("a webhook has something unwritten until the write about it %s", async (ends) => {
  const writes: { done: () => void; fail: (error: Error) => void }[] = [];
  const rows = () =>
    new Promise((resolve, reject) =>
      writes.push({ done: () => resolve([{ webhook_id: WEBHOOK.id }]), fail: (error) => reject(error) }),
    );
  const writer = new ProgressWriter({
    database: { commits: { rows } } as unknown as Database,
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
