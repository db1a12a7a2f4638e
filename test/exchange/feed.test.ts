/** The feeds over sockets, on nodes that run no engine, while engines elsewhere match what comes, change hands and fail. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { marketDataRoutes } from "../../src/api/routes/markets/market-data.ts";
import { feedRoutes } from "../../src/api/websocket-feeds/feeds.ts";
import { Engine } from "../../src/exchange/engine/engine.ts";
import { createMarketData } from "../../src/exchange/market-data/market-data.ts";
import type { BookChange } from "../../src/exchange/market-feed/book-change.ts";
import { BookRecorder } from "../../src/exchange/market-feed/book-recorder.ts";
import { Feed } from "../../src/exchange/market-feed/market-feed.ts";
import { removeChanges } from "../../src/exchange/market-feed/store.ts";
import type { OrderId } from "../../src/exchange/order.ts";
import { Database } from "../../src/postgres/database.ts";
import { systemClock } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { BookClient, FeedClient, shownBook } from "../support/exchange/feed-client.ts";
import { expectOrdersAddUp, TestExchange, type Trader } from "../support/exchange/orders.ts";
import { someOrder } from "../support/exchange/some-orders.ts";
import { startToyApi } from "../support/http/toy-api.ts";
import { startLane } from "../support/movements.ts";
import { startRelay } from "../support/postgres/relay.ts";
import { type Random, seeded } from "../support/random.ts";
import { until } from "../support/until.ts";

const BOOK = "/marketdata/ETHUSD";
const MATCHES = "/executiondata/ETHUSD";

let exchange: TestExchange;
let traders: Trader[];
/** Ended after each test, the last first. */
let atEnd: (() => Promise<unknown>)[];

beforeAll(async () => {
  exchange = await TestExchange.open();
});
beforeEach(async () => {
  atEnd = [];
  const money = "1000000 USD, 1000 ETH";
  traders = await Promise.all(["Ann", "Bob", "Cid"].map((name) => exchange.trader(name, money)));
});
afterEach(async () => {
  for (const end of atEnd.reverse()) await end();
  await expectBooksBalance(exchange.db.database);
  await expectOrdersAddUp(exchange.db.database);
});
afterAll(() => exchange.close());

interface Node {
  readonly url: string;
  readonly feed: Feed;
}

/** A process that serves market data, and has its own connections to the database. */
async function startNode(database: Database = exchange.db.another()): Promise<Node> {
  const { catalogue } = exchange;
  const faults: Error[] = [];
  const feed = new Feed({
    database,
    clock: systemClock,
    onFault: (error) => faults.push(error),
    gapTimeoutMs: 300,
    lingerMs: 100,
  });
  const marketData = createMarketData({ database, catalogue, clock: systemClock });
  const parts = { marketCodes: () => catalogue.listMarkets().map(({ code }) => code), marketData, feed };
  const { url, close } = await startToyApi((api) => {
    marketDataRoutes(api, parts);
    feedRoutes(api, parts);
  });
  atEnd.push(async () => {
    await close();
    feed.stop();
    expect(faults).toEqual([]);
  });
  return { url, feed };
}

interface Recording {
  /** Whether the change is recorded. */
  readonly keep?: (change: BookChange) => boolean;
  readonly onWritten?: () => void;
}

/** An engine of ETHUSD in a process of its own. */
async function startEngine(holder: string, { keep = () => true, onWritten = () => undefined }: Recording = {}) {
  const database = exchange.db.another();
  const { lane } = await startLane(database, { holder });
  const faults: Error[] = [];
  const recorder = new BookRecorder({
    database,
    clock: systemClock,
    onWritten,
    onFault: (error) => faults.push(error),
  });
  const engine = new Engine(() => exchange.market("ETHUSD"), {
    database,
    lane,
    clock: systemClock,
    holder,
    leaseMs: 15_000,
    log: () => undefined,
    publish: ({ change }) => {
      if (keep(change)) recorder.record(change);
    },
  });
  const looking = setInterval(() => engine.wake(), 10);
  atEnd.push(async () => {
    clearInterval(looking);
    await engine.stop();
    await lane.stop();
    expect(faults).toEqual([]);
  });
  engine.start();
  await until("the market is served", () => engine.state === "serving");
  return engine;
}

/** Places some orders at once, and asks to cancel one that was placed before. */
async function trade(random: Random, placed: OrderId[], count: number): Promise<void> {
  const place = () => exchange.place(traders[random(traders.length)] as Trader, someOrder(["ETHUSD"], random));
  placed.push(...(await Promise.all(Array.from({ length: count }, place))));
  await exchange.askToCancel(placed[random(placed.length)] as OrderId);
}

