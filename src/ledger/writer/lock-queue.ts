/**
 * Commands whose rows are locked before they are decided. Nothing else is decided meanwhile, so they are few at a time, and do
 * not wait then for rows that another process holds, but in line, beside the others.
 */
import type { Queryable } from "../../postgres/database.ts";
import type { Clock } from "../../std/clock.ts";
import { restMs } from "../../std/pause.ts";
import { isLockedFirst, type Key, keyName } from "../tables.ts";
import { ContestedRows } from "./contested-rows.ts";
import type { Decider } from "./decider.ts";
import { LIMITS } from "./lane-options.ts";
import type { AnyCommand, PendingCommand } from "./pending-command.ts";
import type { RefIdLookup } from "./reading/ref-id-lookup.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";
import { type LockedTogether, type RowLine, RowLines, type RowLinesOptions, union } from "./row-lines.ts";
import { type HeldCommand, lockUnheld, type UnheldCommands } from "./unheld-rows.ts";

export class LockQueue {
  readonly #commands = new RoundRobinQueue<PendingCommand>();
  readonly #contested: ContestedRows;
  #atOnce: number = LIMITS.locking;
  #isResting = false;
  #takenMs = 0;
  readonly #onReady: () => void;
  readonly #slot: RowLinesOptions["slot"];
  readonly #decider: Decider;
  readonly #refIds: RefIdLookup;
  readonly #lines: RowLines;

  constructor(
    { clock, database }: { readonly clock: Clock } & Pick<RowLinesOptions, "database">,
    slot: RowLinesOptions["slot"],
    decider: Decider,
    refIds: RefIdLookup,
    onReady: RowLinesOptions["onReady"],
  ) {
    this.#contested = new ContestedRows(clock);
    this.#slot = slot;
    this.#onReady = onReady;
    this.#decider = decider;
    this.#refIds = refIds;
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
    return (this.#commands.size > 0 && !this.#isResting) || this.#lines.isReady;
  }

  /** Whether its rows are to be locked before it is decided. */
  isFor({ command, locksAll }: PendingCommand): boolean {
    if (locksAll || this.#lines.isFor(command) || this.#isLikelyHeld(command)) return true;
    return !this.#contested.isEmpty && command.dependsOn.some((key) => this.#contested.has(keyName(key)));
  }

  /** Keeps those that must be locked. @returns the others, whose turn it is */
  divert(commands: readonly PendingCommand[]): readonly PendingCommand[] {
    const isToLock = commands.map((pending) => this.isFor(pending));
    this.push(commands.filter((_, i) => isToLock[i]));
    return commands.filter((_, i) => !isToLock[i]);
  }

  push(commands: readonly PendingCommand[]): void {
    const likelyHeld: HeldCommand[] = [];
    for (const pending of commands) {
      if (pending.isComplete) continue;
      // Behind one that waits for some of its rows it would find others held when that has its turn.
      if (this.#isLikelyHeld(pending.command)) likelyHeld.push({ pending, keys: [] });
      else if (this.#lines.gathers(pending) && this.#contestedOf(pending.command).length > 0)
        likelyHeld.push({ pending, keys: [] });
      else if (!this.#lines.join(pending)) this.#commands.push(pending.command.queueKey, pending);
    }
    this.#lineUp(likelyHeld);
  }

  /** Those that are decided next, of each customer as many. `onLocked` or `onRefused` follows, and `onDecided`. */
  take(): LockedTogether {
    this.#takenMs = performance.now();
    const free = this.#commands.take(this.#atOnce);
    const inLine = this.#lines.take();
    return inLine === undefined ? { commands: free } : { ...inLine, others: free };
  }

  /**
   * What was taken is decided. Those of which nothing is locked yet rest for as long as that took: then there is time for others,
   * and more of them are decided together.
   */
  onDecided(): void {
    this.#isResting = true;
    const ms = restMs(performance.now() - this.#takenMs, 1);
    setTimeout(() => {
      this.#isResting = false;
      this.#onReady();
    }, ms);
  }

  onLocked(): void {
    this.#atOnce = Math.min(LIMITS.locking, this.#atOnce * 2);
  }

  /** Another process holds rows of each of these. */
  lineUp(held: readonly HeldCommand[]): void {
    this.addContested(held.flatMap(({ keys }) => keys.map(keyName)));
    this.#lineUp(held.filter(({ pending }) => !pending.isComplete));
  }

  /**
   * What needs many rows, as a round of a market, and who has waited before, wait for all that are likely to be held: else they
   * would find others held each time. The rest waits for what is held only, so that who needs another of its rows does not wait.
   */
  #lineUp(held: readonly HeldCommand[]): void {
    for (const { pending, keys } of held) {
      const { waitsFor, command } = pending;
      const isForAll = command.queueKey !== "house" || waitsFor.length > 0 || command.dependsOn.length > LIMITS.fewRows;
      pending.waitsFor = union(waitsFor, keys, isForAll ? this.#contestedOf(command) : []);
    }
    this.#lines.lineUp(held.map(({ pending }) => pending));
  }

  /** Locks what is free of the rows of commands that were taken, and puts it into memory. */
  async lock(transaction: Queryable, commands: readonly PendingCommand[], line?: RowLine): Promise<UnheldCommands> {
    const [locked] = await Promise.all([
      lockUnheld(transaction, commands, this.#slot.number, (key) => this.#decider.has(key), line?.names),
      this.#refIds.rememberTaken(transaction, commands),
    ]);
    const keys = [...(line?.keys ?? []), ...locked.keys];
    const rows = [...(line?.rows ?? []), ...locked.rows];
    if (locked.free.length > 0) this.#contested.noteFound(this.#decider.replace(keys, rows, locked.free));
    return locked;
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
    this.#contested.add(names);
  }

  removeExpired(): void {
    this.#contested.removeExpired();
  }

  #isLikelyHeld(command: AnyCommand): boolean {
    return command.dependsOn.length > LIMITS.fewRows && this.#contestedOf(command).length >= LIMITS.manyContested;
  }

  /** Except what is never locked. */
  #contestedOf({ dependsOn }: AnyCommand): readonly Key[] {
    if (this.#contested.isEmpty) return [];
    return dependsOn.filter((key) => isLockedFirst(key) && this.#contested.hasLately(keyName(key)));
  }
}
