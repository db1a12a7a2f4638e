/**
 * Commands of which another process holds rows. They wait in line for those, in transactions of their own, while the lane
 * decides others: a row that others write without a pause goes to a transaction that is waiting when a commit ends.
 *
 * A line locks only rows that others hold, or change all the time, so who needs another waits for nothing that its command waits
 * for.
 */
import type { Database, Transaction } from "../../postgres/database.ts";
import { withResolvers } from "../../std/with-resolvers.ts";
import { isLockedFirst, type Key, keyName, readKeys } from "../tables.ts";
import { Held } from "./batch-conflicts.ts";
import { CustomerTurns, TAKE_TURN } from "./customer-turns.ts";
import { LIMITS } from "./lane-options.ts";
import { LOCKING_SETTINGS } from "./lock-patience.ts";
import type { AnyCommand, PendingCommand } from "./pending-command.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";
import type { Slot } from "./slot-chain.ts";

/** Commands that are decided together once their rows are locked. */
export interface LockedTogether {
  readonly commands: readonly PendingCommand[];
  /** Whose transaction has the rows that they have waited for. */
  readonly line?: RowLine;
  /** Who is decided in the same batch, and without them if that is refused. */
  readonly others?: readonly PendingCommand[];
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
  readonly #turns = new CustomerTurns();
  #resting = 0;

  constructor(options: RowLinesOptions) {
    this.#options = options;
  }

