/** What a process does while it delivers, without a database: its time is the test's, with fake timers. */
import { vi } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { DeliverableWebhook, Webhook, WebhookId } from "../../src/customers/webhooks/webhook.ts";
import type { ActiveWebhooks } from "../../src/customers/webhooks/webhooks.ts";
import type { CustomerEvent, EventFilter } from "../../src/events/events.ts";
import type { Database } from "../../src/postgres/database.ts";
import { CannotDecrypt } from "../../src/postgres/storage-encryption.ts";
import type { Instant } from "../../src/std/clock.ts";
import { IdSource } from "../../src/std/id.ts";
import { Outage } from "../../src/std/outage.ts";
import { Dispatch } from "../../src/webhooks/dispatching/dispatch.ts";
import type { DeliveryEvent, DispatcherOptions } from "../../src/webhooks/dispatching/options.ts";
import { Pace } from "../../src/webhooks/dispatching/pace.ts";
import type { Answer } from "../../src/webhooks/sender.ts";
import { deliverableWebhook } from "./deliverable-webhook.ts";

export const START = Date.parse("2026-11-21T09:30:00Z");
export const WEBHOOK = deliverableWebhook();
export const NO_ANSWER: Answer = { kind: "unanswered", error: "aborted", ms: 1 };

export const answered = (status: number): Answer => ({
  ...({ kind: "answered", retryAfter: undefined, ms: 1 } as const),
  ...{ status, body: Buffer.alloc(0) },
});

/** Each of an object of its own. */
export const upTo = (last: number): CustomerEvent[] =>
  Array.from(
    { length: last },
    (_, i) =>
      ({
        id: `event-${i + 1}`,
        number: BigInt(i + 1),
        object: { value: { id: `object ${i}` } },
      }) as unknown as CustomerEvent,
  );

interface World {
  /** Of each customer. */
  log: CustomerEvent[];
  webhooks: readonly DeliverableWebhook[];
  isReadable: boolean;
  /** Of those that have changed, how many are listed at once. */
  mostListed: number;
  isWritable: boolean;
  /** Whether it can be recorded that a webhook was disabled. */
  isRecordable: boolean;
  /** Whether nobody has changed a webhook that is to be disabled. */
  readonly isUnchanged: boolean;
  answer: (webhook: DeliverableWebhook, signal: AbortSignal) => Answer | Promise<Answer>;
  /** What a statement waits for. */
  delay: (statement: string) => void | Promise<void>;
  /** Waits for what lets it in at the receiver. */
  credentials: () => void | Promise<void>;
  /** The rows of what is tried again, and since when it fails. */
  readonly open: readonly object[];
  readonly failing: ReadonlySet<string>;
  /** Of each event. */
  readonly body: string;
  /** How much of its time the thread is busy. */
  readonly utilization: number;
}

export function deliver(given: Partial<World> = {}) {
  const world: World = {
    ...{ log: upTo(1), webhooks: [WEBHOOK], isReadable: true, isWritable: true, isRecordable: true, isUnchanged: true },
    ...{ answer: () => answered(204), credentials: () => undefined, delay: () => undefined },
    ...{ open: [], failing: new Set<string>(), body: "{}", utilization: 0, mostListed: 1_000 },
    ...given,
  };
  const statements: (readonly [text: string, values: readonly unknown[]])[] = [];
  const rows = async (text: string, values: readonly unknown[] = []): Promise<unknown[]> => {
    statements.push([text, values]);
    await world.delay(text);
    const ids = () => values[0] as WebhookId[];
    if (text.startsWith("with written as")) {
      if (!world.isWritable) throw new Error("the database is read-only");
      return ids().map((webhook_id) => ({ webhook_id }));
    }
    if (text.includes("from webhook_delivery d join webhook_progress")) return [...world.open];
    if (!text.includes("with locked as")) return [];
    // Those whose settings were read are opened only while they are still these.
    const isUnchanged = (id: WebhookId, place: number) =>
      world.webhooks.some((one) => one.id === id && one.version === (values[1] as bigint[])[place]);
    return ids()
      .filter(isUnchanged)
      .map((webhook_id) => ({
        ...{ webhook_id, customer_id: WEBHOOK.customerId, read_to: String(world.open.length), accepted_behind: [] },
        ...{ batch_end: null, failing_since: world.failing.has(webhook_id) ? START : null },
        ...{ last_failure_at: null, last_success_at: null, version: "1" },
      }));
  };
  const log: DeliveryEvent[] = [];
  const posted: string[] = [];
  const listeners = new Set<() => void>();
  const asked: EventFilter[] = [];
  const calls = { recordDisabled: 0, disabled: [] as unknown[], failures: [] as unknown[], ended: [] as unknown[] };
  const list: DispatcherOptions["events"]["list"] = async (filter) => {
    asked.push(filter);
    const behind = world.log.filter(({ number }) => number > filter.after);
    const events = behind.slice(0, filter.limit);
    return { events, searchedTo: events.at(-1)?.number ?? filter.after, isLast: events.length === behind.length };
  };
  const events = {
    list: vi.fn(list),
    bounds: async () => ({ first: 1n, last: BigInt(world.log.length) }),
    onNews: (_: CustomerId, listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const options: DispatcherOptions = {
    database: {
      rows,
      commits: { rows },
      transaction: (work: (own: object) => unknown) => work({ rows }),
    } as unknown as Database,
    clock: { now: () => Date.now() as Instant, fault: undefined },
    ...{ ids: new IdSource(), holder: "here", events, pace: new Pace(world), bodyOf: () => world.body },
    webhooks: {
      listActive: async (known): Promise<ActiveWebhooks> => {
        const all = world.webhooks.filter(({ id, version }) => known.get(id) !== version);
        const changed = all.slice(0, world.mostListed);
        const hasMore = changed.length < all.length;
        const unreadable = changed.map((webhook: Webhook) => ({ webhook, error: new CannotDecrypt("another key") }));
        const active = new Set(world.webhooks.map(({ id }) => id));
        const read = world.isReadable ? { changed, unreadable: [] } : { changed: [], unreadable };
        return { active, ...read, hasMore };
      },
      disable: async (...how) => {
        calls.disabled.push(how);
        world.webhooks = [];
        return world.isUnchanged;
      },
    },
    sender: {
      send: async (webhook, { id }, { signal, mayPost = () => true }) => {
        await world.credentials();
        if (!mayPost()) return "not posted";
        posted.push(`${webhook.name} ${id}`);
        return world.answer(webhook, signal as AbortSignal);
      },
    },
    recordDisabled: async () => {
      calls.recordDisabled += 1;
      if (!world.isRecordable) throw new Error("the ledger is away");
    },
    log: (event) => void log.push(event),
  };
  const outage = new Outage(
    (error) => calls.failures.push(error),
    (failures) => calls.ended.push(failures),
  );
  const dispatch = new Dispatch(options, { name: "webhooks", holder: "here", fence: 1n }, outage);
  dispatch.maySendUntilMs = Number.POSITIVE_INFINITY;
  const running = dispatch.run();
  const publish = (last: number): void => {
    world.log = upTo(last);
    for (const listener of listeners) listener();
  };
  const finish = async (): Promise<void> => {
    dispatch.end("waits");
    await vi.advanceTimersByTimeAsync(6_000);
    await running;
  };
  return { world, dispatch, running, statements, log, posted, listeners, events, asked, calls, publish, finish };
}

export const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
