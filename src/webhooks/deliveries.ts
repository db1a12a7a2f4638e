/**
 * What is delivered to webhooks: the events of their customers, as docs/decisions/0043-webhooks.md says. One process at a time
 * delivers; any may repeat, begin or resume deliveries, which then follow within a second.
 */
import type { CustomerId } from "../customers/customer-id.ts";
import type { DeliverableWebhook } from "../customers/webhooks/webhook.ts";
import type { Alongside, Webhook, WebhookId, WebhookNotFound, Webhooks } from "../customers/webhooks/webhooks.ts";
import { Unavailable } from "../ledger/decision.ts";
import type { Queryable } from "../postgres/database.ts";
import { assert } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import { done, type Result, reject } from "../std/result.ts";
import { FairAdmission, TRANSACTIONS } from "../web/limits/fair-admission.ts";
import { type Attempt, attemptOf } from "./attempt.ts";
import { type Backlog, readBacklogs } from "./backlog.ts";
import { Dispatcher } from "./dispatching/dispatcher.ts";
import type { DispatcherOptions } from "./dispatching/options.ts";
import { outcomeOf } from "./sender.ts";
import {
  beginProgress,
  countUndelivered,
  forgetFailing,
  giveUpRows,
  insertAttempt,
  isStopped,
  listAttempts,
  lockProgress,
  raiseVersion,
  removeRowsFrom,
  retryNow,
  retryUndelivered,
  type StoredProgress,
  setPlace,
  trimAttempts,
} from "./store.ts";

export type { Attempt } from "./attempt.ts";
export type { Backlog } from "./backlog.ts";
export { WEBHOOKS_LEASE } from "./dispatching/dispatcher.ts";
export type { DeliveryEvent } from "./dispatching/options.ts";

/**
 * What is delivered again: from an event on; from the first of a time on; or at once what waits for its next attempt and what
 * was given up, the first thousand.
 */
export type ReplayFrom =
  | { readonly fromNumber: bigint }
  | { readonly fromTime: Instant }
  | { readonly onlyUndelivered: true };

export interface Replayed {
  /** From which event on; undefined with `onlyUndelivered`. */
  readonly fromNumber: bigint | undefined;
  /** How many are tried at once; undefined without `onlyUndelivered`. */
  readonly events: number | undefined;
}

/** The event was not reached yet: what is before it would be skipped. */
export interface ReplayAhead {
  readonly code: "replay_ahead";
  /** From here on at most. */
  readonly lastNumber: bigint;
}

export interface Deliveries {
  /** Delivers, or stands by while another process does. */
  start(): void;
  stop(): Promise<void>;
  /** On this node; 0 each while another one delivers. `mostPerSecond`: as many as its thread has time for. */
  report(): {
    readonly webhooks: number;
    readonly failing: number;
    readonly inFlight: number;
    readonly mostPerSecond: number;
  };
  /** For `Webhooks.create`: it gets the events from now on. */
  readonly begin: Alongside;
  /** For `Webhooks.enable`. NOW: what has not been delivered by now is given up. */
  resume(from: "WHERE_IT_STOOD" | "NOW"): Alongside;
  /**
   * Posts a test event, also to one that is disabled. It may have to wait for its turn.
   * @param onTurn called then; what it throws is thrown, and nothing is posted
   * @throws Unavailable when there are too many at once
   */
  test(
    customerId: CustomerId,
    webhookId: WebhookId,
    onTurn?: () => Promise<void>,
  ): Promise<Result<Attempt, WebhookNotFound>>;
  replay(
    customerId: CustomerId,
    webhookId: WebhookId,
    from: ReplayFrom,
  ): Promise<Result<Replayed, WebhookNotFound | ReplayAhead>>;
  /** Latest first. @param before only those before this one */
  listAttempts(
    customerId: CustomerId,
    webhookId: WebhookId,
    page: { readonly before: Uuid | undefined; readonly limit: number },
  ): Promise<Result<readonly Attempt[], WebhookNotFound>>;
  /** Of each of these webhooks, what waits. */
  readBacklogs(ids: readonly WebhookId[]): Promise<ReadonlyMap<WebhookId, Backlog>>;
  /** Of each of these events, to how many webhooks it could not be delivered; absent: to none. */
  countUndelivered(customerId: CustomerId, numbers: readonly bigint[]): Promise<ReadonlyMap<bigint, number>>;
}

export interface DeliveriesOptions extends DispatcherOptions {
  readonly webhooks: DispatcherOptions["webhooks"] & Pick<Webhooks, "find" | "findDeliverable">;
  /** The body of a test event of this id, as `bodyOf`. */
  readonly testBodyOf: (id: Uuid, webhook: DeliverableWebhook) => string;
}

/** A test takes up to 15 s, and waits as long for its turn. */
const TESTS = { most: 64, atOnce: 16, alone: 4, share: 2, shortQueue: 2, expectedMs: 15_000, maxWaitMs: 15_000 };
/** As much as may be open. */
const MOST_REPEATED = 1_000;

