/**
 * A fair queue: decides which requests are processed and which wait. Every caller has a queue of its own, first in, first
 * out. A caller that is alone may use the whole capacity; beside others it has a share of it at a time, and its further
 * requests wait behind one another instead of in front of others.
 *
 * A queue may become as long as the room that is left: one flooding caller gets half of it, two get a third each, and there is
 * always some for the next. A queue that is not short accepts nothing whose expected wait, at its current pace, is too long.
 * What exceeds this is rejected at once, and every wait has a maximum.
 */

import { assert } from "../../std/assert.ts";

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
  readonly shortLine: number;
  /** The longest expected wait in a longer queue, and the longest actual wait. */
  readonly expectedMs: number;
  readonly patienceMs: number;
}

interface WaitingRequest {
  readonly since: number;
  readonly tell: (isIn: boolean) => void;
}

interface Line {
  inside: number;
  seenAt: number;
  readonly waiting: WaitingRequest[];
  /** When a request was last admitted from it, or the first one arrived. */
  movedAt: number;
  /** The recent average time between two admissions. */
  paceMs: number;
}

const NOBODY: Pick<Line, "inside" | "waiting" | "paceMs"> = { inside: 0, waiting: [], paceMs: 1 };

/** How long a caller counts as present after its last request, so that one that pauses briefly does not lose its share. */
const LATELY_MS = 1_000;
const SWEEP_MS = 100;
/** The pace is averaged over about so many admissions, which is several batches: those of one batch come at the same moment. */
const PACE_OVER = 32;

export class FairAdmission {
  readonly #bounds: FairAdmissionBounds;
  readonly #now: () => number;
  /** Recent callers, the least recently served first. */
  readonly #lines = new Map<string, Line>();
  #inside = 0;
  #waiting = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #sweeping: NodeJS.Timeout | undefined;

  /** @param now monotonic, in milliseconds */
  constructor(bounds: FairAdmissionBounds, now: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /** Requests in progress and waiting. */
  get size(): number {
    return this.#inside + this.#waiting;
  }

  /** Whether there is no room left for anyone. */
  get isFull(): boolean {
    return this.size >= this.#bounds.most;
  }

  /** Whether there is room for one more request of this caller. */
  hasRoomFor(caller: string): boolean {
    const { inside, waiting, paceMs } = this.#lines.get(caller) ?? NOBODY;
    const { shortLine, expectedMs } = this.#bounds;
    if (waiting.length >= shortLine && waiting.length * paceMs > expectedMs) return false;
    return inside + waiting.length < this.#bounds.most - this.size;
  }

  /** Resolves to true when the request is admitted, and `leave` must follow; to false without room or after too long a wait. */
  enter(caller: string): Promise<boolean> {
    this.#sweep();
    if (!this.hasRoomFor(caller)) return Promise.resolve(false);
    const line = this.#lines.get(caller) ?? { ...NOBODY, seenAt: 0, waiting: [], movedAt: 0 };
    line.seenAt = this.#now();
    this.#lines.set(caller, line);
    if (line.waiting.length === 0 && this.#letsIn(line)) {
      this.#goIn(line);
      return Promise.resolve(true);
    }
    if (line.waiting.length === 0) line.movedAt = line.seenAt;
    this.#waiting += 1;
    this.#sweeping ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    return new Promise((tell) => line.waiting.push({ since: line.seenAt, tell }));
  }

  leave(caller: string): void {
    const line = this.#lines.get(caller);
    assert(line !== undefined && line.inside > 0, "who leaves is inside");
    line.inside -= 1;
    this.#inside -= 1;
    line.seenAt = this.#now();
    this.#sweep();
    this.#admitWaiting();
  }

  #letsIn({ inside }: Line): boolean {
    const share = this.#lines.size === 1 ? this.#bounds.alone : this.#bounds.share;
    return inside < share && this.#inside < this.#bounds.atOnce;
  }

  #goIn(line: Line): void {
    line.inside += 1;
    this.#inside += 1;
  }

  /** Round robin: one of each queue at a time. A served caller goes to the end. */
  #admitWaiting(): void {
    if (this.#waiting === 0) return;
    for (let served = true; served; ) {
      served = false;
      for (const [caller, line] of [...this.#lines]) {
        const [first] = line.waiting;
        if (first === undefined || !this.#letsIn(line)) continue;
        line.waiting.shift();
        this.#waiting -= 1;
        this.#goIn(line);
        this.#notePace(line);
        this.#lines.delete(caller);
        this.#lines.set(caller, line);
        first.tell(true);
        served = true;
      }
    }
  }

  #notePace(line: Line): void {
    const now = this.#now();
    line.paceMs += (now - line.movedAt - line.paceMs) / PACE_OVER;
    line.movedAt = now;
  }

  /** Forgets callers that are no longer present, and rejects requests that have waited too long. */
  #sweep(): void {
    const now = this.#now();
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [caller, line] of this.#lines) {
      while (line.waiting[0] !== undefined && now - line.waiting[0].since >= this.#bounds.patienceMs) {
        this.#waiting -= 1;
        line.waiting.shift()?.tell(false);
      }
      if (line.inside + line.waiting.length === 0 && now - line.seenAt >= LATELY_MS) this.#lines.delete(caller);
    }
    this.#admitWaiting();
    if (this.#waiting > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }
}
