/** What happens to webhooks that are moved, disabled or deleted while something else is waited for. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { deliver, NO_ANSWER, pass, START, upTo, WEBHOOK } from "../../../test/support/dispatch.ts";
import { gate } from "../../../test/support/gate.ts";
import type { DeliverableWebhook, WebhookId } from "../../customers/webhooks/webhook.ts";
import type { Answer } from "../sender.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

const RETRIED = {
  ...{ webhook_id: WEBHOOK.id, number: "1", object_id: "object 0", status: "RETRYING", attempts: 1 },
  ...{ next_attempt_at: START, last_error: "answered 500" },
};

const moved = (webhook = WEBHOOK): DeliverableWebhook => ({ ...webhook, name: "moved", version: 2n });

const webhooksOf = (count: number): DeliverableWebhook[] =>
  Array.from({ length: count }, (_, i) => ({
    ...WEBHOOK,
    name: `w${i}`,
    id: `0190d5a4-0000-7000-8000-${String(i).padStart(12, "0")}` as WebhookId,
  }));

/** What was written: the numbers of rows that were removed, and the attempts. */
const written = (statements: readonly (readonly [string, readonly unknown[]])[]): unknown[] =>
  statements.flatMap(([text, values]) => (text.startsWith("with written as") ? [values[9], values[19]] : [])).flat();

test.each(["per_object", "strict", "any"] as const)(
  "what is tried again of a webhook (%s) that is moved while it is read goes to its new receiver, as if it had not been taken",
  async (deliveryOrder) => {
    const webhook = { ...WEBHOOK, deliveryOrder };
    const { world, posted, log, statements, events, finish } = deliver({
      ...{ webhooks: [webhook], log: upTo(2), open: [RETRIED] },
    });
    const list = events.list.getMockImplementation() ?? expect.fail();
    const reading = gate();
    events.list.mockImplementation(async (filter) => {
      await reading.opened;
      return list(filter);
    });
    await pass(100);
    world.webhooks = [moved(webhook)];
    await pass(60_000);
    expect(posted).toEqual([]);
    expect(written(statements)).toEqual([]);
    reading.open();
    await pass(2_000);
    expect(posted.map((one) => one.replace(/_.*/, ""))).toEqual(["moved event-1", "moved event-2"]);
    expect(log.map(({ kind }) => kind)).toEqual(["attempted", "attempted"]);
    await finish();
  },
);

test.each(["per_object", "strict"] as const)(
  "a webhook (%s) that is moved while a token for it is fetched gets nothing at its former receiver, and all at its new one",
  async (deliveryOrder) => {
    const webhook = { ...WEBHOOK, deliveryOrder };
    const token = gate();
    const { world, posted, log, finish } = deliver({
      ...{ webhooks: [webhook], log: upTo(2), credentials: () => token.opened },
    });
    await pass(100);
    world.webhooks = [moved(webhook)];
    await pass(20_000);
    token.open();
    await pass(3_000);
    const events = posted.map((one) => one.replace(/_.*/, ""));
    expect(events).toEqual(deliveryOrder === "strict" ? ["moved event-1"] : ["moved event-1", "moved event-2"]);
    expect(log.map(({ kind }) => kind)).toEqual(events.map(() => "attempted"));
    await finish();
  },
);

test("once it ends a process posts nothing more, though what lets it in comes only then", async () => {
  const token = gate();
  const { dispatch, running, posted, log } = deliver({ credentials: () => token.opened });
  await pass(100);
  dispatch.end("waits");
  token.open();
  await pass(100);
  await running;
  expect([posted, log]).toEqual([[], []]);
});

test("what a receiver is being posted while its webhook is deleted has the outcome that the receiver gives it", async () => {
  const late = gate();
  const accepted: Answer = { kind: "answered", status: 204, retryAfter: undefined, body: Buffer.alloc(0), ms: 9_000 };
  const answer = async (_: DeliverableWebhook, signal: AbortSignal): Promise<Answer> => {
    await late.opened;
    return signal.aborted ? NO_ANSWER : accepted;
  };
  const { world, posted, log, dispatch, finish } = deliver({ answer });
  await pass(100);
  world.webhooks = [];
  await pass(9_000);
  late.open();
  await pass(1_500);
  expect(posted).toEqual(["orders event-1"]);
  expect(log).toEqual([expect.objectContaining({ kind: "attempted", outcome: "accepted" })]);
  expect(dispatch.report().webhooks).toBe(0);
  await finish();
});

test("of more than are listed at once the others are looked for without a pause", async () => {
  const { posted, finish } = deliver({ webhooks: webhooksOf(20), mostListed: 3 });
  await pass(500);
  expect(new Set(posted).size).toBe(20);
  await finish();
});

test("whether events have expired is looked up beside what is delivered", async () => {
  const { posted, events, log, finish } = deliver({ webhooks: webhooksOf(20) });
  const list = events.list.getMockImplementation() ?? expect.fail();
  events.list.mockImplementation(async (filter) => {
    if (filter.limit === 1) await new Promise((resolve) => setTimeout(resolve, 500));
    return list(filter);
  });
  await pass(2_000);
  expect(new Set(posted).size).toBe(20);
  expect(log.every(({ kind }) => kind === "attempted")).toBe(true);
  await finish();
});

test("a webhook that is moved while others are opened is opened only where it is by then, within a second", async () => {
  const all = webhooksOf(150);
  const [first, ...others] = all;
  const opening = gate();
  let openings = 0;
  const delay = (statement: string): void | Promise<void> => {
    if (!statement.includes("with locked as")) return;
    openings += 1;
    if (openings === 2) return opening.opened;
  };
  const { world, posted, finish } = deliver({ webhooks: [...others, first ?? WEBHOOK], delay });
  await pass(500);
  world.webhooks = [...others, moved(first)];
  opening.open();
  await pass(1_100);
  expect(posted).toHaveLength(150);
  expect(posted.filter((one) => one.startsWith("w0 ") || one.startsWith("moved "))).toEqual(["moved event-1"]);
  await finish();
});

test("a webhook that is disabled while a thousand others are opened slowly gets nothing more within seconds", async () => {
  const all = webhooksOf(1_000);
  const delay = (statement: string): void | Promise<void> => {
    if (statement.includes("with locked as")) return new Promise((resolve) => setTimeout(resolve, 1_000));
  };
  const { world, posted, publish, finish } = deliver({ webhooks: all, delay });
  await pass(1_500);
  expect(posted).toContain("w0 event-1");
  world.webhooks = all.slice(1);
  await pass(3_000);
  publish(2);
  await pass(9_000);
  expect(posted).not.toContain("w0 event-2");
  expect(new Set(posted.filter((one) => one.endsWith("event-2"))).size).toBe(999);
  await finish();
});

test.each([
  ["it cannot be recorded which ones were disabled", { isRecordable: false }],
  [
    "old attempts are being removed",
    {
      delay: (statement: string): void | Promise<void> => {
        if (statement.includes("delete from webhook_attempt"))
          return new Promise((resolve) => setTimeout(resolve, 30_000));
      },
    },
  ],
])("a webhook that is disabled while %s gets nothing more", async (_, given) => {
  const { world, posted, publish, finish } = deliver(given);
  await pass(3_100);
  expect(posted).toEqual(["orders event-1"]);
  world.webhooks = [];
  await pass(1_100);
  publish(2);
  await pass(1_000);
  expect(posted).toEqual(["orders event-1"]);
  const finished = finish();
  await pass(30_000);
  await finished;
});
