/**
 * Decides which requests of a server run and which wait. Every caller has a queue of its own, first in, first out. A caller that is alone may use the whole capacity; beside others it has a share of it at a time, and its further
 * requests wait behind one another instead of in front of others.
 *
 * A queue may become as long as the room that is left: one flooding caller gets half of it, two get a third each, and there is
 * always some for the next. A queue that is not short accepts nothing whose expected wait, at its current pace, is too long.
 * What exceeds this is rejected at once, and every wait has a maximum.
 */

import { assert } from "../../std/assert.ts";
import type { TimeShares } from "./time-shares.ts";

export interface FairAdmissionBounds {
  /** Requests in progress and waiting, of all callers. */
  readonly most: number;
  /** In progress, of all callers. */
  readonly atOnce: number;
  /** In progress, of a caller that was alone for a second. */
  readonly alone: number;
  /** In progress, of any other caller. */
  readonly share: number;
  /** So many may wait in any queue, however slow it is. */
  readonly shortQueue: number;
  /** The longest expected wait in a longer queue, and the longest actual wait. */
  readonly expectedMs: number;
  readonly maxWaitMs: number;
  /** How long a request keeps its caller's place after its end, by caller and how long it took. If unset, it does not. */
  readonly rests?: Pick<TimeShares, "restMs">;
}

/**
 * For transactions that a customer's request runs by itself: each keeps a connection while it waits for a row that another
 * one has locked, or for a standby. One of a customer, so they never wait for one another with all connections.
 */
export const TRANSACTIONS: FairAdmissionBounds = {
  most: 64,
  atOnce: 2,
  alone: 1,
  share: 1,
  shortQueue: 4,
  expectedMs: 2_000,
  maxWaitMs: 5_000,
};

/** For internal work, whose amount is bounded elsewhere: it waits without a time limit, and is never rejected. */
export const PATIENT = {
  most: Number.POSITIVE_INFINITY,
  shortQueue: Number.POSITIVE_INFINITY,
  expectedMs: Number.POSITIVE_INFINITY,
  maxWaitMs: Number.POSITIVE_INFINITY,
} as const satisfies Partial<FairAdmissionBounds>;

interface WaitingRequest {
  readonly since: number;
  readonly resolve: (isIn: boolean) => void;
}

interface CallerQueue {
  running: number;
  seenAt: number;
  readonly waiting: WaitingRequest[];
  /** When a request was last admitted from it, or the first one arrived. */
  movedAt: number;
  /** The recent average time between two admissions. */
  paceMs: number;
}

const NEW_CALLER: Readonly<CallerQueue> = { running: 0, seenAt: 0, waiting: [], movedAt: 0, paceMs: 1 };

/** How long a caller counts as present after its last request, so that one that pauses briefly does not lose its share. */
const PRESENT_MS = 1_000;
const SWEEP_MS = 100;
/** The pace is averaged over about so many admissions, which is several batches: those of one batch come at the same moment. */
const PACE_WINDOW = 32;

export class FairAdmission {
  readonly #bounds: FairAdmissionBounds;
  readonly #now: () => number;
  /** Recent callers, the least recently served first. */
  readonly #queues = new Map<string, CallerQueue>();
  #running = 0;
  #resting = 0;
  #waiting = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #sweeping: NodeJS.Timeout | undefined;

