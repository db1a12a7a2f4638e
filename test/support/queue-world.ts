/** A customer's log, a database and a receiver, for the queues of webhooks. */
import { expect } from "vitest";
import type { Instant } from "../../src/std/clock.ts";
import type {
  Changes,
  DeliveryQueue,
  OpenRow,
  Outcome,
  Page,
  Post,
  Progress,
  ReadEvent,
} from "../../src/webhooks/queues/delivery-queue.ts";
import { ObjectQueue } from "../../src/webhooks/queues/object-queue.ts";
import { StrictQueue } from "../../src/webhooks/queues/strict-queue.ts";

const MOST_ROWS = 12;
const MOST_ACCEPTED = 5;
/** Three of them, and a batch has no room for a fourth. */
const LARGE = 40 * 1024;
const DAY = 24 * 60 * 60_000;

export type Order = "per_object" | "any" | "strict";

export type Step =
  | { readonly kind: "publish"; readonly objects: readonly number[] }
  | { readonly kind: "read" | "write" | "failed write" | "crash" | "put back" | "wait" | "hang" | "fail for long" }
  | { readonly kind: "take"; readonly most: number }
  /** Of what is in flight, from this place on; all that `accepts` has a value for. */
  | { readonly kind: "answer"; readonly from: number; readonly accepts: readonly boolean[] };

/** The customer's events, what is stored, and what the receiver has seen. */
export class World {
  readonly log: ReadEvent[] = [];
  stored: Progress = NOTHING_YET;
  readonly rows = new Map<bigint, OpenRow>();
  readonly accepted = new Set<bigint>();
  now = 1_000_000 as Instant;
  queue: DeliveryQueue<ReadEvent>;
  inFlight: Post<ReadEvent>[] = [];
  writing: Changes | undefined;
  reading: (Page<ReadEvent> & { readonly after: bigint }) | undefined;
  readonly failures = new Map<bigint, number>();
  hasCrashed = false;
  /** Of a batch by its first event: which events it had. */
  readonly batches = new Map<bigint, string>();
  readonly order: Order;

  constructor(order: Order) {
    this.order = order;
    this.queue = this.open();
  }

  open(): DeliveryQueue<ReadEvent> {
    // As a process does that begins to deliver: what is behind the place comes again.
    if (this.order !== "strict")
      for (const number of [...this.rows.keys()]) if (number > this.stored.readTo) this.rows.delete(number);
    const kept = [...this.rows.values()].filter(
      ({ number, status }) => status !== "UNDELIVERED" || number > this.stored.readTo,
    );
    const common = { deliveriesPerSecond: 100, stored: this.stored, rows: kept, now: this.now };
    const options = { ...common, random: () => 0.5, mostRows: MOST_ROWS, mostAccepted: MOST_ACCEPTED };
    return this.order === "strict" ? new StrictQueue(options) : new ObjectQueue(this.order === "per_object", options);
  }

  run(next: Step): void {
    if (next.kind === "publish") this.publish(next.objects);
    if (next.kind === "read") this.read();
    if (next.kind === "take") for (let taken = 0; taken < next.most && this.take(); ) taken += 1;
    if (next.kind === "answer") for (const accepts of next.accepts) this.answer(next.from, accepts ? ACCEPTED : FAILED);
    if (next.kind === "wait") this.now = (Math.max(this.now, this.queue.nextDueAt(this.now) ?? 0) + 20) as Instant;
    // What is in flight is not answered for long.
    if (next.kind === "hang") this.now = (this.now + 1_100) as Instant;
    if (next.kind === "write") this.write(true);
    if (next.kind === "failed write") this.write(false);
    if (next.kind === "put back") {
      const post = this.inFlight.pop();
      if (post !== undefined) this.queue.putBack(post);
    }
    if (next.kind === "crash") this.crash();
    if (next.kind === "fail for long") this.failForLong();
    if (this.queue.disabling !== undefined) this.enableAgain();
    this.check();
  }

  publish(objects: readonly number[]): void {
    for (const object of objects)
      this.log.push({
        number: BigInt(this.log.length + 1),
        objectId: `object ${object}`,
        bytes: object < 4 ? object * LARGE : 1,
      });
    this.queue.onNews();
  }

  /** As often as something is tried, and read meanwhile. */
  failForLong(): void {
    for (let attempt = 0; attempt < 12; attempt += 1) {
      while (this.take());
      this.read();
      while (this.inFlight.length > 0) this.answer(0, FAILED);
      this.now = (Math.max(this.now, this.queue.nextDueAt(this.now) ?? 0) + 20) as Instant;
    }
  }

  crash(): void {
    this.hasCrashed = true;
    this.inFlight = [];
    // It may have been written nevertheless.
    if (this.writing !== undefined && this.log.length % 2 === 0) this.store(this.writing);
    this.writing = undefined;
    this.reading = undefined;
    this.queue = this.open();
  }

  /** What is in flight ends, all is written, and somebody enables it where it stood. */
  enableAgain(): void {
    while (this.inFlight.length > 0) this.answer(0, FAILED);
    this.writeAll();
    this.stored = { ...this.stored, failingSince: undefined };
    if (this.order === "strict") this.retryBatch();
    this.reading = undefined;
    this.queue = this.open();
  }

  retryBatch(): void {
    for (const row of [...this.rows.values()]) {
      if (row.number <= this.stored.readTo || row.status !== "UNDELIVERED") continue;
      this.rows.set(row.number, { ...row, status: "RETRYING", attempts: 0, nextAttemptAt: this.now });
      this.failures.delete(row.number);
    }
  }

