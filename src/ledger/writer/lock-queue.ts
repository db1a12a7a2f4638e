/**
 * Commands whose rows are locked before they are decided. Nothing else is decided meanwhile, so they are few at a time, and do
 * not wait then for rows that another process holds, but in line, beside the others.
 */
import type { Clock } from "../../std/clock.ts";
import { keyName } from "../tables.ts";
import { LIMITS } from "./lane-options.ts";
import type { PendingCommand } from "./pending-command.ts";
import { ExpiringSet } from "./reading/expiring-set.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";
import { type LockedTogether, RowLines, type RowLinesOptions } from "./row-lines.ts";
import type { HeldCommand } from "./unheld-rows.ts";

export class LockQueue {
  readonly #commands = new RoundRobinQueue<PendingCommand>();
  /** Rows that another process changed lately. Decided on as they are in memory, batches would be refused again. */
  readonly #contested: ExpiringSet;
  #atOnce: number = LIMITS.locking;
  #othersHadTurn = false;
  readonly #lines: RowLines;

  constructor(
    { clock, database }: { readonly clock: Clock } & Pick<RowLinesOptions, "database">,
    slot: RowLinesOptions["slot"],
    onReady: RowLinesOptions["onReady"],
  ) {
    this.#contested = new ExpiringSet(clock, LIMITS.contestedMs);
    const onLeft = (commands: readonly PendingCommand[]) => {
      this.push(commands);
      onReady();
    };
    this.#lines = new RowLines({ database, slot, onReady, onLeft });
  }

  get size(): number {
    return this.#commands.size + this.#lines.size;
  }

  /** Whether there are some that can be decided. */
  get isReady(): boolean {
    return this.#commands.size > 0 || this.#lines.isReady;
  }

  /** Whether these are next, because a batch of others has had its turn. */
  get isNext(): boolean {
    return this.#othersHadTurn && this.isReady;
  }

  /** Keeps those that must be locked. @returns the others, whose turn it is */
  divert(commands: readonly PendingCommand[]): readonly PendingCommand[] {
    this.#othersHadTurn = true;
    const isToLock = commands.map((pending) => this.#mustLock(pending));
    this.push(commands.filter((_, i) => isToLock[i]));
    return commands.filter((_, i) => !isToLock[i]);
  }

  push(commands: readonly PendingCommand[]): void {
    for (const pending of commands) {
      if (!pending.isComplete && !this.#lines.join(pending)) this.#commands.push(pending.command.queueKey, pending);
    }
  }

  /** Those that are decided next, of each customer as many. `onLocked` or `onRefused` follows. */
  take(): LockedTogether {
    this.#othersHadTurn = false;
    return this.#lines.take() ?? { commands: this.#commands.take(this.#atOnce) };
  }

  onLocked(): void {
    this.#atOnce = Math.min(LIMITS.locking, this.#atOnce * 2);
  }

  /** Another process holds rows of each of these. */
  lineUp(held: readonly HeldCommand[]): void {
    this.addContested(held.flatMap(({ keys }) => keys.map(keyName)));
    this.#lines.lineUp(held.filter(({ pending }) => !pending.isComplete));
  }

  /**
   * Another process is about to take a ref_id of one of these, or their place in line is lost. Fewer are decided at a time then,
   * so that those of which nothing is held are soon alone.
   */
  onRefused(commands: readonly PendingCommand[]): void {
    this.#atOnce = Math.max(1, Math.floor(Math.min(commands.length, this.#atOnce) / 2));
    this.push(commands);
  }

  /** Nothing is decided any more. */
  close(): void {
    this.#lines.close();
  }

  addContested(names: readonly string[]): void {
    for (const name of names) this.#contested.add(name);
  }

  removeExpired(): void {
    this.#contested.removeExpired();
  }

  #mustLock({ command }: PendingCommand): boolean {
    if (command.lock === true || this.#lines.isFor(command)) return true;
    return !this.#contested.isEmpty && command.dependsOn.some((key) => this.#contested.has(keyName(key)));
  }
}
