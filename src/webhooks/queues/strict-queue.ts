/**
 * The queue of a webhook that takes batches, one at a time and all in order. The end of a batch is written before its first
 * attempt, so that it is the same batch however often it is tried:
 *
 *   none -> being written -> due -> in flight -> accepted            (the place moves behind it)
 *                                             -> due, later
 *                                             -> given up, after the last attempt: the webhook is disabled
 *
 * While it is retried its events have rows, behind the place. Rows before the place are events that were skipped and are
 * asked for again: they go first, each as a batch of one.
 */
import type { DisablingReason } from "../../customers/webhooks/webhook.ts";
import type { Instant } from "../../std/clock.ts";
import {
  type Changes,
  type DeliveryQueue,
  MOST_BATCH_BYTES,
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

export class StrictQueue<Event extends ReadEvent> implements DeliveryQueue<Event> {
  readonly #random: () => number;
  readonly #receiver: Receiver;
  readonly #rows: OpenRows;
  readonly #progress: ProgressChanges;
  #readTo: bigint;
  #batchEnd: bigint | undefined;
  #isBatchWritten: boolean;
  #isStopped: boolean;
  /** Events behind the place, in order. */
  #window: Event[] = [];
  readonly #readAhead: ReadAhead;
  #inFlight: Post<Event> | undefined;

  constructor({ deliveriesPerSecond, stored, rows, random }: QueueOptions) {
    this.#random = random;
    this.#receiver = new Receiver(deliveriesPerSecond, stored);
    this.#progress = new ProgressChanges(stored);
    this.#readTo = stored.readTo;
    this.#readAhead = new ReadAhead(stored.readTo);
    this.#batchEnd = stored.batchEnd;
    this.#isBatchWritten = stored.batchEnd !== undefined;
    this.#isStopped = rows.some(({ number, status }) => number > stored.readTo && status === "UNDELIVERED");
    this.#rows = new OpenRows(rows.filter(({ status }) => status !== "UNDELIVERED"));
  }

  get inFlight(): number {
    return this.#inFlight === undefined ? 0 : 1;
  }

  get size(): number {
    return this.#window.length + this.#rows.size;
  }

  get isFailing(): boolean {
    return this.#receiver.isFailing;
  }

  get disabling(): DisablingReason | undefined {
    return this.#receiver.disabling ?? (this.#isStopped ? "failing" : undefined);
  }

  // Reading ----------------------------------------------------------------------------------------------------------

  onNews(): void {
    this.#readAhead.onNews();
  }

  wantedPage(): { after: bigint; limit: number } | undefined {
    if (!this.#readAhead.mayHaveMore || this.#isStopped) return undefined;
    // A batch that was begun has up to a page of events.
    const isRepeated = this.#batchEnd !== undefined && this.#readAhead.to < this.#batchEnd;
    const limit = this.isFailing && !isRepeated ? PAGE_SIZE_WHILE_FAILING : PAGE_SIZE;
    return this.#window.length >= limit ? undefined : { after: this.#readAhead.to, limit };
  }

  onReading(): void {
    this.#readAhead.onReading();
  }

  addPage(after: bigint, page: Page<Event>): void {
    if (!this.#readAhead.onPage(after, page)) return;
    this.#window.push(...page.events);
    if (this.#batchEnd === undefined) this.#beginBatch();
    else if (this.#readAhead.to >= this.#batchEnd || this.#window.length >= PAGE_SIZE) this.#fitBatch(this.#batchEnd);
  }

  #beginBatch(): void {
    const last = lastOfBatch(this.#window);
    if (last === undefined) this.#readTo = this.#readAhead.to;
    else {
      this.#readTo = (this.#window[0]?.number ?? 1n) - 1n;
      this.#batchEnd = last.number;
      this.#isBatchWritten = false;
    }
  }

  /**
   * The webhook's types may have changed since the batch was begun: it may be empty by now, or too large. With its former
   * types no more than it has were read up to its end.
   */
  #fitBatch(end: bigint): void {
    const events = this.#batch(end);
    if (events.length === 0) this.#endBatch(end);
    else if (events.length > PAGE_SIZE || this.#readAhead.to < end) this.#beginBatch();
  }

  #batch(end: bigint): Event[] {
    return this.#window.filter(({ number }) => number <= end);
  }

  #endBatch(end: bigint): void {
    for (const { number } of [...this.#rows.values()])
      if (number > this.#readTo && number <= end) this.#rows.remove(number);
    this.#window = this.#window.filter(({ number }) => number > end);
    this.#readTo = end;
    this.#batchEnd = undefined;
    this.#beginBatch();
  }

  // Sending ----------------------------------------------------------------------------------------------------------

  /** What is next, and when. */
  #next(): (Post<Event> & { readonly dueAt: Instant | undefined }) | undefined {
    let skipped: OpenRow | undefined;
    for (const row of this.#rows.values())
      if (row.number <= this.#readTo && (skipped === undefined || row.number < skipped.number)) skipped = row;
    if (skipped !== undefined) return { numbers: [skipped.number], events: undefined, dueAt: skipped.nextAttemptAt };
    const end = this.#batchEnd;
    if (end === undefined || end > this.#readAhead.to || !this.#isBatchWritten || this.#isStopped) return undefined;
    const events = this.#batch(end);
    const numbers = events.map(({ number }) => number);
    return { numbers, events, dueAt: this.#batchRow(numbers)?.nextAttemptAt };
  }

  #batchRow(numbers: readonly bigint[]): OpenRow | undefined {
    return numbers.map((number) => this.#rows.get(number)).find((row) => row !== undefined);
  }

  take(now: Instant): Post<Event> | undefined {
    if (this.inFlight >= Math.min(1, this.#receiver.mostInFlight) || this.#receiver.readyAt(now) > now)
      return undefined;
    const next = this.#next();
    if (next === undefined || (next.dueAt ?? now) > now) return undefined;
    this.#receiver.onSent(now);
    this.#inFlight = { numbers: next.numbers, events: next.events };
    return this.#inFlight;
  }

  settle(post: Post<Event>, outcome: Outcome, now: Instant): void {
    this.#inFlight = undefined;
    this.#receiver.onOutcome(outcome, now);
    const end = this.#batchEnd;
    if (outcome.kind === "accepted") {
      if (post.events === undefined) for (const number of post.numbers) this.#rows.remove(number);
      else if (end !== undefined) this.#endBatch(end);
      return;
    }
    const random = this.#random();
    const attempts = this.#batchRow(post.numbers)?.attempts ?? 0;
    for (const number of post.numbers) {
      const objectId = post.events?.find((event) => event.number === number)?.objectId;
      const row = this.#rows.get(number) ?? { number, objectId: objectId ?? "" };
      this.#rows.set(failedRow({ ...row, attempts }, outcome, now, random));
    }
    if (post.events !== undefined) this.#isStopped = this.#batchRow(post.numbers) === undefined;
  }

  putBack(): void {
    this.#inFlight = undefined;
  }

  drop(post: Post<Event>): void {
    this.#inFlight = undefined;
    for (const number of post.numbers) this.#rows.remove(number);
  }

  nextDueAt(now: Instant): Instant | undefined {
    if (this.inFlight >= Math.min(1, this.#receiver.mostInFlight)) return undefined;
    const readyAt = this.#receiver.readyAt(now);
    return readyAt > now ? readyAt : this.#next()?.dueAt;
  }

  // Writing ----------------------------------------------------------------------------------------------------------

  takeChanges(): Changes | undefined {
    const current: Progress = {
      readTo: this.#readTo,
      accepted: [],
      batchEnd: this.#batchEnd,
      ...this.#receiver.times,
    };
    return this.#progress.take(current, this.#rows);
  }

  onWritten(changes: Changes): void {
    this.#progress.onWritten(changes);
    if (changes.progress.batchEnd === this.#batchEnd) this.#isBatchWritten = this.#batchEnd !== undefined;
  }

  onNotWritten(changes: Changes): void {
    this.#rows.restoreChanges(changes.rows);
  }
}

/** Of a batch that begins with these events. */
function lastOfBatch<Event extends ReadEvent>(events: readonly Event[]): Event | undefined {
  let bytes = 0;
  const end = events.findIndex((event, place) => {
    bytes += event.bytes;
    return place === PAGE_SIZE || (place > 0 && bytes > MOST_BATCH_BYTES);
  });
  return events.at(end < 0 ? -1 : end - 1);
}
