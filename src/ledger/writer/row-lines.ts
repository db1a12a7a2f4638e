/**
 * Commands of which another process holds rows. They wait in line for those, in transactions of their own, while the lane
 * decides others: a row that others write without a pause goes to a transaction that is waiting when a commit ends.
 *
 * A line locks no row that was free, so who needs one of those waits for nothing that its command waits for.
 */
import type { Database, Queryable } from "../../postgres/database.ts";
import { withResolvers } from "../../std/with-resolvers.ts";
import { type Key, keyName, readKeys } from "../tables.ts";
import { Held } from "./batch-conflicts.ts";
import { LIMITS } from "./lane-options.ts";
import { LOCKING_SETTINGS } from "./lock-patience.ts";
import type { AnyCommand, PendingCommand } from "./pending-command.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";
import type { Slot } from "./slot-chain.ts";
import type { HeldCommand } from "./unheld-rows.ts";

/** Commands that are decided together once their rows are locked. */
export interface LockedTogether {
  readonly commands: readonly PendingCommand[];
  /** Whose transaction has the rows that they have waited for. */
  readonly line?: RowLine;
}

export interface RowLinesOptions {
  readonly database: Database;
  readonly slot: Pick<Slot, "number">;
  /** For commands that do not wait in line any more. */
  readonly onLeft: (commands: readonly PendingCommand[]) => void;
  /** One has its rows: it is to be taken soon, because others wait for them. */
  readonly onReady: () => void;
}

export class RowLines {
  readonly #options: RowLinesOptions;
  readonly #lines = new Set<RowLine>();
  #resting = 0;

  constructor(options: RowLinesOptions) {
    this.#options = options;
  }

  /** Of commands. */
  get size(): number {
    return [...this.#lines].reduce((sum, line) => sum + 1 + line.behind.size, this.#resting);
  }

  get isReady(): boolean {
    return this.#ready() !== undefined;
  }

  /** Whether somebody is in line for a row of the command: decided before, it would wait for what its own process has. */
  isFor(command: AnyCommand): boolean {
    return this.#lineFor(command) !== undefined;
  }

  /** Lets a command wait with one that is in line for a row of it. @returns false when nobody is */
  join(pending: PendingCommand): boolean {
    const line = this.#lineFor(pending.command);
    line?.behind.push(pending.command.queueKey, pending);
    return line !== undefined;
  }

  /**
   * Lets each wait in line for its rows, and for those that it has waited for before: while it waits for others, they would be
   * held again. Those for whom there is no room rest for a moment.
   */
  lineUp(held: readonly HeldCommand[]): void {
    const others: PendingCommand[] = [];
    for (const { pending, keys } of held) {
      pending.waitedFor = union(pending.waitedFor, keys);
      const line = [...this.#lines].find(({ names }) => pending.waitedFor.every((key) => names.has(keyName(key))));
      if (line !== undefined) line.behind.push(pending.command.queueKey, pending);
      else if (this.#hasRoomFor(pending)) this.#open(pending, pending.waitedFor);
      else others.push(pending);
    }
    if (others.length === 0) return;
    this.#resting += others.length;
    setTimeout(() => {
      this.#resting -= others.length;
      this.#options.onLeft(others);
    }, LIMITS.restMs);
  }

  /** A line that has its rows, and who is decided then. Those for whom there is no room wait in line anew. */
  take(): LockedTogether | undefined {
    const line = this.#ready();
    if (line === undefined) return undefined;
    this.#lines.delete(line);
    const commands = [line.first, ...line.behind.take(LIMITS.locking - 1)];
    const [next] = line.behind.take(1);
    if (next !== undefined) {
      const itsKeys = next.command.dependsOn.filter((key) => line.names.has(keyName(key)));
      this.#open(next, union(next.waitedFor, itsKeys), line.behind);
    }
    return { line, commands };
  }

  /** Nobody is to wait any more. */
  close(): void {
    for (const line of this.#lines) line.leave();
  }

  #hasRoomFor({ command }: PendingCommand): boolean {
    const lines = [...this.#lines];
    const isSame = ({ first }: RowLine): boolean => first.command.queueKey === command.queueKey;
    return lines.length < LIMITS.lines && lines.filter(isSame).length < LIMITS.linesPerCustomer;
  }

  #lineFor({ dependsOn }: AnyCommand): RowLine | undefined {
    for (const line of this.#lines) if (dependsOn.some((key) => line.names.has(keyName(key)))) return line;
    return undefined;
  }

  #ready(): RowLine | undefined {
    for (const line of this.#lines) if (line.isReady) return line;
    return undefined;
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

function union(some: readonly Key[], more: readonly Key[]): readonly Key[] {
  const names = new Set(some.map(keyName));
  return [...some, ...more.filter((key) => !names.has(keyName(key)))];
}

type Work = (transaction: Queryable) => Promise<void>;

/** A place in line, for rows that other processes hold. */
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
      await readKeys(transaction, this.keys, slot, "locked");
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

  /** Does it in the transaction that has the rows. @throws what that failed with, or Held when they are not ours any more */
  async run(work: Work): Promise<void> {
    if (!this.isReady) throw new Held();
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
