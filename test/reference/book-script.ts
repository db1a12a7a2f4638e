/**
 * Order book scenarios as text that is both the commands and what is expected of them: what stands left of the bar is
 * run, and what happened is compared with what stands on its right.
 *
 *     s1  ann  sell  limit        4 @ 1560             | s1 rests 4 @ 1560
 *     b1  bob  buy   stop-limit   2 @ 1560  stop 1550  | b1 waits
 *     m1  cat  buy   market   $1600                    | m1 buys 1 @ 1560 of s1, m1 FILLED
 *
 * An order is: id, customer, side, type, lots or `$` budget, `@` limit price, `stop` price, time in force when it is
 * not the default. Further commands: `cancel <id>`, `expire <id>`, `overdue <id>`, `last <price>` (restored), and to look: `bids`,
 * `asks`, `stops`, `last`.
 */
import { expect } from "vitest";
import { Book } from "../../src/exchange/book/book.ts";
import type { Effect } from "../../src/exchange/book/command-effect.ts";
import type {
  BookOrder,
  BookOrderId,
  Lots,
  Price,
  QuoteUnits,
  RestingOrder,
  Sequence,
  Side,
  TimeInForce,
} from "../../src/exchange/book/order.ts";
import { assert, must } from "../../src/std/assert.ts";

/** Plays a script and compares it with itself. Spaces between words do not count. */
export function expectPlay(script: string): void {
  expect(play(script)).toEqual(lines(script));
}

function play(script: string): string[] {
  const book = new Book();
  return lines(script).map((line, index) => {
    const command = must(line.split(" |")[0], "splitting gives at least one part");
    return `${command} | ${run(book, command.split(" "), index)}`;
  });
}

function lines(script: string): string[] {
  const squeezed = script.split("\n").map((line) => line.trim().replaceAll(/\s+/g, " "));
  return squeezed.filter((line) => line !== "");
}

function run(book: Book, words: readonly string[], sequence: number): string {
  const [first, second] = words;
  const state = book.state();
  switch (first) {
    case "bids":
      return listOr(state.bids.map(printResting));
    case "asks":
      return listOr(state.asks.map(printResting));
    case "stops":
      return listOr(state.stops.map((stop) => stop.id));
    case "cancel":
      return listOr(book.cancel(second as BookOrderId).map(printEffect));
    case "expire":
      return listOr(book.expire(second as BookOrderId).map(printEffect));
    case "overdue":
      book.markOverdue(second as BookOrderId);
      return "nothing";
    case "last":
      if (second !== undefined) book.restoreLast(Number(second) as Price);
      return String(book.last);
    default:
      return listOr(book.place(parseOrder(words, sequence)).map(printEffect));
  }
}

/** The words are checked by the book, which asserts that the order is well formed. */
function parseOrder(words: readonly string[], sequence: number): BookOrder {
  const [id, customer, side, kind, ...terms] = words;
  const type = must(TYPES.get(kind ?? ""), `a type of order, but here is ${kind}`);
  const order = { id, customer, side: side?.toUpperCase(), type, sequence: sequence as Sequence };
  return { timeInForce: type === "MARKET" ? "IOC" : "GTC", ...order, ...parseTerms(terms) } as BookOrder;
}

const TYPES = new Map<string, BookOrder["type"]>([
  ["limit", "LIMIT"],
  ["post-only", "POST_ONLY_LIMIT"],
  ["market", "MARKET"],
  ["stop-limit", "STOP_LIMIT"],
  ["stop-market", "STOP_MARKET"],
]);

interface Terms {
  lots?: Lots;
  budget?: QuoteUnits;
  price?: Price;
  stopPrice?: Price;
  timeInForce?: TimeInForce;
}

function parseTerms([amount = "", ...rest]: readonly string[]): Terms {
  const terms: Terms = amount.startsWith("$")
    ? { budget: BigInt(amount.slice(1)) as QuoteUnits }
    : { lots: Number(amount) as Lots };
  for (let i = 0; i < rest.length; i += 1) {
    const word = must(rest[i], "the index is within the words");
    if (word === "@") terms.price = Number(rest[++i]) as Price;
    else if (word === "stop") terms.stopPrice = Number(rest[++i]) as Price;
    else terms.timeInForce = timeInForce(word);
  }
  return terms;
}

function timeInForce(word: string): TimeInForce {
  const upper = word.toUpperCase();
  assert(upper === "GTC" || upper === "GTT" || upper === "IOC" || upper === "FOK", `a time in force, not ${word}`);
  return upper;
}

function printEffect(effect: Effect): string {
  switch (effect.kind) {
    case "filled":
      return `${effect.taker} ${trade(effect.takerSide, effect.lots, effect.price)} ${effect.maker}`;
    case "rested":
      return `${effect.order} rests ${effect.lots} @ ${effect.price}`;
    case "waiting":
      return `${effect.order} waits`;
    case "triggered":
      return `${effect.order} triggers`;
    case "paused":
      return `${effect.order} pauses`;
    case "closed":
      return [effect.order, effect.status, effect.reason].filter((word) => word !== undefined).join(" ");
  }
}

function trade(side: Side, lots: Lots, price: Price): string {
  return side === "BUY" ? `buys ${lots} @ ${price} of` : `sells ${lots} @ ${price} to`;
}

const printResting = (order: RestingOrder): string => `${order.id} ${order.lots} @ ${order.price}`;

const listOr = (items: readonly string[]): string => (items.length === 0 ? "nothing" : items.join(", "));