  /** @param now monotonic, in milliseconds */
  constructor(bounds: FairAdmissionBounds, now: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /** Requests in progress, at rest and waiting. */
  get size(): number {
    return this.#running + this.#resting + this.#waiting;
  }

  /** Whether there is no room left for anyone. */
  get isFull(): boolean {
    return this.size >= this.#bounds.most;
  }

  /** Whether there is room for one more request of this caller. */
  hasRoomFor(caller: string): boolean {
    const { running, waiting, paceMs } = this.#queues.get(caller) ?? NEW_CALLER;
    const { shortQueue, expectedMs } = this.#bounds;
    if (waiting.length >= shortQueue && waiting.length * paceMs > expectedMs) return false;
    return running + waiting.length < this.#bounds.most - this.size;
  }

  /** Whether one more request of this caller would be admitted without waiting. */
  admitsAtOnce(caller: string): boolean {
    const queue = this.#queues.get(caller) ?? NEW_CALLER;
    return queue.waiting.length === 0 && this.hasRoomFor(caller) && this.#mayStart(queue);
  }

  /** Resolves to true when the request is admitted, and `leave` must follow; to false without room or after too long a wait. */
  enter(caller: string): Promise<boolean> {
    this.#sweep();
    if (!this.hasRoomFor(caller)) return Promise.resolve(false);
    const queue = this.#queues.get(caller) ?? { ...NEW_CALLER, waiting: [] };
    queue.seenAt = this.#now();
    this.#queues.set(caller, queue);
    if (queue.waiting.length === 0 && this.#mayStart(queue)) {
      this.#start(queue);
      return Promise.resolve(true);
    }
    if (queue.waiting.length === 0) queue.movedAt = queue.seenAt;
    this.#waiting += 1;
    this.#sweeping ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    return new Promise((resolve) => queue.waiting.push({ since: queue.seenAt, resolve }));
  }

  /** Runs work once it is admitted. @returns undefined without room or after too long a wait */
  async run<Value>(caller: string, work: () => Promise<Value>): Promise<Value | undefined> {
    if (!(await this.enter(caller))) return undefined;
    const startedMs = this.#now();
    try {
      return await work();
    } finally {
      this.leave(caller, this.#now() - startedMs);
    }
  }

  /** @param tookMs since it was admitted */
  leave(caller: string, tookMs = 0): void {
    const queue = this.#queues.get(caller);
    assert(queue !== undefined && queue.running > 0, "a request that ends was admitted");
    this.#running -= 1;
    const restMs = this.#bounds.rests?.restMs(caller, tookMs) ?? 0;
    if (restMs > 0) this.#rest(queue, restMs);
    else this.#free(queue);
  }

  /** Only the caller's place is kept: what it leaves is for others at once. */
  #rest(queue: CallerQueue, ms: number): void {
    this.#resting += 1;
    setTimeout(() => {
      this.#resting -= 1;
      this.#free(queue);
    }, ms).unref();
    this.#admitWaiting();
  }

  /** Frees the place of a caller. */
  #free(queue: CallerQueue): void {
    queue.running -= 1;
    queue.seenAt = this.#now();
    this.#sweep();
    this.#admitWaiting();
  }

  #mayStart({ running }: Pick<CallerQueue, "running">): boolean {
    const share = this.#queues.size === 1 ? this.#bounds.alone : this.#bounds.share;
    return running < share && this.#running < this.#bounds.atOnce;
  }

  #start(queue: CallerQueue): void {
    queue.running += 1;
    this.#running += 1;
  }

  /** Round robin: one of each queue at a time. A served caller goes to the end. */
  #admitWaiting(): void {
    if (this.#waiting === 0) return;
    for (let served = true; served; ) {
      served = false;
      for (const [caller, queue] of [...this.#queues]) {
        const [first] = queue.waiting;
        if (first === undefined || !this.#mayStart(queue)) continue;
        queue.waiting.shift();
        this.#waiting -= 1;
        this.#start(queue);
        this.#notePace(queue);
        this.#queues.delete(caller);
        this.#queues.set(caller, queue);
        first.resolve(true);
        served = true;
      }
    }
  }

  #notePace(queue: CallerQueue): void {
    const now = this.#now();
    queue.paceMs += (now - queue.movedAt - queue.paceMs) / PACE_WINDOW;
    queue.movedAt = now;
  }

  /** Forgets callers that are no longer present, and rejects requests that have waited too long. */
  #sweep(): void {
    const now = this.#now();
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [caller, queue] of this.#queues) {
      while (queue.waiting[0] !== undefined && now - queue.waiting[0].since >= this.#bounds.maxWaitMs) {
        this.#waiting -= 1;
        queue.waiting.shift()?.resolve(false);
      }
      if (queue.running + queue.waiting.length === 0 && now - queue.seenAt >= PRESENT_MS) this.#queues.delete(caller);
    }
    this.#admitWaiting();
    if (this.#waiting > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }
}
