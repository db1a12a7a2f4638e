import { afterEach, expect, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import { amountOf } from "../../money/amount.ts";
import { DatabaseAway } from "../../postgres/database.ts";
import { type Instant, steadyClock } from "../../std/clock.ts";
import type { ExecutionId } from "../execution.ts";
import { nextMatchId, takerId } from "../execution-id.ts";
import { Feed } from "./market-feed.ts";

const BTCUSD = "BTCUSD" as MarketCode;

/** A database with one bid on one market, some matches, and no stored changes. */
class ToyDatabase {
  history = "first";
  isAway = false;
  head = 5;
  bid = "1";
  matches: readonly { id: string; market: string; side: "BUY"; price: string; amount: string }[] = [];
  rejections = 0;

  async rows<Row>(text: string, [, after]: readonly unknown[] = []): Promise<Row[]> {
    if (this.isAway) {
      this.rejections += 1;
      throw new DatabaseAway("gone");
    }
    if (text.includes("unnest") && text.includes("from execution")) {
      const [last = 0n] = after as bigint[];
      return this.matches.filter(({ id }) => BigInt(id) > last) as Row[];
    }
    if (text.includes("from execution")) return this.matches.slice(-1) as Row[];
    const head = `${this.head}`;
    const noChange = { market: BTCUSD, head, version: null, levels: null };
    const book = { version: head, side: "BUY", price: "100", amount: this.bid };
    return [text.includes("book_change") ? noChange : book] as Row[];
  }
}

afterEach(() => {
  vi.useRealTimers();
});

test("a restored database that reuses versions for other changes does not leave a wrong copy", async () => {
  const database = new ToyDatabase();
  const gaps: string[] = [];
  const onGap = (market: MarketCode): void => void gaps.push(market);
  const feed = new Feed({ database, clock: steadyClock, onFault: (error) => expect.unreachable(error.message), onGap });
  const followed = feed.followBook(BTCUSD, () => undefined);
  await until("the book is known", () => followed.state !== undefined);
  // Restored to version 4 and continued: nothing after version 5 tells what version 5 is now.
  Object.assign(database, { history: "second", head: 5, bid: "7" });
  await until("the readers have the book as it is", () => followed.state?.bids[0]?.amount === amountOf("7"));
  expect(followed.state).toEqual({ version: 5n, bids: [{ price: amountOf("100"), amount: amountOf("7") }], asks: [] });
  // To read it for the first time was no gap.
  expect(gaps).toEqual([BTCUSD]);
  followed.stop();
  feed.stop();
});

test("a last match that a failover has lost is not the last one any more, and later ones are reported", async () => {
  const matchOf = (minute: number) => {
    const id = takerId(nextMatchId(0n as ExecutionId, 1, (Date.parse("2026-03-02") + minute * 60_000) as Instant));
    return { id: `${id}`, market: BTCUSD, side: "BUY" as const, price: "100", amount: `${minute}` };
  };
  const idOf = (match: { readonly id: bigint } | undefined) => `${match?.id}`;
  const database = new ToyDatabase();
  const [first, lost, later] = [1, 2, 3].map(matchOf);
  database.matches = [first, lost].flatMap((match) => match ?? []);
  const feed = new Feed({ database, clock: steadyClock, onFault: (error) => expect.unreachable(error.message) });
  const news: unknown[] = [];
  const followed = feed.followMatches(BTCUSD, (matches) => news.push(matches?.map(idOf)));
  await until("the last match is known", () => idOf(followed.state?.last) === lost?.id);
  Object.assign(database, { history: "second", matches: [first] });
  await until("it is not the last one any more", () => idOf(followed.state?.last) === first?.id);
  Object.assign(database, { history: "third", matches: [first, later] });
  await until("a later one is reported", () => news.length === 2);
  expect(news).toEqual([undefined, [later?.id]]);
  expect(idOf(followed.state?.last)).toBe(later?.id);
  followed.stop();
  feed.stop();
});

test("while the database is away it is asked about twice a second", async () => {
  vi.useFakeTimers();
  const database = new ToyDatabase();
  const feed = new Feed({ database, clock: steadyClock, onFault: (error) => expect.unreachable(error.message) });
  feed.followBook(BTCUSD, () => undefined);
  feed.followMatches(BTCUSD, () => undefined);
  await vi.advanceTimersByTimeAsync(1_000);
  database.isAway = true;
  await vi.advanceTimersByTimeAsync(10_000);
  // For new matches, and for the book, which is to be read again.
  expect(database.rejections).toBeGreaterThan(30);
  expect(database.rejections).toBeLessThan(50);
  feed.stop();
  await vi.advanceTimersByTimeAsync(1_000);
});

/** An empty database of any markets, in which a test counts, holds or fails what is read. */
class CountingDatabase {
  readonly history = "";
  polls = 0;
  reads = 0;
  matchReads = 0;
  /** If it is set, reads of whole books are answered when these are called. */
  held: (() => void)[] | undefined;
  fault: Error | undefined;

  async rows<Row>(text: string, [markets]: readonly unknown[] = []): Promise<Row[]> {
    if (text.includes("book_change")) {
      this.polls += 1;
      return (markets as string[]).map((market) => ({ market, head: "5", version: null, levels: null })) as Row[];
    }
    if (text.includes("from execution")) {
      this.matchReads += 1;
      return [];
    }
    this.reads += 1;
    if (this.fault !== undefined) throw this.fault;
    if (this.held !== undefined) await new Promise<void>((resolve) => this.held?.push(resolve));
    return [{ version: "5", side: null }] as Row[];
  }
}

test("a market is followed for ten seconds after its last reader has left, and then costs nothing", async () => {
  vi.useFakeTimers();
  const database = new CountingDatabase();
  const feed = new Feed({ database, clock: steadyClock, onFault: (error) => expect.unreachable(error.message) });
  const [one, other] = [1, 2].map(() => feed.followBook(BTCUSD, () => undefined));
  await vi.advanceTimersByTimeAsync(1_000);
  one?.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  other?.stop();
  await vi.advanceTimersByTimeAsync(9_000);
  const again = feed.followBook(BTCUSD, () => undefined);
  expect([again.state?.version, database.reads]).toEqual([5n, 1]);
  again.stop();
  await vi.advanceTimersByTimeAsync(11_000);
  expect(vi.getTimerCount()).toBe(0);
  const { polls } = database;
  const anew = feed.followBook(BTCUSD, () => undefined);
  expect([anew.state, database.polls]).toEqual([undefined, polls]);
  await vi.advanceTimersByTimeAsync(100);
  expect([anew.state?.version, database.reads]).toEqual([5n, 2]);
  feed.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(vi.getTimerCount()).toBe(0);
});

test("matches are followed as long as books, and then cost nothing either", async () => {
  vi.useFakeTimers();
  const database = new CountingDatabase();
  const feed = new Feed({ database, clock: steadyClock, onFault: (error) => expect.unreachable(error.message) });
  const news: unknown[] = [];
  const followed = feed.followMatches(BTCUSD, (matches) => news.push(matches));
  await vi.advanceTimersByTimeAsync(1_000);
  // Once it is known what the last one is, that there is none, the reader is told so.
  expect([followed.state, news]).toEqual([{ last: undefined }, [undefined]]);
  followed.stop();
  await vi.advanceTimersByTimeAsync(9_000);
  const { matchReads } = database;
  await vi.advanceTimersByTimeAsync(500);
  expect(database.matchReads).toBeGreaterThan(matchReads);
  await vi.advanceTimersByTimeAsync(1_500);
  expect([vi.getTimerCount(), database.polls]).toEqual([0, 0]);
  feed.stop();
});

test("four books are read at a time, and every one in the end", async () => {
  vi.useFakeTimers();
  const database = new CountingDatabase();
  database.held = [];
  const feed = new Feed({ database, clock: steadyClock, onFault: (error) => expect.unreachable(error.message) });
  const followed = Array.from({ length: 6 }, (_, i) => feed.followBook(`M${i}` as MarketCode, () => undefined));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(database.reads).toBe(4);
  database.held.shift()?.();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(database.reads).toBe(5);
  const { held } = database;
  database.held = undefined;
  for (const answer of held) answer();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(followed.map(({ state }) => state?.version)).toEqual(followed.map(() => 5n));
  expect(database.reads).toBe(6);
  feed.stop();
  await vi.advanceTimersByTimeAsync(1_000);
});

test("a book that cannot be read is asked for twice a second; each failure is reported until the feed stops", async () => {
  vi.useFakeTimers();
  const database = new CountingDatabase();
  database.fault = new Error("no such table");
  const faults: Error[] = [];
  const feed = new Feed({ database, clock: steadyClock, onFault: (error) => faults.push(error) });
  feed.followBook(BTCUSD, () => undefined);
  await vi.advanceTimersByTimeAsync(1_800);
  expect(faults).toEqual(Array.from({ length: database.reads }, () => database.fault));
  expect([3, 4]).toContain(database.reads);
  feed.stop();
  await vi.advanceTimersByTimeAsync(2_000);
  expect([3, 4]).toContain(faults.length);
});

test("what fails once the feed is stopped, because its database is closed, is not reported", async () => {
  vi.useFakeTimers();
  const database = new CountingDatabase();
  database.held = [];
  const faults: Error[] = [];
  const feed = new Feed({
    database: {
      history: "",
      rows: async <Row>(text: string, values?: readonly unknown[]): Promise<Row[]> => {
        const rows = await database.rows<Row>(text, values);
        if (database.fault !== undefined) throw database.fault;
        return rows;
      },
    },
    clock: steadyClock,
    onFault: (error) => faults.push(error),
  });
  feed.followBook(BTCUSD, () => undefined);
  await vi.advanceTimersByTimeAsync(100);
  feed.stop();
  database.fault = new Error("the pool is closed");
  for (const answer of database.held) answer();
  await vi.advanceTimersByTimeAsync(1_000);
  expect([database.reads, faults]).toEqual([1, []]);
});
