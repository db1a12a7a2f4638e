/**
 * Publishes changes of order books, and matches, to subscribers in this process. All followed markets are polled
 * together: at once when an engine of this process has committed something, and otherwise twenty times a second, so that
 * nodes without engines follow too. Markets without subscribers cost nothing.
 *
 * While the database is away the state does not change; afterwards, what was missed is published. When its history has
 * become another one, as by a failover, all that is followed is read again.
 */
import type { MarketCode } from "../../catalogue/market.ts";
import { DatabaseAway, type QueryableWithHistory } from "../../postgres/database.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { pause } from "../../std/pause.ts";
import { WakeSignal } from "../../std/wake-signal.ts";
import { type Match, type OrderBook, readBook, readRecentMatches } from "../market-data/store.ts";
import { BookFollower, type BookNews } from "./book-follower.ts";
import type { Listener, Listeners } from "./listeners.ts";
import { type LastMatch, MatchFollower } from "./match-follower.ts";
import { readChanges, readMatches } from "./store.ts";

/** A subscription, until `stop`. */
export interface Followed<State> {
  /** The current state; undefined until it is known, when the listener is called with undefined. */
  readonly state: State | undefined;
  stop(): void;
}

export interface MarketFeed {
  followBook(market: MarketCode, listener: Listener<BookNews | undefined>): Followed<OrderBook>;
  /** Publishes every match after the last one at the beginning, in order. */
  followMatches(market: MarketCode, listener: Listener<readonly Match[] | undefined>): Followed<LastMatch>;
}

export interface MarketFeedOptions {
  readonly database: QueryableWithHistory;
  /** Monotonic. */
  readonly clock: Clock;
  readonly onFault: (error: Error) => void;
  /** Called when a market's order book is read again because changes were missing. */
  readonly onGap?: ((market: MarketCode) => void) | undefined;
  /** How long a missing change is awaited before the book is read again. */
  readonly gapTimeoutMs?: number;
  /** How long a market is followed after its last listener has left. */
  readonly lingerMs?: number;
}

const POLL_MS = 50;
/** The minimum between two polls: changes in between are published together. */
const SHORTEST_MS = 5;
const RETRY_MS = 500;
const GAP_TIMEOUT_MS = 1_000;
const LINGER_MS = 10_000;
/** Changes, or matches, of a market that are read and published at once, so that they do not overwhelm a normal reader. */
const MAX_AT_ONCE = 200;
/** Deep books are slow to read, and others need the database too. */
const MAX_READS = 4;

type Followers<Follower> = Map<MarketCode, Follower>;

/** A follower's position; undefined when it must read its state first. */
interface Positioned<Position extends bigint> {
  readonly after: Position | undefined;
}

interface Follower<State, News> extends Positioned<bigint> {
  readonly listeners: Listeners<News>;
  readonly state: State | undefined;
}

export class Feed implements MarketFeed {
  readonly #options: MarketFeedOptions;
  readonly #books: Followers<BookFollower> = new Map();
  readonly #matches: Followers<MatchFollower> = new Map();
  /** Followers whose state is being read. */
  readonly #reads = new Set<Positioned<bigint>>();
  readonly #bell = new WakeSignal();
  /** That of what is known. */
  #history = "";
  #isRunning = false;
  #isStopped = false;

  constructor(options: MarketFeedOptions) {
    this.#options = options;
  }

  followBook(market: MarketCode, listener: Listener<BookNews | undefined>): Followed<OrderBook> {
    const { gapTimeoutMs = GAP_TIMEOUT_MS } = this.#options;
    return this.#follow(this.#books, market, listener, () => new BookFollower(gapTimeoutMs));
  }

  followMatches(market: MarketCode, listener: Listener<readonly Match[] | undefined>): Followed<LastMatch> {
    return this.#follow(this.#matches, market, listener, () => new MatchFollower());
  }

  wake(): void {
    this.#bell.notify();
  }

  stop(): void {
    this.#isStopped = true;
    this.#bell.notify();
  }

