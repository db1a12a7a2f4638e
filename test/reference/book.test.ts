import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Book, type BookBounds } from "../../src/exchange/book/book.ts";
import type { BookState } from "../../src/exchange/book/book-state.ts";
import type { Effect } from "../../src/exchange/book/command-effect.ts";
import type { BookOrderId } from "../../src/exchange/book/order.ts";
import { type Command, commands, orderId, orderOf } from "./book-commands.ts";
import { NaiveBook } from "./naive-book.ts";
import { OrderFollower } from "./order-follower.ts";

/** How many commands to try: BOOK_COMMANDS=1000000 for a long run. BOOK_SEED repeats one that failed. */
const WANTED = Number(process.env.BOOK_COMMANDS ?? 20_000);
const SEED = process.env.BOOK_SEED === undefined ? {} : { seed: Number(process.env.BOOK_SEED) };

/** What has to happen at least once, or chance does not test what it should. */
const EVERYTHING = [
  "CANCELLED expired",
  "CANCELLED fill_or_kill",
  "CANCELLED immediate_or_cancel",
  "CANCELLED requested",
  "CANCELLED self_trade",
  "CANCELLED too_many_matches",
  "FILLED",
  "REJECTED below_one_lot",
  "REJECTED no_liquidity",
  "REJECTED post_only_would_cross",
  "REJECTED price_collar",
  "REJECTED too_many_open_orders",
  "cascade",
  "cascade in parts",
  "filled",
  "met what is overdue",
  "paused",
  "paused and taken out",
  "paused for good",
  "rested",
  "triggered",
  "waiting",
];

/** In all, and at once. */
const MOST_MET = [
  [1_000, 1_000],
  [1_000, 100],
  [5, 5],
  [5, 2],
  [1_000, 1],
  [3, 1],
  [1, 1],
] as const;

test(
  "the book does what its slow twin does, and every effect obeys its laws",
  () => {
    let tried = 0;
    const seen = new Set<string>();
    const run = (script: Command[], [mostMet, mostAtOnce]: readonly [number, number], mostOpen: number) => {
      const pair = new BookAndTwin(seen, mostMet, mostAtOnce, mostOpen);
      for (const [number, command] of script.entries()) pair.run(command, number);
      tried += script.length;
    };
    fc.assert(fc.property(commands, fc.constantFrom(...MOST_MET), fc.constantFrom(1_000, 1_000, 10, 2), run), {
      ...SEED,
      numRuns: Math.ceil(WANTED / 100),
    });
    expect(tried).toBeGreaterThanOrEqual(WANTED);
    expect([...seen].sort()).toEqual(EVERYTHING);
  },
  60_000 + WANTED * 5,
);

class BookAndTwin {
  readonly #bounds: Partial<BookBounds>;
  #book: Book;
  readonly #twin: NaiveBook;
  readonly #follower = new OrderFollower();
  readonly #seen: Set<string>;

  constructor(seen: Set<string>, mostMet: number, mostAtOnce: number, mostOpen: number) {
    this.#seen = seen;
    this.#bounds = { maxMet: mostMet, maxMetAtOnce: mostAtOnce, maxOpen: mostOpen };
    this.#book = new Book(this.#bounds);
    this.#twin = new NaiveBook({ mostMet, mostAtOnce, mostOpen });
  }

  run(command: Command, number: number): void {
    if (command.kind === "rebuild") this.#rebuild();
    else if (command.kind === "place") this.#place(command, number);
    else if (command.kind === "overdue") this.#markOverdue(orderId(number - command.back));
    else if (command.kind === "expire overdue") this.#expireOverdue(command.most);
    else this.#takeOut(command, number);
    this.#expectSame();
  }