export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const dispatcher = new Dispatcher(options);
  const tests = new FairAdmission(TESTS);
  const replays = new FairAdmission(TRANSACTIONS);
  const { database, webhooks, events } = options;
  return {
    start: () => dispatcher.start(),
    stop: () => dispatcher.stop(),
    report: () => dispatcher.report(),
    begin: async (transaction, { id, customerId }) => {
      const { last } = await events.bounds(customerId);
      await beginProgress(transaction, { webhookId: id, customerId, readTo: last });
    },
    resume: (from) => (transaction, webhook) => resume(options, transaction, webhook, from),
    test: async (customerId, webhookId, onTurn) => {
      const tested = await tests.run(customerId, async () => {
        await onTurn?.();
        return sendTest(options, customerId, webhookId);
      });
      if (tested === undefined) throw new Unavailable("too many tests of webhooks at once");
      return tested;
    },
    replay: async (customerId, webhookId, from) => {
      const replayed = await replays.run(customerId, () => replay(options, customerId, webhookId, from));
      if (replayed === undefined) throw new Unavailable("too many replays of webhooks at once");
      return replayed;
    },
    listAttempts: async (customerId, webhookId, page) => {
      const webhook = await webhooks.find(customerId, webhookId);
      return webhook === undefined ? notFound(webhookId) : done(await listAttempts(database, webhookId, page));
    },
    readBacklogs: (ids) => readBacklogs(database, ids),
    countUndelivered: (customerId, numbers) => countUndelivered(database, customerId, numbers),
  };
}

const notFound = (webhookId: WebhookId) => reject({ code: "webhook_not_found", webhookId });

async function resume(
  { clock, events }: DeliveriesOptions,
  transaction: Queryable,
  { id, customerId, deliveryOrder }: Webhook,
  from: "WHERE_IT_STOOD" | "NOW",
): Promise<void> {
  await raiseVersion(transaction, id);
  await forgetFailing(transaction, id);
  if (from === "WHERE_IT_STOOD") {
    await retryNow(transaction, id, clock.now());
    if (deliveryOrder !== "strict") return;
    // The batch that it has given up, if any.
    const { readTo } = await lockProgress(transaction, customerId, id);
    await retryUndelivered(transaction, id, clock.now(), MOST_REPEATED, readTo);
    return;
  }
  const { last } = await events.bounds(customerId);
  await giveUpRows(transaction, id, clock.now());
  await setPlace(transaction, id, last);
}

// Replays ------------------------------------------------------------------------------------------------------------

async function replay(
  options: DeliveriesOptions,
  customerId: CustomerId,
  webhookId: WebhookId,
  from: ReplayFrom,
): Promise<Result<Replayed, WebhookNotFound | ReplayAhead>> {
  const { database, webhooks, clock } = options;
  if ((await webhooks.find(customerId, webhookId)) === undefined) return notFound(webhookId);
  const asked = "onlyUndelivered" in from ? undefined : await numberOf(options, customerId, from);
  return database.transaction(async (transaction) => {
    const progress = await lockProgress(transaction, customerId, webhookId);
    const lastNumber = asked === undefined ? 0n : await furthest(transaction, progress);
    const isAhead = asked !== undefined && asked > lastNumber;
    if (isAhead && !("fromTime" in from)) return reject({ code: "replay_ahead", lastNumber });
    await raiseVersion(transaction, webhookId);
    if (asked === undefined) {
      const waiting = await retryNow(transaction, webhookId, clock.now());
      // More may be waiting: those that were blocked are not, once the webhook takes its events in any order.
      const room = Math.max(0, MOST_REPEATED - waiting);
      const givenUp = await retryUndelivered(transaction, webhookId, clock.now(), room);
      return done({ fromNumber: undefined, events: waiting + givenUp });
    }
    const fromNumber = isAhead ? lastNumber : asked;
    await removeRowsFrom(transaction, webhookId, fromNumber);
    await setPlace(transaction, webhookId, fromNumber - 1n);
    return done({ fromNumber, events: undefined });
  });
}

/** A strict webhook may be told to go on behind the batch that it has given up, which stays listed. */
async function furthest(transaction: Queryable, progress: StoredProgress): Promise<bigint> {
  const { readTo, batchEnd } = progress;
  return (batchEnd !== undefined && (await isStopped(transaction, progress)) ? batchEnd : readTo) + 1n;
}

async function numberOf(
  { events }: DeliveriesOptions,
  customerId: CustomerId,
  from: Exclude<ReplayFrom, { onlyUndelivered: true }>,
): Promise<bigint> {
  if ("fromNumber" in from) return from.fromNumber < 1n ? 1n : from.fromNumber;
  const page = await events.list({ customerId, createdFrom: from.fromTime, after: 0n, limit: 1 });
  return page.events[0]?.number ?? (await events.bounds(customerId)).last + 1n;
}

// Tests --------------------------------------------------------------------------------------------------------------

async function sendTest(
  { database, webhooks, sender, ids, clock, testBodyOf }: DeliveriesOptions,
  customerId: CustomerId,
  webhookId: WebhookId,
): Promise<Result<Attempt, WebhookNotFound>> {
  const webhook = await webhooks.findDeliverable(customerId, webhookId);
  if (webhook === undefined) return notFound(webhookId);
  const id = ids.next();
  const answer = await sender.send(webhook, { id, body: testBodyOf(id, webhook) }, {});
  assert(answer !== "not posted", "a test is posted whatever happens meanwhile");
  const now = clock.now();
  const what = { webhookId, id, messageId: id, number: undefined, events: 1 };
  const attempt = attemptOf(what, answer, outcomeOf(answer, now), now);
  await insertAttempt(database.commits, attempt);
  await trimAttempts(database.commits, webhookId);
  return done(attempt);
}