/** When every order is done, and none is left that will expire. */
async function untilQuiet(): Promise<void> {
  await exchange.untilDone();
  await until("what expires has expired", async () => {
    const left = await exchange.db.database.rows(
      "select from orders where time_in_force = 'GTT' and closed_at is null",
    );
    return left.length === 0;
  });
  await exchange.untilDone();
}

async function restBook({ url }: Node): Promise<{ sequence: string; book: string }> {
  const answer = await fetch(`${url}/v2/markets/ETHUSD/order-book`);
  const body = (await answer.json()) as Parameters<typeof shownBook>[0] & { readonly sequence: string };
  return { sequence: body.sequence, book: shownBook(body) };
}

/** The whole market's matches, the oldest first. */
async function restMatches({ url }: Node): Promise<Record<string, unknown>[]> {
  const answer = await fetch(`${url}/v2/markets/ETHUSD/recent-executions`);
  const { items } = (await answer.json()) as { readonly items: readonly object[] };
  return items.toReversed().map((item) => ({ market: "ETHUSD", ...item }));
}

async function join(node: Node, readers: BookClient[]): Promise<void> {
  readers.push(await new BookClient(node.url, BOOK).opened());
}

async function expectSameBook(node: Node, readers: readonly BookClient[]): Promise<void> {
  const { book } = await restBook(node);
  await until("the readers have the book", () => readers.every(({ last }) => last === book)).catch(() => undefined);
  expect(readers.map(({ last }) => last)).toEqual(readers.map(() => book));
}

test.each([1, 2])(
  "a reader of the feed has the REST API's book at every sequence, across a takeover: seed %i",
  async (seed) => {
    const random = seeded(seed);
    const polling = await startNode();
    const woken = await startNode();
    const first = await startEngine("first", { onWritten: () => woken.feed.wake() });
    const nodes = [polling, woken];
    const [readers, books, placed]: [BookClient[], { sequence: string; book: string }[], OrderId[]] = [[], [], []];
    const matchReaders = await Promise.all(nodes.map(({ url }) => new FeedClient(url, MATCHES).opened()));
    for (let batch = 0; batch < 30; batch += 1) {
      if (batch % 5 === 0) await join(nodes[random(2)] as Node, readers);
      await trade(random, placed, 8);
      books.push(await restBook(nodes[random(2)] as Node));
      if (batch === 15) {
        await first.stop();
        await startEngine("second", { onWritten: () => polling.feed.wake() });
      }
    }
    await untilQuiet();
    for (const node of nodes) await join(node, readers);
    await expectSameBook(polling, readers);

    expect(readers).toHaveLength(8);
    let compared = 0;
    for (const { sequence, book } of books) {
      for (const reader of readers) {
        const seen = reader.bookAt(sequence);
        if (seen === undefined) continue;
        expect(seen).toBe(book);
        compared += 1;
      }
    }
    // On a busy machine fewer rounds do the same.
    expect(compared).toBeGreaterThan(40);
    expect(new Set(books.map(({ book }) => book)).size).toBeGreaterThan(5);
    expect(readers.map(({ snapshots }) => snapshots)).toEqual(readers.map(() => 1));

    const matches = await restMatches(polling);
    for (const reader of matchReaders) {
      await until(
        "the last match has come",
        () => reader.messages.at(-1)?.match_number === matches.at(-1)?.match_number,
      );
      const from = matches.findIndex(({ match_number }) => match_number === reader.messages[0]?.match_number);
      expect(reader.messages).toEqual(matches.slice(from));
    }
    expect(matches.length).toBeGreaterThan(20);
  },
);

test("lost changes are replaced by the difference of the books, and readers get no second snapshot", async () => {
  const random = seeded(3);
  const node = await startNode();
  let keeps = (version: bigint): boolean => version % 2n === 0n;
  let lost = 0;
  await startEngine("careless", {
    keep: ({ version }) => {
      if (!keeps(version)) lost += 1;
      return keeps(version);
    },
  });
  const readers: BookClient[] = [];
  await join(node, readers);
  const placed: OrderId[] = [];
  for (let batch = 0; batch < 20; batch += 1) {
    await trade(random, placed, 5);
    await exchange.untilDone();
  }
  await untilQuiet();
  await expectSameBook(node, readers);
  expect(lost).toBeGreaterThan(3);

  // When nothing comes behind what is lost, no change tells of the gap.
  keeps = () => false;
  const before = await restBook(node);
  await trade(random, placed, 20);
  await untilQuiet();
  expect((await restBook(node)).book).not.toBe(before.book);
  await expectSameBook(node, readers);
  expect(readers[0]?.snapshots).toBe(1);
});

