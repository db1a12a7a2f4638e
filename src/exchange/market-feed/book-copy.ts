/** A copy of a market's order book by price level, kept up to date by changes. Pure. */
import type { Amount } from "../../money/amount.ts";
import { assert } from "../../std/assert.ts";
import type { Level, OrderBook } from "../market-data/store.ts";
import type { OrderSide } from "../order.ts";
import type { BookChange, LevelChange } from "./book-change.ts";

type Totals = Map<Amount, Amount>;

export class BookCopy {
  #version: bigint;
  #levels: Readonly<Record<OrderSide, Totals>>;
  /** Sorted on demand, until the next change. */
  #sorted: OrderBook | undefined;

  constructor(book: OrderBook) {
    this.#version = book.version;
    this.#levels = totalsOf(book);
  }

  /** The order book version. */
  get version(): bigint {
    return this.#version;
  }

  book(): OrderBook {
    const { BUY, SELL } = this.#levels;
    this.#sorted ??= { version: this.#version, bids: sorted(BUY, -1), asks: sorted(SELL, 1) };
    return this.#sorted;
  }

  /** Applies the next change. @returns the levels that changed */
  apply({ version, levels }: Pick<BookChange, "version" | "levels">): LevelChange[] {
    assert(version === this.#version + 1n, "changes are applied without a gap");
    this.#version = version;
    this.#sorted = undefined;
    return levels.filter((change) => this.#change(change));
  }

  /** Replaces the whole book. @returns the levels that changed */
  replace(book: OrderBook): LevelChange[] {
    const before = this.#levels;
    this.#levels = totalsOf(book);
    this.#version = book.version;
    this.#sorted = undefined;
    return [
      ...differences("BUY", before.BUY, this.#levels.BUY),
      ...differences("SELL", before.SELL, this.#levels.SELL),
    ];
  }

  #change({ side, price, amount }: LevelChange): boolean {
    const totals = this.#levels[side];
    const before = totals.get(price) ?? 0n;
    if (amount === 0n) totals.delete(price);
    else totals.set(price, amount);
    return before !== amount;
  }
}

function totalsOf({ bids, asks }: OrderBook): Record<OrderSide, Totals> {
  const totals = (levels: readonly Level[]): Totals => new Map(levels.map(({ price, amount }) => [price, amount]));
  return { BUY: totals(bids), SELL: totals(asks) };
}

/** @param sign 1 for rising prices, -1 for falling ones */
function sorted(totals: Totals, sign: 1 | -1): Level[] {
  return [...totals].sort(([a], [b]) => (a < b ? -sign : sign)).map(([price, amount]) => ({ price, amount }));
}

function differences(side: OrderSide, before: Totals, after: Totals): LevelChange[] {
  const gone = [...before.keys()].filter((price) => !after.has(price));
  const changed = [...after].filter(([price, amount]) => before.get(price) !== amount);
  return [
    ...gone.map((price) => ({ side, price, amount: 0n as Amount })),
    ...changed.map(([price, amount]) => ({ side, price, amount })),
  ];
}
