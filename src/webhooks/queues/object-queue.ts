/**
 * The queue of a webhook that takes events as they come: each object's in order (`per_object`), or in any. An event is in
 * one of these states:
 *
 *   waiting -> in flight -> accepted     (the place moves on, or the number is kept while an earlier event is not accepted)
 *                        -> RETRYING -> in flight -> accepted         (its row is removed)
 *                                                 -> UNDELIVERED      (its row stays)
 *                        -> RETRYING, still in flight, if it hangs    (so that the place moves on)
 *   waiting -> BLOCKED, behind an open row of its object -> RETRYING, once it is the object's first
 *
 * With an order, an object's open rows are kept in the order of their numbers: only the first is RETRYING.
 */
import type { DisablingReason } from "../../customers/webhooks/webhook.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import {
  type Changes,
  type DeliveryQueue,
  MOST_ACCEPTED,
  MOST_ROWS,
  type Numbered,
  type OpenRow,
  type Outcome,
  PAGE_SIZE,
  PAGE_SIZE_WHILE_FAILING,
  type Page,
  type Post,
  type Progress,
  type QueueOptions,
  type ReadEvent,
} from "./delivery-queue.ts";
import { OpenRows } from "./open-rows.ts";
import { ProgressChanges } from "./progress-changes.ts";
import { ReadAhead } from "./read-ahead.ts";
import { Receiver } from "./receiver.ts";
import { failedRow } from "./retry-schedule.ts";

interface Waiting<Event> {
  readonly event: Event;
  isInFlight: boolean;
  sentAt: number;
}

/** While a post hangs the place stays before it, and what is accepted behind it has to be kept. So it gets a row. */
const HANGS_AFTER_MS = 1_000;

export class ObjectQueue<Event extends ReadEvent> implements DeliveryQueue<Event> {
  readonly #isOrdered: boolean;
  readonly #random: () => number;
  readonly #mostRows: number;
  readonly #mostAccepted: number;
  readonly #receiver: Receiver;
  readonly #rows: OpenRows;
  readonly #progress: ProgressChanges;
  /** Events behind the place that are neither accepted nor in a row, in order. */
  readonly #window = new Map<bigint, Waiting<Event>>();
  /** Those behind the place, and perhaps some before it. */
  readonly #accepted: Set<bigint>;
  #eventsInFlight = 0;
  readonly #rowsInFlight = new Set<bigint>();
  /** With an order: the objects of what is in flight, and the numbers of open rows by their object. */
  readonly #busy = new Set<string>();
  readonly #open = new Map<string, bigint[]>();
  readonly #readAhead: ReadAhead;
  /** The last event that has left the window, or was in flight: what is behind it may be forgotten and read again. */
  #lastTaken = 0n;

  constructor(isOrdered: boolean, options: QueueOptions) {
    const { deliveriesPerSecond, stored, rows, now, random, mostRows = MOST_ROWS, mostAccepted } = options;
    this.#isOrdered = isOrdered;
    this.#random = random;
    this.#mostRows = mostRows;
    this.#mostAccepted = mostAccepted ?? MOST_ACCEPTED;
    this.#receiver = new Receiver(deliveriesPerSecond, stored);
    this.#rows = new OpenRows(rows.filter(({ number }) => number <= stored.readTo));
    this.#readAhead = new ReadAhead(stored.readTo);
    this.#accepted = new Set(stored.accepted);
    this.#progress = new ProgressChanges(stored);
    this.#putInOrder(now);
  }

  /** What was stored may be of another order, or have been changed by hand. */
  #putInOrder(now: Instant): void {
    const rows = [...this.#rows.values()].sort((a, b) => (a.number < b.number ? -1 : 1));
    for (const row of rows) {
      const isFirst = !this.#isOrdered || this.#addOpen(row) === 1;
      if (isFirst && row.status === "BLOCKED") this.#rows.set({ ...row, status: "RETRYING", nextAttemptAt: now });
      if (!isFirst && row.status === "RETRYING")
        this.#rows.set({ ...row, status: "BLOCKED", nextAttemptAt: undefined });
    }
  }

