/**
 * The feeds of market data, over WebSocket on the API's own address: /marketdata/{market} and /executiondata/{market}, or
 * of all markets without one. Their messages are described in docs/market-data.md. They are public and read-only, so they
 * need no token, and pages of any origin may read them.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { MarketCode } from "../../catalogue/market.ts";
import type { BookNews, Exchange, LastMatch, Listener, MarketFeed, Match, OrderBook } from "../../exchange/exchange.ts";
import { BLOCK_MS, Floods } from "../../web/connections/flood-blocks.ts";
import { isLoopback } from "../../web/limits/address.ts";
import { Shares } from "../../web/limits/address-shares.ts";
import type { RateClass } from "../../web/limits/rates.ts";
import type { Api } from "../api.ts";
import { Problem, unavailable } from "../problems/problems.ts";
import { MarketParam, marketInPath } from "../routes/markets/market-in-path.ts";
import { Channel } from "./channel.ts";
import { executionMessage, FeedWords, snapshotMessage, updateMessages } from "./messages.ts";
import { type DisconnectReason, GOING_AWAY, Reader, type ReaderBounds } from "./reader.ts";
import { SendingTurns } from "./sending-turns.ts";
import { Upgrades } from "./upgrade.ts";

export interface FeedBounds extends ReaderBounds {
  /** Per process. */
  readonly mostReaders: number;
  /** Loopback exempt. Each message is written to each reader, so what one address reads costs the others time. */
  readonly mostReadersOfAddress: number;
  /** Unsent bytes of all readers together. Over it, the readers with the most are disconnected. */
  readonly mostUnsentBytes: number;
  readonly heartbeatMs: number;
  /** How long a market is followed, and its snapshot kept, after its last reader: a deep book takes long to read and to write. */
  readonly lingerMs: number;
}

/** For metrics. `sentAway` is undefined for a reader that disconnected by itself. */
export type FeedEvent =
  | { readonly kind: "reader_came" }
  | { readonly kind: "reader_gone"; readonly sentAway: DisconnectReason | undefined };

const BOUNDS: FeedBounds = {
  mostReaders: 5_000,
  mostReadersOfAddress: 250,
  mostUnsentBytes: 64 * 1024 * 1024,
  slackBytes: 1024 * 1024,
  mostReceived: 60,
  mostReceivedBytes: 8 * 1024,
  heartbeatMs: 30_000,
  lingerMs: 5_000,
  closeMs: 5_000,
};
const UNSENT_CHECK_MS = 1_000;
const RETRY_AFTER_BLOCK = { "retry-after": String(BLOCK_MS / 1_000) };
/** How long a shutdown waits for readers to answer the close frame. */
const CLOSE_TIMEOUT_MS = 1_000;

type AnyChannel = Channel<OrderBook, BookNews> | Channel<LastMatch, readonly Match[]>;
/** `give` puts a message into the caller's words. */
type OpenChannel = (
  feed: MarketFeed,
  market: MarketCode,
  give: (body: object) => object,
  turns: SendingTurns,
) => AnyChannel;

const bookChannel: OpenChannel = (feed, market, give, turns) => {
  const source = {
    subscribe: (listener: Listener<BookNews | undefined>) => feed.followBook(market, listener),
    snapshot: (book: OrderBook) => [snapshotMessage(market, book, give)],
    updates: (news: BookNews) => updateMessages(market, news, give),
  };
  return new Channel<OrderBook, BookNews>(source, turns);
};

const matchChannel: OpenChannel = (feed, market, give, turns) => {
  const source = {
    subscribe: (listener: Listener<readonly Match[] | undefined>) => feed.followMatches(market, listener),
    snapshot: ({ last }: LastMatch) => (last === undefined ? [] : [executionMessage(market, last, give)]),
    updates: (matches: readonly Match[]) => matches.map((match) => executionMessage(market, match, give)),
  };
  return new Channel<LastMatch, readonly Match[]>(source, turns);
};

type FeedExchange = Pick<Exchange, "marketCodes" | "feed">;

export function feedRoutes(
  api: Api,
  exchange: FeedExchange,
  bounds: Partial<FeedBounds> = {},
  log: (event: FeedEvent) => void = () => undefined,
): void {
  const onBug = (error: unknown): void => api.log.error({ err: error }, "a bug ended the connection of a feed reader");
  const readers = new Readers({ ...BOUNDS, ...bounds }, log, onBug);
  api.addHook("preClose", () => readers.disconnectAll());
  const upgrades = new Upgrades(api);
  const turns = new SendingTurns();
  const { lingerMs } = { ...BOUNDS, ...bounds };
  api.dialect.add(FeedWords);
  const feedRoute = (name: string, rate: RateClass, open: OpenChannel): void => {
    const channels = new Map<MarketCode, AnyChannel>();
    const letGo = (market: MarketCode, channel: AnyChannel): void => {
      // Another reader may have come, or gone and let go of it.
      if (!channel.isEmpty || channels.get(market) !== channel) return;
      channel.stop();
      channels.delete(market);
    };
    const join = (market: MarketCode, reader: Reader): Promise<number> => {
      const channel = channels.get(market) ?? open(exchange.feed, market, api.dialect.giver(FeedWords), turns);
      channels.set(market, channel);
      void reader.closed.then(() => {
        channel.leave(reader);
        if (channel.isEmpty) setTimeout(() => letGo(market, channel), lingerMs).unref();
      });
      return channel.join(reader);
    };
    const admit = (markets: readonly MarketCode[], request: FastifyRequest, reply: FastifyReply): void => {
      upgrades.check(request);
      readers.admit(upgrades, request, reply, (reader) => {
        const sent = (bytes: number): void => api.countSent(request, bytes);
        joinAll(markets, reader, async (market) => sent(await join(market, reader))).catch((error: unknown) => {
          onBug(error);
          reader.terminate("bug");
        });
      });
    };
    // A handshake counts like the request that reads the same data.
    const config = { scope: "public", rate, admission: false } as const;
    const one = { hide: true, params: Type.Object({ market: MarketParam }) };
    api.get(`/${name}/:market`, { config, schema: one, exposeHeadRoute: false }, (request, reply) => {
      const { market: named } = request.params as { readonly market: string };
      admit([marketInPath(exchange, named, api.dialect.words)], request, reply);
    });
    const all = { hide: true };
    api.get(`/${name}`, { config, schema: all, exposeHeadRoute: false }, (request, reply) =>
      admit(exchange.marketCodes(), request, reply),
    );
  };
  feedRoute("marketdata", "order_book", bookChannel);
  feedRoute("executiondata", "recent_executions", matchChannel);
}

