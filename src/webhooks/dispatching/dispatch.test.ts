/** What a process does while it delivers, without a database: its time is the test's. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { answered, deliver, NO_ANSWER, pass, START, upTo, WEBHOOK } from "../../../test/support/dispatch.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { DeliverableWebhook, WebhookId } from "../../customers/webhooks/webhook.ts";
import { CannotDecrypt } from "../../postgres/storage-encryption.ts";
import type { Answer } from "../sender.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

test("secrets that cannot be decrypted are reported once, and nothing more is posted with those before them", async () => {
  const { world, log, posted, listeners, publish, finish } = deliver();
  await pass(100);
  [world.webhooks, world.isReadable] = [[{ ...WEBHOOK, version: 2n }], false];
  await pass(3_000);
  publish(2);
  await pass(3_000);
  const unreadable = { kind: "unreadable", webhookId: WEBHOOK.id, error: new CannotDecrypt("another key") };
  expect(log.filter(({ kind }) => kind !== "attempted")).toEqual([unreadable]);
  expect([posted, listeners.size]).toEqual([["orders event-1"], 0]);
  [world.webhooks, world.isReadable] = [[{ ...WEBHOOK, name: "renamed", version: 3n }], true];
  await pass(2_000);
  // Where it was is what the database says, which is the test's.
  expect(posted).toEqual(["orders event-1", "renamed event-1", "renamed event-2"]);
  await finish();
});

test("what was disabled is recorded at the beginning, and after each time that a webhook is disabled", async () => {
  const { world, log, posted, calls, publish, finish } = deliver();
  await pass(1_500);
  expect([posted, calls.recordDisabled]).toEqual([["orders event-1"], 1]);
  world.answer = () => answered(410);
  publish(2);
  await pass(3_000);
  const { id, version } = WEBHOOK;
  expect(calls.disabled).toEqual([[id, version, "gone", expect.any(Number)]]);
  const disabled = { kind: "disabled", webhook: WEBHOOK, reason: "gone" };
  expect(log.filter(({ kind }) => kind === "disabled")).toEqual([disabled]);
  expect([posted, calls.recordDisabled]).toEqual([["orders event-1", "orders event-2"], 2]);
  await finish();
});

test("what was disabled is recorded again each second until that has succeeded", async () => {
  const { world, posted, calls, finish } = deliver({ isRecordable: false });
  await pass(2_500);
  expect([calls.recordDisabled, calls.failures.length]).toEqual([3, 1]);
  world.isRecordable = true;
  await pass(3_000);
  expect([posted, calls.recordDisabled, calls.ended]).toEqual([["orders event-1"], 4, [3]]);
  await finish();
});

test("a webhook that was changed before it could be disabled is not said to be", async () => {
  const { log, calls, finish } = deliver({ answer: () => answered(410), isUnchanged: false });
  await pass(3_000);
  expect([calls.disabled.length, log.filter(({ kind }) => kind === "disabled")]).toEqual([1, []]);
  await finish();
});

test.each([
  ["nothing", [], []],
  ["the next event", upTo(2).slice(1), ["orders event-2"]],
])(
  "what is to be tried again and is no longer kept is not, and its row is removed: %s is kept",
  async (_, log, sent) => {
    const open = { webhook_id: WEBHOOK.id, number: "1", object_id: "object 0", status: "RETRYING", attempts: 1 };
    const due = { next_attempt_at: START, last_error: "answered 500" };
    const { statements, posted, asked, finish } = deliver({ open: [{ ...open, ...due }], log });
    await pass(2_000);
    expect(asked.filter(({ limit, after }) => limit === 1 && after === 0n)).toHaveLength(1);
    const removed = statements.flatMap(([text, values]) => (text.startsWith("with written as") ? [values[9]] : []));
    expect([posted, removed.flat()]).toEqual([sent, [1n]]);
    await finish();
  },
);

test("what a clock that was ahead has delayed for years is tried within the longest delay", async () => {
  const open = { webhook_id: WEBHOOK.id, number: "1", object_id: "object 0", status: "RETRYING", attempts: 1 };
  const inYears = { next_attempt_at: START + 10 * 365 * 86_400_000, last_error: "answered 500" };
  const { posted, finish } = deliver({ open: [{ ...open, ...inYears }] });
  await pass(100);
  expect(posted).toEqual([]);
  vi.setSystemTime(START + 28 * 3_600_000);
  await pass(100);
  expect(posted).toEqual(["orders event-1"]);
  await finish();
});

test("what was in flight when somebody else took over is no attempt, and nothing waits for it", async () => {
  const hangs = (_: DeliverableWebhook, signal: AbortSignal) =>
    new Promise<Answer>((resolve) => signal.addEventListener("abort", () => resolve(NO_ANSWER)));
  const { dispatch, running, statements, log, posted } = deliver({ answer: hangs });
  await pass(100);
  expect(dispatch.report()).toEqual({ webhooks: 1, failing: 0, inFlight: 1, mostPerSecond: 2_500 });
  dispatch.end("at once");
  await pass(100);
  await running;
  expect([posted, log]).toEqual([["orders event-1"], []]);
  const attempts = statements.flatMap(([text, values]) => (text.startsWith("with written as") ? [values[19]] : []));
  expect(attempts.flat()).toEqual([]);
});

test("what is not answered within five seconds of the end is no attempt", async () => {
  const hangs = (_: DeliverableWebhook, signal: AbortSignal) =>
    new Promise<Answer>((resolve) => signal.addEventListener("abort", () => resolve(NO_ANSWER)));
  const { dispatch, running, log, posted } = deliver({ answer: hangs });
  let hasEnded = false;
  void running.then(() => {
    hasEnded = true;
  });
  await pass(100);
  dispatch.end("waits");
  await pass(4_900);
  expect([dispatch.report().inFlight, hasEnded]).toEqual([1, false]);
  await pass(200);
  expect([hasEnded, posted, log]).toEqual([true, ["orders event-1"], []]);
});

test("past the time of its lease a process ends by itself", async () => {
  const { dispatch, running, posted, publish } = deliver();
  dispatch.maySendUntilMs = performance.now() + 500;
  await pass(600);
  await running;
  publish(2);
  await pass(100);
  expect(posted).toEqual(["orders event-1"]);
});

test("once it has ended nothing listens, and no timer is left", async () => {
  const { listeners, finish } = deliver();
  await pass(100);
  expect([listeners.size, vi.getTimerCount() > 0]).toEqual([1, true]);
  await finish();
  expect([listeners.size, vi.getTimerCount()]).toEqual([0, 0]);
});

test("each two hundred attempts those before the last thousand are removed, while deliveries go on", async () => {
  const { statements, posted, publish, finish } = deliver({ log: upTo(199) });
  const trims = () => statements.flatMap(([text, values]) => (text.includes("offset $2") ? [values] : []));
  await pass(5_000);
  expect([posted.length, trims()]).toEqual([199, []]);
  publish(200);
  await pass(1_000);
  expect([posted.length, trims()]).toEqual([200, [[WEBHOOK.id, 1_000]]]);
  await finish();
});

test("after a failure to read events a webhook rests for a second, and the failure is reported until it is over", async () => {
  const { events, posted, calls, publish, finish } = deliver({ log: [] });
  await pass(100);
  const away = new Error("the database is away");
  const before = events.list.mock.calls.length;
  events.list.mockRejectedValueOnce(away);
  publish(1);
  await pass(990);
  expect([events.list.mock.calls.length - before, posted, calls.failures]).toEqual([1, [], [away]]);
  await pass(1_100);
  expect([posted, calls.failures, calls.ended]).toEqual([["orders event-1"], [away], [1]]);
  await finish();
});

test("after a failure to read what is tried again a webhook rests for a second, too", async () => {
  const open = { webhook_id: WEBHOOK.id, number: "1", object_id: "object 0", status: "RETRYING", attempts: 1 };
  const due = { next_attempt_at: START + 1_000, last_error: "answered 500" };
  const { events, posted, calls, finish } = deliver({ open: [{ ...open, ...due }] });
  await pass(900);
  const away = new Error("the database is away");
  const before = events.list.mock.calls.length;
  events.list.mockRejectedValueOnce(away);
  await pass(1_000);
  expect([events.list.mock.calls.length - before, posted, calls.failures]).toEqual([1, [], [away]]);
  await pass(300);
  expect(posted).toEqual(["orders event-1"]);
  await finish();
});

test("while what was delivered cannot be written nothing more is posted, and afterwards the rest is", async () => {
  const { world, posted, calls, publish, finish } = deliver({ log: [] });
  await pass(100);
  world.isWritable = false;
  publish(1);
  await pass(200);
  expect([posted, calls.failures.length]).toEqual([["orders event-1"], 1]);
  publish(5);
  await pass(3_000);
  expect(posted).toEqual(["orders event-1"]);
  world.isWritable = true;
  await pass(3_000);
  expect(posted).toEqual([1, 2, 3, 4, 5].map((n) => `orders event-${n}`));
  await finish();
});

test("receivers that fail have a turn among four, however much there is for the others", async () => {
  const webhook = (n: number, name: string): DeliverableWebhook => ({
    ...{ ...WEBHOOK, name, deliveryOrder: "any" },
    id: `0190d5a4-0000-7000-8000-0000000001${n}` as WebhookId,
    customerId: `0190d5a4-0000-7000-8000-0000000002${n}` as CustomerId,
  });
  const live = Array.from({ length: 40 }, (_, i) => webhook(10 + i, "live"));
  const failing = webhook(50, "failing");
  const { posted, finish } = deliver({
    ...{ log: upTo(300), webhooks: [...live, failing], failing: new Set([failing.id]) },
    answer: ({ name }) => answered(name === "live" ? 204 : 500),
  });
  await pass(500);
  expect(posted.filter((one) => one.startsWith("live")).length).toBeGreaterThan(500);
  expect(posted.filter((one) => one.startsWith("failing")).length).toBeGreaterThanOrEqual(8);
  await finish();
});

test("while the thread is busy there are fewer deliveries a second", async () => {
  const { dispatch, finish } = deliver({ utilization: 1 });
  expect(dispatch.report().mostPerSecond).toBe(2_500);
  await pass(5_000);
  expect(dispatch.report().mostPerSecond).toBe(200);
  await finish();
});

test("the largest batches of a customer's webhooks are few a second", async () => {
  const webhook = (_: unknown, n: number): DeliverableWebhook => ({
    ...{ ...WEBHOOK, deliveryOrder: "strict", deliveriesPerSecond: 100 },
    id: `0190d5a4-0000-7000-8000-00000000010${n}` as WebhookId,
  });
  const webhooks = Array.from({ length: 10 }, webhook);
  const { posted, asked, log, finish } = deliver({ ...{ log: upTo(100_000), webhooks }, body: "x".repeat(10_485) });
  await pass(2_000);
  // Twelve have nearly 128 KiB: they count seven times and once, and a customer has 500 a second.
  expect(posted.length).toBeGreaterThan(100);
  expect(posted.length).toBeLessThanOrEqual(Math.ceil((2.1 * 500) / 8) + 1);
  expect(new Set(posted.map((one) => one.split("_")[1]))).toEqual(new Set(["12"]));
  expect(new Set(log.map((event) => "events" in event && event.events))).toEqual(new Set([12]));
  // One as each is opened; then no more than are posted at once.
  expect(new Set(asked.map(({ limit, mostBytes }) => `${limit} ${mostBytes}`))).toEqual(
    new Set(["1 undefined", "100 131072"]),
  );
  await finish();
});