  #addOpen({ objectId, number }: Numbered): number {
    const open = this.#open.get(objectId) ?? [];
    this.#open.set(objectId, open);
    return open.push(number);
  }

  get inFlight(): number {
    return this.#eventsInFlight + this.#rowsInFlight.size;
  }

  get size(): number {
    return this.#window.size + this.#rows.size;
  }

  get isFailing(): boolean {
    return this.#receiver.isFailing;
  }

  get disabling(): DisablingReason | undefined {
    return this.#receiver.disabling;
  }

  // Reading ----------------------------------------------------------------------------------------------------------

  onNews(): void {
    this.#readAhead.onNews();
  }

  wantedPage(): { after: bigint; limit: number } | undefined {
    const limit = this.isFailing ? PAGE_SIZE_WHILE_FAILING : PAGE_SIZE;
    if (!this.#readAhead.mayHaveMore || this.#window.size >= limit || !this.#hasRoom) return undefined;
    return { after: this.#readAhead.to, limit };
  }

  onReading(): void {
    this.#readAhead.onReading();
  }

  addPage(after: bigint, page: Page<Event>): void {
    if (!this.#readAhead.onPage(after, page)) return;
    for (const event of page.events)
      if (!this.#accepted.has(event.number)) this.#window.set(event.number, { event, isInFlight: false, sentAt: 0 });
  }

  /** A receiver that fails, or has too many open rows, needs little of what was read ahead. It is read again. */
  #forgetAhead(): void {
    if (this.#window.size <= PAGE_SIZE_WHILE_FAILING) return;
    for (const [number, { isInFlight }] of [...this.#window].reverse()) {
      if (isInFlight || number <= this.#lastTaken || this.#window.size <= PAGE_SIZE_WHILE_FAILING) return;
      this.#window.delete(number);
      this.#readAhead.forgetBehind(number - 1n);
    }
  }

  // Sending ----------------------------------------------------------------------------------------------------------

  /** Whether one more may fail or be blocked. */
  get #hasRoom(): boolean {
    return this.#rows.size + this.#eventsInFlight < this.#mostRows;
  }

  take(now: Instant): Post<Event> | undefined {
    this.#listFirst(now);
    if (this.inFlight >= this.#receiver.mostInFlight || this.#receiver.readyAt(now) > now) return undefined;
    const post = this.#takeRow(now) ?? this.#takeEvent(now);
    if (post !== undefined) this.#receiver.onSent(now);
    return post;
  }

  #takeRow(now: Instant): Post<Event> | undefined {
    const row = this.#rows.nextRetry((other) => this.#isFree(other));
    if (row === undefined || row.nextAttemptAt > now) return undefined;
    this.#rowsInFlight.add(row.number);
    this.#busy.add(row.objectId);
    return { numbers: [row.number], events: undefined };
  }

  #isFree({ number, objectId }: Numbered): boolean {
    return !this.#rowsInFlight.has(number) && !(this.#isOrdered && this.#busy.has(objectId));
  }

  /** Gives rows to the first events behind the place, as long as they hang, or too many behind them are accepted. */
  #listFirst(now: Instant): void {
    for (const [number, { event, isInFlight, sentAt }] of this.#window) {
      const hangs = isInFlight && now - sentAt >= HANGS_AFTER_MS;
      if (!hangs && !this.#hasTooManyAccepted) return;
      if (isInFlight) {
        this.#window.delete(number);
        this.#eventsInFlight -= 1;
        this.#rowsInFlight.add(number);
        this.#rows.set({ ...newRow(event), nextAttemptAt: now });
        if (this.#isOrdered) this.#addOpen(event);
      } else if (this.#hasRoom && this.#isOrdered && this.#open.has(event.objectId)) this.#block(event);
      else return;
    }
  }

  get #hasTooManyAccepted(): boolean {
    if (this.#accepted.size <= this.#mostAccepted) return false;
    this.#forgetAccepted(this.#place);
    return this.#accepted.size > this.#mostAccepted;
  }

  #takeEvent(now: Instant): Post<Event> | undefined {
    for (const waiting of this.#window.values()) {
      const { event } = waiting;
      if (!this.#hasRoom) return undefined;
      if (waiting.isInFlight) continue;
      if (this.#isOrdered && this.#open.has(event.objectId)) {
        this.#block(event);
        continue;
      }
      if (!this.#isFree(event)) continue;
      waiting.isInFlight = true;
      waiting.sentAt = now;
      this.#noteTaken(event.number);
      this.#eventsInFlight += 1;
      this.#busy.add(event.objectId);
      return { numbers: [event.number], events: [event] };
    }
    return undefined;
  }

  #noteTaken(number: bigint): void {
    if (number > this.#lastTaken) this.#lastTaken = number;
  }

  #block(event: Event): void {
    const { number, objectId } = event;
    this.#noteTaken(number);
    this.#window.delete(number);
    this.#addOpen(event);
    const none = { attempts: 0, nextAttemptAt: undefined, lastError: undefined };
    this.#rows.set({ number, objectId, status: "BLOCKED", ...none });
  }

  settle(post: Post<Event>, outcome: Outcome, now: Instant): void {
    const { row, event } = this.#land(post);
    this.#receiver.onOutcome(outcome, now);
    if (outcome.kind === "accepted") {
      if (row !== undefined) this.#removeRow(row, now);
      if (event !== undefined) this.#window.delete(event.number);
      for (const number of post.numbers) this.#accepted.add(number);
      return;
    }
    const failed = failedRow(row ?? newRow(must(event, "it was a row or an event")), outcome, now, this.#random());
    if (event !== undefined) this.#window.delete(event.number);
    this.#rows.set(failed);
    if (failed.status === "UNDELIVERED") this.#unblock(failed, now);
    else if (event !== undefined && this.#isOrdered) this.#addOpen(event);
    this.#forgetAhead();
  }

  putBack(post: Post<Event>): void {
    this.#land(post);
  }

  drop(post: Post<Event>, now: Instant): void {
    const { row } = this.#land(post);
    if (row !== undefined) this.#removeRow(row, now);
  }

  /** It is no longer in flight. */
  #land({ numbers }: Post<Event>): { row?: OpenRow; event?: Event } {
    const number = must(numbers[0], "a post has an event");
    const waiting = this.#window.get(number);
    if (waiting !== undefined) {
      waiting.isInFlight = false;
      this.#eventsInFlight -= 1;
      this.#busy.delete(waiting.event.objectId);
      return { event: waiting.event };
    }
    const row = must(this.#rows.get(number), "it was in flight");
    this.#rowsInFlight.delete(number);
    this.#busy.delete(row.objectId);
    return { row };
  }

  #removeRow(row: OpenRow, now: Instant): void {
    this.#rows.remove(row.number);
    this.#unblock(row, now);
  }

  /** The next one of an object whose first row is no longer open. */
  #unblock({ objectId }: Numbered, now: Instant): void {
    const open = this.#open.get(objectId);
    if (open === undefined) return;
    open.shift();
    const next = open[0] === undefined ? undefined : this.#rows.get(open[0]);
    if (next === undefined) this.#open.delete(objectId);
    else this.#rows.set({ ...next, status: "RETRYING", nextAttemptAt: now });
  }

  nextDueAt(now: Instant): Instant | undefined {
    if (this.inFlight >= this.#receiver.mostInFlight) return undefined;
    const readyAt = this.#receiver.readyAt(now);
    if (readyAt > now) return readyAt;
    return this.#rows.nextRetry((row) => this.#isFree(row))?.nextAttemptAt;
  }

  // Writing ----------------------------------------------------------------------------------------------------------

  get #place(): bigint {
    const [first] = this.#window.keys();
    return first === undefined ? this.#readAhead.to : first - 1n;
  }

  #forgetAccepted(place: bigint): void {
    for (const number of this.#accepted) if (number <= place) this.#accepted.delete(number);
  }

  get #current(): Progress {
    const readTo = this.#place;
    this.#forgetAccepted(readTo);
    const accepted = [...this.#accepted].sort((a, b) => (a < b ? -1 : 1));
    return { readTo, accepted, batchEnd: undefined, ...this.#receiver.times };
  }

  takeChanges(): Changes | undefined {
    return this.#progress.take(this.#current, this.#rows);
  }

  onWritten(changes: Changes): void {
    this.#progress.onWritten(changes);
  }

  onNotWritten(changes: Changes): void {
    this.#rows.restoreChanges(changes.rows);
  }
}

function newRow({ number, objectId }: Numbered): OpenRow {
  return { number, objectId, status: "RETRYING", attempts: 0, nextAttemptAt: undefined, lastError: undefined };
}