  #place(command: Command & { kind: "place" }, number: number): void {
    const order = orderOf(command.terms, number);
    const effects = this.#book.place(order);
    deepStrictEqual(effects, this.#twin.place(order));
    this.#follower.placed(order, effects);
    this.#see(effects);
    if (effects.some(({ kind, ...effect }) => kind === "closed" && "reason" in effect && effect.reason === "expired"))
      this.#seen.add("met what is overdue");
    while (this.#book.isUnfinished()) this.#settle(number);
    deepStrictEqual(this.#twin.isUnfinished(), false);
  }

  /** As after a crash between the parts of an execution or a cascade. */
  #settle(number: number): void {
    this.#rebuild();
    const executing = this.#book.state().executing?.order;
    if (executing === undefined) this.#seen.add("cascade in parts");
    // What expires or is cancelled, on a halted market, between two parts: the order itself, or one before it.
    if (executing !== undefined && number % 7 === 0) {
      this.#seen.add("paused and taken out");
      this.#takeOut({ kind: "expire", back: 0 }, Number(executing.id.slice("order-".length)));
    } else if (number % 3 === 0) {
      this.#halt();
    } else if (number % 5 === 0) {
      this.#takeOut({ kind: "cancel", back: 1 }, number);
    } else if (number % 4 === 0) {
      for (const id of [orderId(number), orderId(number - 2)]) this.#markOverdue(id);
    }
    if (!this.#book.isUnfinished()) return;
    const effects = this.#book.resume();
    deepStrictEqual(effects, this.#twin.settle());
    this.#follower.follow(effects);
    this.#see(effects);
  }

  #halt(): void {
    const effects = this.#book.cancelUnfinished();
    deepStrictEqual(effects, this.#twin.cancelUnfinished());
    this.#follower.follow(effects);
    if (effects.length > 0) this.#seen.add("paused for good");
  }

  #takeOut({ kind, back }: Command & { kind: "cancel" | "expire" }, number: number): void {
    const id = orderId(number - back);
    deepStrictEqual(this.#book.has(id), this.#twin.has(id));
    const effects = kind === "cancel" ? this.#book.cancel(id) : this.#book.expire(id);
    deepStrictEqual(effects, kind === "cancel" ? this.#twin.cancel(id) : this.#twin.expire(id));
    this.#follower.follow(effects);
    this.#see(effects);
  }

  #markOverdue(id: BookOrderId): void {
    if (!this.#book.has(id)) return;
    this.#book.markOverdue(id);
    this.#twin.markOverdue(id);
    this.#follower.markOverdue(id);
  }

  #expireOverdue(most: number): void {
    deepStrictEqual(this.#book.hasOverdue, this.#twin.overdue.length > 0);
    const effects = this.#book.expireOverdue(most);
    deepStrictEqual(effects, this.#twin.expireOverdue(most));
    this.#follower.follow(effects);
  }

  #see(effects: readonly Effect[]): void {
    for (const effect of effects) this.#seen.add(nameOf(effect));
    if (effects.filter((effect) => effect.kind === "triggered").length > 2) this.#seen.add("cascade");
  }

  #rebuild(): void {
    const before = this.#book.stateHash();
    this.#book = restored(this.#book.state(), this.#bounds);
    deepStrictEqual(this.#book.stateHash(), before);
    // A new engine finds by their times which these are.
    for (const id of this.#twin.overdue) this.#book.markOverdue(id);
  }

  #expectSame(): void {
    const book = this.#book;
    const twin = this.#twin;
    deepStrictEqual(book.levels("BUY"), twin.levels("BUY"));
    deepStrictEqual(book.levels("SELL"), twin.levels("SELL"));
    deepStrictEqual(book.state(), twin.state());
    deepStrictEqual(book.stateHash(), twin.stateHash());
    deepStrictEqual(book.size, twin.size);
    for (const { price, lots } of book.levels("BUY")) deepStrictEqual(book.totalAt("BUY", price), lots);
    for (const { price, lots } of book.levels("SELL")) deepStrictEqual(book.totalAt("SELL", price), lots);
    this.#follower.expectSameOrders(book);
  }
}

function nameOf(effect: Effect): string {
  if (effect.kind !== "closed") return effect.kind;
  return effect.reason === undefined ? effect.status : `${effect.status} ${effect.reason}`;
}

/** Sides and stops in any order; only within a level the order counts. */
function restored(state: BookState, bounds: Partial<BookBounds>): Book {
  const book = new Book(bounds);
  for (const stop of [...state.stops].sort((a, b) => a.sequence - b.sequence)) book.restoreWaiting(stop);
  if (state.last !== undefined) book.restoreLast(state.last);
  if (state.executing !== undefined) book.restoreExecuting(state.executing);
  for (const order of [...state.asks, ...state.bids].sort((a, b) => a.priority - b.priority)) {
    book.restoreResting(order);
  }
  return book;
}
