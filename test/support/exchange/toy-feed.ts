/** A feed whose updates a test makes. There are two markets. */
import type { MarketCode } from "../../../src/catalogue/market.ts";
import type { BookNews, Exchange, LastMatch, Listener, Match, OrderBook } from "../../../src/exchange/exchange.ts";

interface Followed<State, News> {
  state: State | undefined;
  readonly listeners: Set<Listener<News | undefined>>;
}

export class ToyFeed {
  readonly #books = new Map<string, Followed<OrderBook, BookNews>>();
  readonly #matches = new Map<string, Followed<LastMatch, readonly Match[]>>();

  /** How often a book was begun to be followed. */
  subscriptions = 0;

  /** What the routes need of the exchange. */
  readonly exchange: Pick<Exchange, "marketCodes" | "feed"> = {
    marketCodes: () => ["BTCUSD", "ETHUSD"] as MarketCode[],
    feed: {
      followBook: (market, listener) => {
        this.subscriptions += 1;
        return follow(of(this.#books, market), listener);
      },
      followMatches: (market, listener) => follow(of(this.#matches, market), listener),
    },
  };

  /** Which markets' books are followed. */
  get followed(): string[] {
    return followedOf(this.#books);
  }

  get followedMatches(): string[] {
    return followedOf(this.#matches);
  }

  /** The book is known from now on; or it is this one by now, which `tellBook` says. */
  knowBook(market: string, book: OrderBook): void {
    of(this.#books, market).state = book;
    tell(of(this.#books, market), undefined);
  }

  tellBook(market: string, book: OrderBook, news: BookNews): void {
    of(this.#books, market).state = book;
    tell(of(this.#books, market), news);
  }

  knowMatch(market: string, last: Match | undefined): void {
    of(this.#matches, market).state = { last };
    tell(of(this.#matches, market), undefined);
  }

  tellMatches(market: string, matches: readonly Match[]): void {
    of(this.#matches, market).state = { last: matches.at(-1) };
    tell(of(this.#matches, market), matches);
  }
}

const followedOf = <State, News>(all: ReadonlyMap<string, Followed<State, News>>): string[] =>
  [...all].filter(([, { listeners }]) => listeners.size > 0).map(([market]) => market);

function of<State, News>(all: Map<string, Followed<State, News>>, market: string): Followed<State, News> {
  const followed = all.get(market) ?? { state: undefined, listeners: new Set() };
  all.set(market, followed);
  return followed;
}

function follow<State, News>(followed: Followed<State, News>, listener: Listener<News | undefined>) {
  followed.listeners.add(listener);
  return {
    get state() {
      return followed.state;
    },
    stop: () => void followed.listeners.delete(listener),
  };
}

function tell<News>({ listeners }: Followed<unknown, News>, news: News | undefined): void {
  for (const listener of listeners) listener(news);
}