  /** Begins to read a page, or ends what was begun. */
  read(): void {
    const page = this.reading;
    this.reading = page === undefined ? this.beginReading() : undefined;
    if (page !== undefined) this.queue.addPage(page.after, page);
  }

  beginReading(): World["reading"] {
    const wanted = this.queue.wantedPage();
    if (wanted === undefined) return undefined;
    const { after, limit } = wanted;
    this.queue.onReading();
    const events = this.log.filter(({ number }) => number > after).slice(0, Math.min(limit, 25));
    const searchedTo = events.at(-1)?.number ?? after;
    return { after, events, searchedTo, isLast: searchedTo === BigInt(this.log.length) };
  }

  take(): boolean {
    const post = this.queue.take(this.now);
    if (post === undefined) return false;
    this.expectAllowed(post);
    this.inFlight.push(post);
    return true;
  }

  expectAllowed(post: Post<ReadEvent>): void {
    for (const number of post.numbers) {
      // An event that is recorded as accepted is not posted again, even after a crash.
      const isPassed = number <= this.stored.readTo && !this.rows.has(number);
      expect(isPassed || this.stored.accepted.includes(number)).toBe(false);
    }
    if (!this.hasCrashed)
      for (const number of post.numbers) {
        expect(this.accepted.has(number)).toBe(false);
        expect(this.failures.get(number) ?? 0).toBeLessThan(10);
      }
    const objects = (posts: readonly Post<ReadEvent>[]) =>
      posts.flatMap(({ numbers }) => numbers.map((n) => this.of(n)));
    if (this.order === "per_object") {
      for (const { objectId, number } of objects([post])) {
        expect(objects(this.inFlight).map((event) => event.objectId)).not.toContain(objectId);
        const earlier = this.log.filter((event) => event.objectId === objectId && event.number < number);
        // Each earlier one of the object has had its last attempt, or was accepted.
        for (const event of earlier)
          expect(this.accepted.has(event.number) || (this.failures.get(event.number) ?? 0) >= 10).toBe(true);
      }
    }
    if (this.order === "strict") {
      expect(this.inFlight).toEqual([]);
      if (post.events !== undefined) expect(this.stored.batchEnd).toBe(post.numbers.at(-1));
      const first = post.numbers[0] ?? 0n;
      for (let number = 1n; number < first; number += 1n) expect(this.accepted.has(number)).toBe(true);
      const known = this.batches.get(first) ?? String(post.numbers);
      expect(String(post.numbers)).toBe(known);
      this.batches.set(first, String(post.numbers));
      const bytes = post.numbers.reduce((sum, number) => sum + this.of(number).bytes, 0);
      if (post.numbers.length > 1) expect(bytes).toBeLessThanOrEqual(3 * LARGE);
    }
  }

  of(number: bigint): ReadEvent {
    return this.log[Number(number) - 1] as ReadEvent;
  }

  answer(which: number, outcome: Outcome): void {
    const [post] = this.inFlight.splice(which % Math.max(1, this.inFlight.length), 1);
    if (post === undefined) return;
    for (const number of post.numbers) {
      if (outcome.kind === "accepted") this.accepted.add(number);
      else this.failures.set(number, (this.failures.get(number) ?? 0) + 1);
    }
    this.queue.settle(post, outcome, this.now);
  }

  /** Begins a write, or ends the one that was begun. */
  write(succeeds: boolean): void {
    const changes = this.writing;
    this.writing = changes === undefined ? this.queue.takeChanges() : undefined;
    if (changes === undefined) return;
    if (succeeds) {
      this.store(changes);
      this.queue.onWritten(changes);
    } else this.queue.onNotWritten(changes);
  }

  writeAll(): void {
    this.write(true);
    this.write(true);
    if (this.writing !== undefined) this.write(true);
  }

  store({ progress, rows }: Changes): void {
    this.stored = progress;
    for (const [number, row] of rows) {
      if (row === undefined) this.rows.delete(number);
      else this.rows.set(number, row);
    }
  }

  check(): void {
    for (let number = 1n; number <= this.stored.readTo; number += 1n)
      if (!this.accepted.has(number) && !this.rows.has(number)) throw new Error(`event ${number} is lost`);
    const open = [...this.rows.values()].filter(({ status }) => status !== "UNDELIVERED");
    expect(this.stored.accepted.length).toBeLessThanOrEqual(MOST_ACCEPTED + 16 + MOST_ROWS);
    for (const number of this.stored.accepted) expect(this.accepted.has(number)).toBe(true);
    if (this.order !== "strict") expect(open.length).toBeLessThanOrEqual(MOST_ROWS);
    expect(this.queue.inFlight).toBe(this.inFlight.length);
    expect(this.queue.inFlight).toBeLessThanOrEqual(16);
  }

  /** The receiver accepts everything from now on, and time passes. */
  finish(): void {
    for (let idle = 0; idle < 4; ) {
      this.queue.onNews();
      this.read();
      if (this.reading !== undefined) this.read();
      this.writeAll();
      const took = this.take();
      this.check();
      this.answer(0, ACCEPTED);
      idle = took ? 0 : idle + 1;
      this.now = (this.now + (took ? 20 : DAY)) as Instant;
    }
    this.writeAll();
  }
}

export const ACCEPTED: Outcome = { kind: "accepted" };
const FAILED: Outcome = { kind: "failed", error: "answered 500" };
export const NOTHING_YET: Progress = {
  readTo: 0n,
  accepted: [],
  batchEnd: undefined,
  failingSince: undefined,
  lastFailureAt: undefined,
  lastSuccessAt: undefined,
};
