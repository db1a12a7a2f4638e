/**
 * Commands whose rows are locked before they are decided. Nothing else is decided meanwhile, so they are few at a time, wait
 * briefly for rows that another process holds, and then come again, behind a batch of others.
 */
import type { Clock } from "../../std/clock.ts";
import { keyName } from "../tables.ts";
import { LIMITS } from "./lane-options.ts";
import type { PendingCommand } from "./pending-command.ts";
import { ExpiringSet } from "./reading/expiring-set.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";

export class LockQueue {
  readonly #commands = new RoundRobinQueue<PendingCommand>();
  /** Rows that another process changed lately. Decided on as they are in memory, batches would be refused again. */
  readonly #contested: ExpiringSet;
  #atOnce: number = LIMITS.locking;
  #othersHadTurn = false;

  constructor(clock: Clock) {
    this.#contested = new ExpiringSet(clock, LIMITS.contestedMs);
  }

  get size(): number {
    return this.#commands.size;
  }

  /** Whether these are next, because a batch of others has had its turn. */
  get isNext(): boolean {
    return this.#othersHadTurn && this.size > 0;
  }

  /** Keeps those that must be locked. @returns the others, whose turn it is */
  divert(commands: readonly PendingCommand[]): readonly PendingCommand[] {
    this.#othersHadTurn = true;
    const isToLock = commands.map((pending) => this.#mustLock(pending));
    this.push(commands.filter((_, i) => isToLock[i]));
    return commands.filter((_, i) => !isToLock[i]);
  }

  push(commands: readonly PendingCommand[]): void {
    for (const pending of commands) this.#commands.push(pending.command.queueKey, pending);
  }

  /** Those that are decided next, of each customer as many. `onLocked` or `onHeld` follows. */
  take(): PendingCommand[] {
    this.#othersHadTurn = false;
    return this.#commands.take(this.#atOnce);
  }

  onLocked(): void {
    this.#atOnce = Math.min(LIMITS.locking, this.#atOnce * 2);
  }

  /** Another process holds rows of these. Fewer are locked at a time then, so that those whose rows are free are soon alone. */
  onHeld(commands: readonly PendingCommand[]): void {
    this.#atOnce = Math.max(1, Math.floor(Math.min(commands.length, this.#atOnce) / 2));
    this.push(commands.filter((pending) => !pending.isComplete));
    const names = commands.flatMap(({ command }) => command.dependsOn.map(keyName));
    this.addContested(names.filter((name) => this.#contested.has(name)));
  }

  addContested(names: readonly string[]): void {
    for (const name of names) this.#contested.add(name);
  }

  removeExpired(): void {
    this.#contested.removeExpired();
  }

  #mustLock({ command }: PendingCommand): boolean {
    if (command.lock === true) return true;
    return !this.#contested.isEmpty && command.dependsOn.some((key) => this.#contested.has(keyName(key)));
  }
}
