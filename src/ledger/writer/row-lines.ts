/**
 * Commands of which another process holds rows. They wait in line for those, in transactions of their own, while the lane
 * decides others: a row that others write without a pause goes to a transaction that is waiting when a commit ends.
 */
import type { Database, Queryable } from "../../postgres/database.ts";
import { withResolvers } from "../../std/with-resolvers.ts";
import { type Key, keyName, readKeys } from "../tables.ts";
import { RowsHeld } from "./batch-conflicts.ts";
import { LIMITS } from "./lane-options.ts";
import { LOCKING_SETTINGS } from "./lock-patience.ts";
import type { PendingCommand } from "./pending-command.ts";
import { readUnheld } from "./refusal.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";
import type { Slot } from "./slot-chain.ts";

/** Commands that are decided together once their rows are locked. */
export interface LockedTogether {
  readonly commands: readonly PendingCommand[];
  /** Whose transaction has rows of theirs already. */
  readonly line?: RowLine;
}

export interface RowLinesOptions {
  readonly database: Database;
  readonly slot: Pick<Slot, "number">;
  /** For commands that do not wait in line, or no longer. */
  readonly onLeft: (commands: readonly PendingCommand[]) => void;
  /** These rows are held by another process. */
  readonly onHeld: (names: readonly string[]) => void;
  /** One has its rows: it is to be taken soon, because others wait for them. */
  readonly onReady: () => void;
}

export class RowLines {
  readonly #options: RowLinesOptions;
  readonly #lines = new Set<RowLine>();

  constructor(options: RowLinesOptions) {
    this.#options = options;
  }

  /** Of commands. */
  get size(): number {
    return [...this.#lines].reduce((sum, line) => sum + 1 + line.behind.size, 0);
  }

  get isReady(): boolean {
    return this.#ready() !== undefined;
  }

  /**
   * Lets a command wait behind one that is in line for the same rows, to be decided together with it.
   * @param names of the rows that the command would wait for @returns false when nobody is in line for all of them
   */
  join(pending: PendingCommand, names: readonly string[]): boolean {
    if (names.length === 0) return false;
    const line = [...this.#lines].find((one) => names.every((name) => one.names.has(name)));
    line?.behind.push(pending.command.queueKey, pending);
    return line !== undefined;
  }

  /**
   * Finds out which rows of these commands others hold, and lets those that need them wait in line. The others have left. To be
   * waited for while nothing is in flight, whose rows would count as held.
   */
  async lineUp(commands: readonly PendingCommand[]): Promise<void> {
    const held = await this.#heldOf(commands).catch(() => new Set<string>());
    this.#options.onHeld([...held]);
    const left = commands.filter((pending) => {
      const keys = pending.command.dependsOn.filter((key) => held.has(keyName(key)));
      if (keys.length === 0 || pending.isComplete) return true;
      if (this.join(pending, keys.map(keyName))) return false;
      if (this.#lines.size >= LIMITS.lines) return true;
      this.#open(pending, keys);
      return false;
    });
    this.#options.onLeft(left);
  }

  /** A line that has its rows, and who is decided then. Those for whom there is no room wait in line anew. */
  take(): LockedTogether | undefined {
    const line = this.#ready();
    if (line === undefined) return undefined;
    this.#lines.delete(line);
    const commands = [line.first, ...line.behind.take(LIMITS.locking - 1)];
    const [next] = line.behind.take(1);
    if (next !== undefined) this.#open(next, line.keys, line.behind);
    return { line, commands };
  }

  /** Nobody is to wait any more. */
  close(): void {
    for (const line of this.#lines) line.leave();
  }

  #ready(): RowLine | undefined {
    for (const line of this.#lines) if (line.isReady) return line;
    return undefined;
  }

  /** Rows that do not exist count as held: nobody waits for them. */
  async #heldOf(commands: readonly PendingCommand[]): Promise<Set<string>> {
    const { database, slot } = this.#options;
    const keys = commands.flatMap(({ command }) => command.dependsOn);
    const unheld = new Set((await readUnheld(database, keys, slot.number)).map(keyName));
    return new Set(keys.map(keyName).filter((name) => !unheld.has(name)));
  }

  #open(first: PendingCommand, keys: readonly Key[], behind = new RoundRobinQueue<PendingCommand>()): void {
    const { database, slot, onLeft, onReady } = this.#options;
    const line = new RowLine(first, keys, behind);
    this.#lines.add(line);
    void line.wait(database, slot.number, onReady).finally(() => {
      // It was not taken: the wait was too long, or in vain.
      if (this.#lines.delete(line)) onLeft([first, ...behind.take(behind.size)]);
    });
  }
}

type Work = (transaction: Queryable) => Promise<void>;

/** A place in line, for rows that another process holds. */
export class RowLine {
  readonly first: PendingCommand;
  readonly keys: readonly Key[];
  readonly names: ReadonlySet<string>;
  readonly behind: RoundRobinQueue<PendingCommand>;
  readonly #work = withResolvers<Work | undefined>();
  #state: "waiting" | "ready" | "left" = "waiting";
  #transaction: Promise<void> | undefined;

  constructor(first: PendingCommand, keys: readonly Key[], behind: RoundRobinQueue<PendingCommand>) {
    this.first = first;
    this.keys = keys;
    this.names = new Set(keys.map(keyName));
    this.behind = behind;
  }

  /** Whether the rows are locked. */
  get isReady(): boolean {
    return this.#state === "ready";
  }

  /** Resolves when the transaction has ended, whatever came of it. */
  async wait(database: Database, slot: number, onReady: () => void): Promise<void> {
    this.#transaction = database.transaction(async (transaction) => {
      await transaction.rows(LOCKING_SETTINGS, [LONGEST]);
      await readKeys(transaction, this.keys, slot, "for update");
      if (this.#state === "left") return;
      this.#state = "ready";
      onReady();
      // PostgreSQL would end the transaction.
      const timer = setTimeout(() => this.leave(), LIMITS.lineIdleMs);
      const work = await this.#work.promise;
      clearTimeout(timer);
      await work?.(transaction);
    });
    await this.#transaction.catch(() => undefined);
  }

  /** Does it in the transaction that has the rows. @throws what that failed with, or RowsHeld when they are not ours any more */
  async run(work: Work): Promise<void> {
    if (!this.isReady) throw new RowsHeld();
    this.#work.resolve(work);
    await this.#transaction;
  }

  /** Gives the rows up, unless they are being used. */
  leave(): undefined {
    this.#state = "left";
    this.#work.resolve(undefined);
  }
}

/** Others are decided meanwhile. */
const LONGEST = "3s";