  /** Of commands. */
  get size(): number {
    return [...this.#lines].reduce((sum, line) => sum + line.first.length + line.behind.size, this.#resting);
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

  /** Whether a command that needs rows which others change is decided in its customer's next turn, without an attempt before. */
  gathers({ command: { queueKey }, isAlone }: PendingCommand): boolean {
    if (isAlone || !this.#turns.has(queueKey)) return false;
    return ![...this.#lines].some((line) => line.customer === queueKey && line.isStuck);
  }

  /**
   * Lets each wait in line for the rows that it waits for: those of one customer together, so that they are decided in one batch,
   * and rounds of markets with those that wait for the same rows. Those for whom there is no room rest for a moment.
   */
  lineUp(commands: readonly PendingCommand[]): void {
    const [apart, others]: [PendingCommand[], PendingCommand[]] = [[], []];
    for (const pending of commands) {
      const { waitsFor } = pending;
      const line = this.#begun().find(({ names }) => waitsFor.every((key) => names.has(keyName(key))));
      const gathering = [...this.#lines].find((one) => one.gathers(pending));
      if (line !== undefined) line.behind.push(pending.command.queueKey, pending);
      else if (gathering !== undefined) gathering.add(pending);
      else apart.push(pending);
    }
    for (const group of groupsOf(apart)) {
      if (this.#hasRoomFor(group)) this.#open(group);
      others.push(...group);
    }
    if (others.length > 0) this.#rest(others);
  }

  /** A line that has its rows, and who is decided then. Those for whom there is no room wait in line anew. */
  take(): LockedTogether | undefined {
    const line = this.#ready();
    if (line === undefined) return undefined;
    this.#lines.delete(line);
    line.begin();
    const commands = [...line.first, ...line.behind.take(LIMITS.locking)];
    const others = line.behind.take(line.behind.size);
    for (const pending of others) {
      const shared = pending.command.dependsOn.filter((key) => isLockedFirst(key) && line.names.has(keyName(key)));
      pending.waitsFor = union(pending.waitsFor, shared);
    }
    this.lineUp(others);
    return { line, commands };
  }

  /** Nobody is to wait any more. */
  close(): void {
    for (const line of this.#lines) line.leave();
  }

  /** Keeps some lines for the rounds of markets, which customers cannot take. */
  #hasRoomFor([pending]: readonly PendingCommand[]): boolean {
    const queueKey = pending?.command.queueKey;
    const queueKeys = [...this.#lines].map(({ first }) => first[0]?.command.queueKey);
    const most = queueKey === "house" ? LIMITS.linesOfHouse : LIMITS.linesPerCustomer;
    if (queueKeys.filter((one) => one === queueKey).length >= most) return false;
    const ofCustomers = queueKeys.filter((one) => one !== "house").length;
    return queueKey === "house" || ofCustomers < LIMITS.lines - LIMITS.linesOfHouse;
  }

  #lineFor({ dependsOn }: AnyCommand): RowLine | undefined {
    for (const line of this.#begun())
      if (dependsOn.some((key) => isLockedFirst(key) && line.names.has(keyName(key)))) return line;
    return undefined;
  }

  /** Those that wait for their rows, or have them. */
  #begun(): readonly RowLine[] {
    return [...this.#lines].filter(({ hasBegun }) => hasBegun);
  }

  /** A line of the house goes first, because every order on a market waits for that market's round. */
  #ready(): RowLine | undefined {
    const ready = [...this.#lines].filter(({ isReady }) => isReady);
    return ready.find(({ isOfHouse }) => isOfHouse) ?? ready[0];
  }

  /** Takes from a group as many as have room in one line. */
  #open(group: PendingCommand[]): void {
    const { database, slot, onLeft, onReady } = this.#options;
    const line = new RowLine(group);
    const { customer } = line;
    this.#lines.add(line);
    const before = customer === undefined ? undefined : this.#turns.until(customer);
    const ended = line.wait(database, slot.number, onReady, before).finally(() => {
      if (!this.#lines.delete(line)) return;
      const all = [...line.first, ...line.behind.take(line.behind.size)];
      // It had to wait for its turn for too long.
      if (!line.isWaiting) return onLeft(all);
      // Or for a row, which may be that of one of them only. Or the database is away.
      if (line.hasBegun) for (const pending of line.first) pending.isAlone = true;
      this.#rest(all);
    });
    const tookMs = ended.then(() => line.turnMs);
    if (customer !== undefined) this.#turns.add(customer, tookMs);
  }

  #rest(commands: readonly PendingCommand[]): void {
    this.#resting += commands.length;
    setTimeout(() => {
      this.#resting -= commands.length;
      this.#options.onLeft(commands);
    }, LIMITS.restMs);
  }
}

interface Group {
  readonly commands: PendingCommand[];
  readonly names: ReadonlySet<string>;
}

/**
 * Who waits together. Of rounds only those that have rows in common: a line holds what it has while it waits for the rest, so
 * whoever needs the rows of one market's round would wait for what the rounds of all others wait for.
 */
function groupsOf(commands: readonly PendingCommand[]): PendingCommand[][] {
  let groups: Group[] = [];
  for (const pending of commands) {
    const names = pending.waitsFor.map(keyName);
    const isWith = ({ commands: [other], names: theirs }: Group): boolean => {
      if (pending.isAlone || other?.isAlone !== false) return false;
      const { queueKey } = pending.command;
      return other.command.queueKey === queueKey && (queueKey !== "house" || names.some((name) => theirs.has(name)));
    };
    const [together, apart] = [groups.filter(isWith), groups.filter((group) => !isWith(group))];
    const all = new Set([...names, ...together.flatMap((group) => [...group.names])]);
    groups = [...apart, { commands: [...together.flatMap((group) => group.commands), pending], names: all }];
  }
  return groups.map((group) => group.commands);
}

/** All of these keys, each once. */
export function union(...lists: readonly (readonly Key[])[]): readonly Key[] {
  return [...new Map(lists.flat().map((key) => [keyName(key), key])).values()];
}

type Work = (transaction: Transaction) => Promise<void>;

/** A place in line, for rows that other processes hold. */
export class RowLine {
  /** Those whose rows it is for. */
  readonly first: PendingCommand[];
  /** Whose turn it is for. The house's commands have none, and none who have waited in vain for a row of one of them. */
  readonly customer: string | undefined;
  readonly behind = new RoundRobinQueue<PendingCommand>();
  keys: readonly Key[] = [];
  names: ReadonlySet<string> = new Set();
  /** As they are, once they are locked. */
  rows: Awaited<ReturnType<typeof readKeys>> = [];
  readonly #work = withResolvers<Work | undefined>();
  #state: "gathering" | "waiting" | "ready" | "left" = "gathering";
  #transaction: Promise<void> | undefined;
  #askedMs: number | undefined;
  #begunMs: number | undefined;
  #turnMs = 0;

  /** Takes from a group as many as have room. */
  constructor(group: PendingCommand[]) {
    this.first = group.splice(0, 1);
    while (group[0] !== undefined && this.#hasRoomFor(group[0])) this.first.push(...group.splice(0, 1));
    const hasTurn = !this.isOfHouse && !this.first.some(({ isAlone }) => isAlone);
    this.customer = hasTurn ? this.first[0]?.command.queueKey : undefined;
    if (!hasTurn) this.#close();
  }

  /** Whether it waits for rows, or has them. */
  get hasBegun(): boolean {
    return this.#state !== "gathering";
  }

  get isWaiting(): boolean {
    return this.#state === "gathering" || this.#state === "waiting";
  }

  get isOfHouse(): boolean {
    return this.first[0]?.command.queueKey === "house";
  }

  /** Whether the rows are locked. */
  get isReady(): boolean {
    return this.#state === "ready";
  }

  /** Whether it has waited for long, as for a row of a process that stands still. */
  get isStuck(): boolean {
    return this.isWaiting && this.#askedMs !== undefined && performance.now() - this.#askedMs > LIMITS.stuckMs;
  }

  /** How long the decision took, and nobody else's commands were decided. */
  get turnMs(): number {
    return this.#turnMs;
  }

  get #hasLeft(): boolean {
    return this.#state === "left";
  }

  /** Whether the command may still be added. */
  gathers(pending: PendingCommand): boolean {
    const isOfCustomer = pending.command.queueKey === this.customer && !pending.isAlone;
    return !this.hasBegun && isOfCustomer && this.#hasRoomFor(pending);
  }

  add(pending: PendingCommand): void {
    this.first.push(pending);
  }

  /** Resolves when the transaction has ended, whatever came of it. @param before resolves when it may wait for its turn */
  async wait(database: Database, slot: number, onReady: () => void, before?: Promise<void>): Promise<void> {
    const hold = async (transaction: Transaction): Promise<void> => {
      const settings = transaction.rows(LOCKING_SETTINGS, [LONGEST]);
      if (this.customer !== undefined) await Promise.all([settings, transaction.rows(TAKE_TURN, [this.customer])]);
      if (this.#hasLeft) return;
      if (this.#state === "gathering") this.#close();
      const [, rows] = await Promise.all([settings, readKeys(transaction, this.keys, slot, "locked")]);
      this.rows = rows;
      if (this.#hasLeft) return;
      this.#state = "ready";
      onReady();
      // PostgreSQL would end the transaction.
      const timer = setTimeout(() => this.leave(), LIMITS.lineIdleMs);
      const work = await this.#work.promise;
      clearTimeout(timer);
      await work?.(transaction);
    };
    await before;
    if (this.#hasLeft) return;
    this.#askedMs = performance.now();
    this.#transaction = database.transaction(hold, "seconds", "at once");
    await this.#transaction.catch(() => undefined);
    if (this.#begunMs !== undefined) this.#turnMs = performance.now() - this.#begunMs;
  }

  /** It is its turn. */
  begin(): void {
    this.#begunMs = performance.now();
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

  #hasRoomFor({ weight }: PendingCommand): boolean {
    const all = this.first.reduce((sum, one) => sum + one.weight, weight);
    return this.first.length < LIMITS.turn && all <= LIMITS.turnRows;
  }

  /** Nothing is added any more. */
  #close(): void {
    this.#state = "waiting";
    this.keys = union(...this.first.map(({ waitsFor }) => waitsFor));
    this.names = new Set(this.keys.map(keyName));
  }
}

/** Others are decided meanwhile. */
const LONGEST = "3s";