  #follow<State, News, One extends Follower<State, News>>(
    followers: Followers<One>,
    market: MarketCode,
    listener: Listener<News>,
    make: () => One,
  ): Followed<State> {
    const follower = followers.get(market) ?? make();
    followers.set(market, follower);
    follower.listeners.join(listener);
    if (!this.#isRunning) void this.#run();
    this.#bell.notify();
    return {
      get state() {
        return follower.state;
      },
      stop: () => follower.listeners.leave(listener, this.#options.clock.now()),
    };
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (!this.#isStopped && this.#books.size + this.#matches.size > 0) {
      this.#forgetFormerHistory();
      this.#startReads();
      const looks = await Promise.all([
        this.#attempt(() => this.#pollBooks()),
        this.#attempt(() => this.#pollMatches()),
      ]);
      if (looks.every((done) => done)) await this.#bell.wait(POLL_MS);
      await pause(looks.every((done) => done) ? SHORTEST_MS : RETRY_MS);
      this.#removeIdle();
    }
    this.#isRunning = false;
  }

  /** What was read may not be there any more, and versions may stand for other changes. */
  #forgetFormerHistory(): void {
    const { history } = this.#options.database;
    if (history === this.#history) return;
    this.#history = history;
    for (const followers of [this.#books, this.#matches])
      for (const follower of followers.values()) follower.invalidate();
  }

  /** @returns undefined if another history has begun meanwhile: what was read is of either */
  async #inOneHistory<Value>(reading: Promise<Value>): Promise<Value | undefined> {
    const { database } = this.#options;
    const { history } = database;
    const value = await reading;
    return database.history === history ? value : undefined;
  }

  async #pollBooks(): Promise<void> {
    const after = positions(this.#books);
    if (after.size === 0) return;
    const { database, clock } = this.#options;
    const found = await this.#inOneHistory(readChanges(database, after, MAX_AT_ONCE));
    const now = clock.now();
    for (const [market, changes] of found ?? []) {
      this.#books.get(market)?.take(changes, now);
      if (changes.changes.length === MAX_AT_ONCE) this.#bell.notify();
    }
  }

  async #pollMatches(): Promise<void> {
    const after = positions(this.#matches);
    if (after.size === 0) return;
    const found = await this.#inOneHistory(readMatches(this.#options.database, after, MAX_AT_ONCE));
    for (const [market, matches] of found ?? []) {
      this.#matches.get(market)?.take(matches);
      if (matches.length === MAX_AT_ONCE) this.#bell.notify();
    }
  }

  /** Reads run concurrently with polls, so that one deep book does not delay the others. */
  #startReads(): void {
    const { database } = this.#options;
    for (const [market, follower] of this.#books) {
      this.#startRead(follower, async () => {
        if (follower.state !== undefined) this.#options.onGap?.(market);
        const book = await this.#inOneHistory(readBook(database, market, "all"));
        if (book !== undefined) follower.read(book);
      });
    }
    for (const [market, follower] of this.#matches) {
      this.#startRead(follower, async () => {
        const matches = await this.#inOneHistory(readRecentMatches(database, market, 1));
        if (matches !== undefined) follower.read(matches[0]);
      });
    }
  }

  #startRead(follower: Positioned<bigint>, read: () => Promise<void>): void {
    if (follower.after !== undefined || this.#reads.has(follower) || this.#reads.size >= MAX_READS) return;
    this.#reads.add(follower);
    const reading = async (): Promise<void> => {
      if (!(await this.#attempt(read))) await pause(RETRY_MS);
      this.#reads.delete(follower);
      this.#bell.notify();
    };
    void reading();
  }

  #removeIdle(): void {
    const { clock, lingerMs = LINGER_MS } = this.#options;
    const since = (clock.now() - lingerMs) as Instant;
    for (const followers of [this.#books, this.#matches]) {
      for (const [market, { listeners }] of followers) if (listeners.isIdleSince(since)) followers.delete(market);
    }
  }

  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      // If the database is away, writers report it.
      if (!(error instanceof DatabaseAway) && !this.#isStopped) this.#options.onFault(error as Error);
      return false;
    }
  }
}

function positions<Position extends bigint>(
  followers: ReadonlyMap<MarketCode, Positioned<Position>>,
): Map<MarketCode, Position> {
  const known = new Map<MarketCode, Position>();
  for (const [market, { after }] of followers) if (after !== undefined) known.set(market, after);
  return known;
}