test("readers stay while the database is away, and catch up when it is back", async () => {
  const random = seeded(4);
  const relay = await startRelay(exchange.db.connection);
  const database = new Database({ connection: relay.connection, maxConnections: 5, onIdleError: () => undefined });
  atEnd.push(async () => {
    await database.close();
    await relay.close();
  });
  const [node, other] = [await startNode(database), await startNode()];
  await startEngine("engine");
  const readers: BookClient[] = [];
  await join(node, readers);
  const matchReader = await new FeedClient(node.url, MATCHES).opened();
  const placed: OrderId[] = [];
  await trade(random, placed, 10);
  await untilQuiet();
  await expectSameBook(other, readers);
  relay.reject(true);
  relay.cut();
  await trade(random, placed, 30);
  await untilQuiet();
  // A crash of the server leaves nothing of the changes.
  await exchange.db.owner.rows("truncate book_change");
  const late = new BookClient(node.url, BOOK);
  await late.opened();
  relay.reject(false);
  await expectSameBook(other, [...readers, late]);
  const matches = await restMatches(other);
  await until(
    "the matches have come",
    () => matchReader.messages.at(-1)?.match_number === matches.at(-1)?.match_number,
  );
  const [first] = matchReader.messages;
  expect(matchReader.messages).toEqual(
    matches.slice(matches.findIndex(({ match_number }) => match_number === first?.match_number)),
  );
  expect([...readers, late].map(({ snapshots }) => snapshots)).toEqual([1, 1]);
});

test("old changes are removed when new ones are added", async () => {
  await exchange.db.owner.rows(
    `insert into book_change (market, version, levels, at)
     select 'BTCUSD', n, '[]', now() - case when n <= 3 then interval '11 minutes' else interval '9 minutes' end
       from generate_series(1, 5) n`,
  );
  let now = Date.now();
  const database = exchange.db.another();
  let written = 0;
  const recorder = new BookRecorder({
    database,
    clock: { now: () => now as ReturnType<typeof systemClock.now> },
    onWritten: () => {
      written += 1;
    },
    onFault: (error) => {
      throw error;
    },
  });
  const change = (version: bigint): BookChange => ({ market: exchange.market("BTCUSD").code, version, levels: [] });
  const versions = async () =>
    (
      await database.rows<{ version: string }>(
        "select version from book_change where market = 'BTCUSD' order by version",
      )
    ).map(({ version }) => version);
  expect(await versions()).toEqual(["1", "2", "3", "4", "5"]);
  recorder.record(change(6n));
  await until("the change is written", () => written === 1);
  expect(await versions()).toEqual(["1", "2", "3", "4", "5", "6"]);
  now += 60_000;
  recorder.record(change(7n));
  await until("the old ones are removed", async () => (await versions()).length === 4);
  expect(await versions()).toEqual(["4", "5", "6", "7"]);
});

test("changes are removed oldest first, so many per market at a time", async () => {
  const { owner } = exchange.db;
  await owner.rows(
    `insert into book_change (market, version, levels, at)
     select market, n + case market when 'UNIUSD' then 2 else 0 end, '[]', now() - interval '1 hour' + n * interval '10 minutes'
       from unnest('{LTCUSD,UNIUSD}'::text[]) market, generate_series(1, 5) n`,
  );
  const left = async () =>
    (
      await owner.rows<{ left: string }>(
        `select market || ' ' || string_agg(version::text, ' ' order by version) as left from book_change
          where market in ('LTCUSD', 'UNIUSD') group by market order by market`,
      )
    ).map((row) => row.left);
  // Those of 50, 40 and 30 minutes ago are older than 25 minutes.
  expect(await removeChanges(owner, 25 * 60_000, 2)).toBe(4);
  expect(await left()).toEqual(["LTCUSD 3 4 5", "UNIUSD 5 6 7"]);
  expect(await removeChanges(owner, 25 * 60_000, 2)).toBe(2);
  expect(await removeChanges(owner, 25 * 60_000, 2)).toBe(0);
  expect(await left()).toEqual(["LTCUSD 4 5", "UNIUSD 6 7"]);
});
