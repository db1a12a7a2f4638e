/**
 * What is delivered to one webhook next: without I/O and without a clock. A queue is built from what is stored, is given
 * pages of events, hands out posts, is told how they ended, and says what to write. It may be thrown away at any moment:
 * another one that is built from what was written repeats what was not.
 */
import type { DisablingReason } from "../../customers/webhooks/webhook.ts";
import type { Instant } from "../../std/clock.ts";

/** What a queue knows of an event. */
export interface Numbered {
  readonly number: bigint;
  readonly objectId: string;
}

/** An event that was read. */
export interface ReadEvent extends Numbered {
  /** What its body has. */
  readonly bytes: number;
}

/** A row of webhook_progress. */
export interface Progress {
  /** Each event up to here was accepted, is not of the webhook's types, or is in a row. */
  readonly readTo: bigint;
  /** Behind it, those that were accepted while an earlier one was not, in order. */
  readonly accepted: readonly bigint[];
  /** Of a strict webhook, the last event of the batch that is being delivered. */
  readonly batchEnd: bigint | undefined;
  readonly failingSince: Instant | undefined;
  readonly lastFailureAt: Instant | undefined;
  readonly lastSuccessAt: Instant | undefined;
}

/** A row of webhook_delivery. */
export interface OpenRow extends Numbered {
  /** UNDELIVERED: is tried no more by itself. BLOCKED: waits for an earlier event of its object. */
  readonly status: "RETRYING" | "BLOCKED" | "UNDELIVERED";
  readonly attempts: number;
  /** Of RETRYING only. */
  readonly nextAttemptAt: Instant | undefined;
  readonly lastError: string | undefined;
}

/** What is sent with one request. */
export interface Post<Event> {
  readonly numbers: readonly bigint[];
  /** Absent: the events have to be read. */
  readonly events: readonly Event[] | undefined;
}

export type Outcome =
  | { readonly kind: "accepted" }
  | {
      readonly kind: "failed";
      readonly error: string;
      /** What the receiver asked for: nothing is sent to it until then. */
      readonly retryAfterMs?: number | undefined;
    }
  /** The receiver wants nothing more. */
  | { readonly kind: "gone"; readonly error: string };

/** What is to be written, together: each row as it is by now; undefined: it is removed. */
export interface Changes {
  readonly progress: Progress;
  readonly rows: ReadonlyMap<bigint, OpenRow | undefined>;
}

export interface Page<Event> {
  /** In order, of the webhook's types. */
  readonly events: readonly Event[];
  /** The number up to which was searched. */
  readonly searchedTo: bigint;
  /** Whether there were none behind it. */
  readonly isLast: boolean;
}

export interface QueueOptions {
  readonly deliveriesPerSecond: number;
  readonly stored: Progress;
  /** Those that are open; of a strict webhook also those behind `readTo` that are undelivered. */
  readonly rows: readonly OpenRow[];
  readonly now: Instant;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly mostRows?: number;
  readonly mostAccepted?: number;
}

export interface DeliveryQueue<Event extends ReadEvent> {
  readonly inFlight: number;
  /** Events and rows in memory. */
  readonly size: number;
  /** Whether the last attempt failed. Then there is one at a time. */
  readonly isFailing: boolean;
  /** Why the webhook has to be disabled; then nothing is sent any more. */
  readonly disabling: DisablingReason | undefined;
  /** There may be new events. */
  onNews(): void;
  /** What is to be read next; undefined: nothing for now. */
  wantedPage(): { readonly after: bigint; readonly limit: number } | undefined;
  /** The page that was wanted is being read. */
  onReading(): void;
  addPage(after: bigint, page: Page<Event>): void;
  /** What is to be sent now. It is in flight until `settle`, `putBack` or `drop`. */
  take(now: Instant): Post<Event> | undefined;
  settle(post: Post<Event>, outcome: Outcome, now: Instant): void;
  /** It was not sent. */
  putBack(post: Post<Event>): void;
  /** Its events are no longer kept. */
  drop(post: Post<Event>, now: Instant): void;
  /** When `take` may have something again without anything else happening. */
  nextDueAt(now: Instant): Instant | undefined;
  /** What has changed since the last call. Followed by `onWritten` or `onNotWritten`. */
  takeChanges(): Changes | undefined;
  onWritten(changes: Changes): void;
  onNotWritten(changes: Changes): void;
}

export const MOST_IN_FLIGHT = 16;
/** A webhook with as many open rows reads no further. */
export const MOST_ROWS = 1_000;
/** Accepted behind the place: beyond it, what holds the place up gets a row. Written with each progress, in 8 bytes each. */
export const MOST_ACCEPTED = 200;
export const PAGE_SIZE = 100;
/** A batch ends before it has more than so much: it is signed and posted at once. It always has at least one event. */
export const MOST_BATCH_BYTES = 128 * 1024;
/** So much is read ahead for a receiver that fails. */
export const PAGE_SIZE_WHILE_FAILING = 10;
