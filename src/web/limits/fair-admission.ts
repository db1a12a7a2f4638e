/**
 * Who is worked for at once, and who waits. Every caller has a line of its own, first come first served. A caller who is
 * alone may have all that there is; beside others he has a share of it at a time, and the rest of his requests wait
 * behind one another instead of before those of others.
 *
 * A line may become as long as the room that is left. So one who floods can have half of the room, two a third each, and
 * whoever comes after them finds some still. And nobody is let into a line that is not short and in which he would wait long,
 * at the pace at which it moves: on a slow machine less can wait. What is past that is refused at once, and nobody waits longer than a while.
 */

import { assert } from "../../std/assert.ts";

export interface FairAdmissionBounds {
  /** Inside and waiting, of all callers. */
  readonly most: number;
  /** Inside, of all callers. */
  readonly atOnce: number;
  /** Inside, of a caller who was alone for a second. */
  readonly alone: number;
  /** Inside, of a caller who is not. */
  readonly share: number;
  /** So many may wait in any line, however slowly it moves. */
  readonly shortLine: number;
  /** How long one may have to expect to wait in a longer one, and may wait when it comes otherwise. */
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
  /** When somebody in it had his turn, or its first came. */
  movedAt: number;
  /** How long it takes for one after the other to have his turn, as it was lately. */
  paceMs: number;
}

const NOBODY: Pick<Line, "inside" | "waiting" | "paceMs"> = { inside: 0, waiting: [], paceMs: 1 };

/** For so long a caller counts after his last request: one who asks and asks again must not find the other grown meanwhile. */
const LATELY_MS = 1_000;
const SWEEP_MS = 100;
/** The pace is that of about so many turns: of some batches, since those of one batch come at the same moment. */
const PACE_OVER = 32;

export class FairAdmission {
  readonly #bounds: FairAdmissionBounds;
  readonly #now: () => number;
  /** Whoever was here lately; those who were served longest ago first. */
  readonly #lines = new Map<string, Line>();
  #inside = 0;
  #waiting = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #sweeping: NodeJS.Timeout | undefined;

  /** `now` answers milliseconds that only ever pass. */
  constructor(bounds: FairAdmissionBounds, now: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /** Inside and waiting. */
  get size(): number {
    return this.#inside + this.#waiting;
  }

  /** Whether there is room for nobody. */
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

  /** Answers when it is the caller's turn: true, and he has to leave; false when there is no room, or he waited too long. */
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

  /** One of each line, round and round; whoever was served goes behind those who were not. */
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

  /** Forgets who was not here lately, and sends away who has waited too long. */
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