/**
 * One market after the other: the next snapshot is sent when the reader has taken the last one. Otherwise those of many
 * deep books would wait in memory, and the reader would be taken for a slow one.
 */
async function joinAll(
  markets: readonly MarketCode[],
  reader: Reader,
  join: (market: MarketCode) => Promise<void>,
): Promise<void> {
  for (const market of markets) {
    await join(market);
    await reader.drained();
    if (reader.isClosed) return;
  }
}

const addressIsFull = (): Problem => unavailable("this address has as many feed readers as it may have");

/** The feed readers of this process. */
class Readers {
  readonly #bounds: FeedBounds;
  readonly #log: (event: FeedEvent) => void;
  readonly #onBug: (error: unknown) => void;
  readonly #all = new Set<Reader>();
  readonly #shares: Shares<Reader>;
  /** By the address that a trusted proxy forwards: connections are counted by the proxy's own. */
  readonly #floods = new Floods();
  readonly #timers: readonly NodeJS.Timeout[];
  #isClosing = false;

  constructor(bounds: FeedBounds, log: (event: FeedEvent) => void, onBug: (error: unknown) => void) {
    this.#bounds = bounds;
    this.#shares = new Shares(bounds.mostReaders);
    this.#onBug = onBug;
    this.#log = log;
    const beat = (): void => {
      for (const reader of this.#all) reader.heartbeat();
    };
    this.#timers = [
      setInterval(beat, bounds.heartbeatMs).unref(),
      setInterval(() => this.#boundUnsent(), UNSENT_CHECK_MS).unref(),
    ];
  }

  /** @throws Problem when the process or the address has its maximum of readers */
  admit(upgrades: Upgrades, request: FastifyRequest, reply: FastifyReply, join: (reader: Reader) => void): void {
    const { ip } = request;
    if (this.#floods.isBlocked(ip))
      throw new Problem(429, "feed readers at this address sent too much: try again later", {
        headers: RETRY_AFTER_BLOCK,
      });
    this.#makeRoom(ip);
    upgrades.accept(request, reply, (webSocket, socket) => {
      const reader = new Reader(webSocket, socket, this.#bounds, this.#onBug);
      // The handshake was in progress when the others were disconnected.
      if (this.#isClosing) return reader.terminate(undefined);
      this.#all.add(reader);
      const free = isLoopback(ip) ? () => undefined : this.#shares.take(ip, reader);
      this.#log({ kind: "reader_came" });
      void reader.closed.then(() => {
        this.#all.delete(reader);
        free();
        if (reader.disconnectReason === "talks" && !isLoopback(ip)) this.#floods.add(ip);
        this.#log({ kind: "reader_gone", sentAway: reader.disconnectReason });
      });
      join(reader);
    });
  }

  /** Where there is no room, disconnects a reader of an address that has more of them than this one. */
  #makeRoom(ip: string): void {
    if (!isLoopback(ip) && this.#shares.heldAt(ip) >= this.#bounds.mostReadersOfAddress) throw addressIsFull();
    if (!isLoopback(ip) && !this.#shares.hasRoomFor(ip)) {
      const surplus = this.#shares.findSurplus(ip, ({ disconnectReason }) => disconnectReason === undefined);
      if (surplus === undefined) throw addressIsFull();
      surplus.terminate("too_many");
    } else if (this.#all.size >= this.#bounds.mostReaders) {
      throw unavailable("the feeds have as many readers as they can serve");
    }
  }

  /** Closes all connections: with a close frame first, then by force. */
  async disconnectAll(): Promise<void> {
    this.#isClosing = true;
    for (const timer of this.#timers) clearInterval(timer);
    const leaving = [...this.#all];
    for (const reader of leaving) reader.close(GOING_AWAY, "the service is shutting down");
    const timer = setTimeout(() => {
      for (const reader of leaving) reader.terminate(undefined);
    }, CLOSE_TIMEOUT_MS);
    await Promise.all(leaving.map(({ closed }) => closed));
    clearTimeout(timer);
  }

  /** `Reader` bounds the unsent bytes of one reader; thousands of stalled readers together still need a bound. */
  #boundUnsent(): void {
    let unsent = 0;
    for (const reader of this.#all) unsent += reader.unsent;
    if (unsent <= this.#bounds.mostUnsentBytes) return;
    const slowest = [...this.#all]
      .map((reader) => ({ reader, bytes: reader.unsent }))
      .sort((a, b) => b.bytes - a.bytes);
    for (const { reader, bytes } of slowest) {
      if (unsent <= this.#bounds.mostUnsentBytes) return;
      reader.terminate("too_slow");
      unsent -= bytes;
    }
  }
}
