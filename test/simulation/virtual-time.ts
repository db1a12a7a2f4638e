/**
 * Virtual time, which jumps from event to event. Node's timers, `performance.now` and `Math.random` are replaced while a
 * simulation runs, so the code under test is unchanged. One event runs at a time, with everything that follows from it, and
 * its time and number alone decide which is next: a seed replays exactly.
 *
 * Every event belongs to a process or to none. Events of a killed process never run; those of a paused one run when it resumes.
 */
import type { Random } from "../support/random.ts";

/** Events of a dead process never run, those of a paused one later. */
export interface Process {
  readonly name: string;
  readonly isDead: boolean;
  /** In virtual milliseconds. */
  readonly pausedUntil: number;
}

export interface Timer {
  cancel(): void;
}

export const MORNING = Date.UTC(2026, 10, 21, 9, 0, 0);
/** Midnight follows soon, and more than once for clocks that are a little wrong. */
export const LATE_EVENING = Date.UTC(2026, 10, 21, 23, 59, 56);

class Event implements Timer {
  at: number;
  /** Its original time: the events of a paused process run in this order. */
  readonly due: number;
  readonly order: number;
  readonly owner: Process | undefined;
  readonly run: () => void;
  isCancelled = false;

  constructor(at: number, order: number, owner: Process | undefined, run: () => void) {
    this.at = at;
    this.due = at;
    this.order = order;
    this.owner = owner;
    this.run = run;
  }

  cancel(): void {
    this.isCancelled = true;
  }
}

/** What `setTimeout` and the others return. */
class Handle {
  timer: Timer | undefined;

  unref(): this {
    return this;
  }

  ref(): this {
    return this;
  }
}

const REPLACED = [
  "setTimeout",
  "setInterval",
  "setImmediate",
  "clearTimeout",
  "clearInterval",
  "clearImmediate",
] as const;

const turnOfTheLoop = globalThis.setImmediate;

export class VirtualTime {
  readonly #start: number;
  readonly #events: Event[] = [];
  #now: number;
  #order = 0;
  /** The owner of the running event, and of all that it schedules. */
  #owner: Process | undefined;

  constructor(start = MORNING) {
    this.#start = start;
    this.#now = start;
  }

  get now(): number {
    return this.#now;
  }

  /** Since the start, in milliseconds. */
  get elapsed(): number {
    return this.#now - this.#start;
  }

  /** Schedules an event of no process. */
  after(ms: number, run: () => void): Timer {
    return this.#schedule(ms, undefined, run);
  }

  /** Schedules an event of a process. */
  afterFor(owner: Process, ms: number, run: () => void): Timer {
    return this.#schedule(ms, owner, run);
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  /** Runs events until the condition holds. @returns false when it did not within `mostMs` */
  async runUntil(holds: () => boolean, mostMs: number): Promise<boolean> {
    const end = this.#now + mostMs;
    while (!holds()) {
      const event = this.#takeNext(end);
      if (event === undefined) return holds();
      this.#owner = event.owner;
      event.run();
      // Everything that follows in this turn completes before the next event.
      await new Promise<void>((resolve) => void turnOfTheLoop(resolve));
      this.#owner = undefined;
    }
    return true;
  }

  /** Replaces the timers and `Math.random`. @returns a function that restores them */
  replaceTimers(random: Random): () => void {
    const kept = new Map(REPLACED.map((name) => [name, globalThis[name]]));
    const { random: realRandom } = Math;
    const { now: realNow } = performance;
    const start =
      (every: boolean) =>
      (run: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) => {
        const handle = new Handle();
        const owner = this.#owner;
        const go = (): void => {
          if (every) handle.timer = this.#schedule(ms ?? 1, owner, go);
          run(...values);
        };
        handle.timer = this.#schedule(ms ?? 1, owner, go);
        return handle;
      };
    const stop = (handle: unknown): void => {
      if (handle instanceof Handle) handle.timer?.cancel();
    };
    const soon = (run: (...values: unknown[]) => void, ...values: unknown[]) => start(false)(run, 0, ...values);
    const virtual = [start(false), start(true), soon, stop, stop, stop];
    for (const [i, name] of REPLACED.entries()) Object.assign(globalThis, { [name]: virtual[i] });
    Math.random = () => random(2 ** 30) / 2 ** 30;
    performance.now = () => this.elapsed;
    return () => {
      for (const [name, real] of kept) Object.assign(globalThis, { [name]: real });
      Math.random = realRandom;
      performance.now = realNow;
    };
  }

  #schedule(ms: number, owner: Process | undefined, run: () => void): Timer {
    const event = new Event(this.#now + Math.max(0, ms), this.#order++, owner, run);
    this.#push(event);
    return event;
  }

  #takeNext(end: number): Event | undefined {
    for (;;) {
      const first = this.#events[0];
      if (first === undefined || first.at > end) return undefined;
      const event = this.#pop();
      if (event.isCancelled || event.owner?.isDead === true) continue;
      if (event.owner !== undefined && event.owner.pausedUntil > event.at) {
        event.at = event.owner.pausedUntil;
        this.#push(event);
        continue;
      }
      this.#now = event.at;
      return event;
    }
  }

  // A heap, ordered by time and then by number.

  #push(event: Event): void {
    const heap = this.#events;
    let i = heap.push(event) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (isBefore(heap[parent] as Event, event)) break;
      heap[i] = heap[parent] as Event;
      i = parent;
    }
    heap[i] = event;
  }

  #pop(): Event {
    const heap = this.#events;
    const first = heap[0] as Event;
    const last = heap.pop() as Event;
    if (heap.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1;
      if (isBefore(last, heap[child] as Event)) break;
      heap[i] = heap[child] as Event;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}
