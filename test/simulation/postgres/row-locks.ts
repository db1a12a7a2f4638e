/** Locks on rows, and on keys that are being inserted: held until the transaction ends, with a queue of waiters. */

import type { Timer, VirtualTime } from "../virtual-time.ts";
import { serverFault } from "./tables.ts";

export type LockMode = "share" | "exclusive";

/** A holder of locks, compared by identity. */
export interface Holder {
  /** The lock that it waits for. */
  waitsFor?: string | undefined;
}

interface Waiter {
  readonly holder: Holder;
  readonly mode: LockMode;
  readonly admit: () => void;
  readonly reject: (error: Error) => void;
  readonly timers: readonly Timer[];
}

interface Lock {
  readonly held: Map<Holder, LockMode>;
  readonly line: Waiter[];
}

/** PostgreSQL's `deadlock_timeout`. */
const DEADLOCK_MS = 1_000;

export class RowLocks {
  readonly #time: VirtualTime;
  readonly #locks = new Map<string, Lock>();
  readonly #heldBy = new Map<Holder, Set<string>>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Resolves when the lock is held; rejects as PostgreSQL does on a timeout or a deadlock. */
  async take(holder: Holder, name: string, mode: LockMode, mostMs: number): Promise<void> {
    const lock: Lock = this.#locks.get(name) ?? { held: new Map(), line: [] };
    this.#locks.set(name, lock);
    const own = lock.held.get(holder);
    if (own === "exclusive" || own === mode) return;
    if (lock.line.length === 0 && isFree(lock, holder, mode)) return this.#grant(lock, name, holder, mode);
    holder.waitsFor = name;
    await new Promise<void>((admit, reject) => {
      const timers = [
        this.#time.after(mostMs, () => this.#leave(holder, "55P03", "canceling statement due to lock timeout")),
        this.#time.after(DEADLOCK_MS, () => {
          if (this.#isInCircle(holder)) this.#leave(holder, "40P01", "deadlock detected");
        }),
      ];
      lock.line.push({ holder, mode, admit, reject, timers });
    });
  }

  /** @returns false when it is held, or waited for */
  takeUnlessHeld(holder: Holder, name: string, mode: LockMode): boolean {
    const lock: Lock = this.#locks.get(name) ?? { held: new Map(), line: [] };
    const own = lock.held.get(holder);
    if (own === "exclusive" || own === mode) return true;
    if (lock.line.length > 0 || !isFree(lock, holder, mode)) return false;
    this.#locks.set(name, lock);
    this.#grant(lock, name, holder, mode);
    return true;
  }

  /** Ends a wait, because the session ends. */
  breakOff(holder: Holder): void {
    if (holder.waitsFor !== undefined) this.#leave(holder, "57P01", "terminating connection");
  }

  release(holder: Holder): void {
    const names = this.#heldBy.get(holder) ?? [];
    this.#heldBy.delete(holder);
    for (const name of names) {
      const lock = this.#locks.get(name);
      lock?.held.delete(holder);
      this.#admitNext(name);
    }
  }

  #grant(lock: Lock, name: string, holder: Holder, mode: LockMode): void {
    lock.held.set(holder, mode);
    const names = this.#heldBy.get(holder) ?? new Set();
    this.#heldBy.set(holder, names.add(name));
  }

  #admitNext(name: string): void {
    const lock = this.#locks.get(name);
    if (lock === undefined) return;
    for (let next = lock.line[0]; next !== undefined && isFree(lock, next.holder, next.mode); next = lock.line[0]) {
      lock.line.shift();
      for (const timer of next.timers) timer.cancel();
      next.holder.waitsFor = undefined;
      this.#grant(lock, name, next.holder, next.mode);
      next.admit();
    }
    if (lock.held.size === 0 && lock.line.length === 0) this.#locks.delete(name);
  }

  #leave(holder: Holder, code: string, message: string): void {
    const name = holder.waitsFor;
    const line = name === undefined ? undefined : this.#locks.get(name)?.line;
    const place = line?.findIndex((waiter) => waiter.holder === holder) ?? -1;
    if (name === undefined || line === undefined || place < 0) return;
    const [waiter] = line.splice(place, 1) as [Waiter];
    for (const timer of waiter.timers) timer.cancel();
    holder.waitsFor = undefined;
    waiter.reject(serverFault(code, message));
    this.#admitNext(name);
  }

  #isInCircle(start: Holder): boolean {
    const seen = new Set<Holder>();
    const reach = (holder: Holder): boolean => {
      for (const other of this.#blockersOf(holder)) {
        if (other === start) return true;
        if (seen.has(other)) continue;
        seen.add(other);
        if (reach(other)) return true;
      }
      return false;
    };
    return reach(start);
  }

  #blockersOf(holder: Holder): Holder[] {
    const lock = holder.waitsFor === undefined ? undefined : this.#locks.get(holder.waitsFor);
    if (lock === undefined) return [];
    const before = lock.line.slice(
      0,
      lock.line.findIndex((waiter) => waiter.holder === holder),
    );
    return [...lock.held.keys(), ...before.map((waiter) => waiter.holder)].filter((other) => other !== holder);
  }
}

function isFree({ held }: Lock, holder: Holder, mode: LockMode): boolean {
  for (const [other, otherMode] of held) {
    if (other !== holder && (mode === "exclusive" || otherMode === "exclusive")) return false;
  }
  return true;
}
