/**
 * Commands per second of the order book, the cost of a deep book, and the package nodejs-order-book on the same
 * commands (its prices are floats, ours integers). Runs the built code: `npx tsc -p tsconfig.build.json`, then `node
 * bench/book.mjs [commands]`.
 *
 * The traffic resembles a market maker's: 9 % new GTC orders, 3 % IOC orders that each take one of them, 6 % cancels,
 * and 82 % replacements (a cancel and a place, counted as one command), all within 20 ticks of the best price, so the
 * number of open orders stays about constant. The deep book has 99,900 more behind them. Best of five rounds, in CPU
 * time of the process, because other load only ever makes a round slower.
 */
import { OrderBook } from "nodejs-order-book";
import { Book } from "../dist/exchange/book/book.js";

const COMMANDS = Number(process.argv[2] ?? 1_000_000);
const CHUNK = 1_000;
const ROUNDS = 5;
const ACTIVE = 100;
const MID = 1_000_000;
const NEAR = 20;
const LOTS = 10;
const MAKERS = Array.from({ length: 50 }, (_, number) => `maker-${number}`);
let placed = 0;

/** The common interface. Orders are converted before the measurement. */
const OURS = {
  name: "this book",
  open: () => new Book(),
  order: (order) => order,
  place: (book, order) => book.place(order),
  cancel: (book, id) => book.cancel(id),
  filledBy: (effects) =>
    effects.flatMap(({ kind, maker, makerLotsLeft }) => (kind === "filled" && makerLotsLeft === 0 ? maker : [])),
};
const PEER = {
  name: "nodejs-order-book",
  open: () => new OrderBook(),
  order: ({ id, side, lots, price, timeInForce }) => ({ id, side: side.toLowerCase(), size: lots, price, timeInForce }),
  place: (book, order) => book.limit(order),
  cancel: (book, id) => book.cancel(id),
  filledBy: ({ done }) => done.map(({ id }) => id),
};

for (const contestant of [OURS, PEER]) {
  const shallow = best(contestant, 0);
  const deep = best(contestant, 99_900);
  console.log(contestant.name);
  console.log(`  100 resting orders:     ${perSecond(shallow)} commands per CPU second`);
  console.log(
    `  100,000 resting orders: ${perSecond(deep)} commands per CPU second, ${(deep / shallow).toFixed(2)} x the time`,
  );
}

function best(contestant, background) {
  const round = (_, number) => measure(contestant, background, randomFrom(number + 1));
  return Math.min(...Array.from({ length: ROUNDS }, round));
}

/**
 * Milliseconds for all commands. They are made a thousand at a time while the clock stands still: making them is not
 * the book's work, and an order that has just arrived is still in the processor's cache.
 */
function measure(contestant, background, random) {
  const book = contestant.open();
  const rest = (distance) => place(contestant, book, contestant.order(makerOrder(random, distance)));
  for (let i = 0; i < background; i += 1) rest(NEAR + 1 + random(20_000));
  const active = [];
  for (let i = 0; i < ACTIVE; i += 1) active.push(rest(1 + random(NEAR)));

  let milliseconds = 0;
  for (let done = 0; done < COMMANDS; done += CHUNK) {
    const commands = Array.from({ length: CHUNK }, (_, index) => nextCommand(contestant, random, index));
    const started = cpuMilliseconds();
    for (const command of commands) run(contestant, book, active, command);
    milliseconds += cpuMilliseconds() - started;
  }
  return milliseconds;
}

/** Kinds in a fixed, mixed order with exact shares. */
function nextCommand({ order: worded }, random, index) {
  const percent = (index * 37) % 100;
  const chance = random(1 << 30);
  if (percent < 9) return { kind: "new", chance, order: worded(makerOrder(random, 1 + random(NEAR))) };
  if (percent < 12) return { kind: "take", chance, order: worded(takerOrder(random)) };
  if (percent < 18) return { kind: "cancel", chance, order: undefined };
  return { kind: "replace", chance, order: worded(makerOrder(random, 1 + random(NEAR))) };
}

function run(contestant, book, active, { kind, chance, order }) {
  const chosen = chance % active.length;
  switch (kind) {
    case "new":
      active.push(place(contestant, book, order));
      break;
    case "take":
      for (const id of contestant.filledBy(contestant.place(book, order))) forget(active, active.indexOf(id));
      break;
    case "cancel":
      contestant.cancel(book, active[chosen]);
      forget(active, chosen);
      break;
    case "replace":
      contestant.cancel(book, active[chosen]);
      active[chosen] = place(contestant, book, order);
      break;
  }
}

function place(contestant, book, order) {
  contestant.place(book, order);
  return order.id;
}

/** An order of the background is not among the active ones, and is not found there. */
function forget(active, index) {
  if (index === -1) return;
  active[index] = active[active.length - 1];
  active.pop();
}

function makerOrder(random, distance) {
  const side = random(2) === 0 ? "BUY" : "SELL";
  const price = side === "BUY" ? MID - distance : MID + distance;
  return limitOrder(MAKERS[random(MAKERS.length)], side, price, "GTC");
}

function takerOrder(random) {
  const side = random(2) === 0 ? "BUY" : "SELL";
  return limitOrder("taker", side, side === "BUY" ? MID + NEAR : MID - NEAR, "IOC");
}

function limitOrder(customer, side, price, timeInForce) {
  placed += 1;
  // A flat string, as from the wire or the database, not the rope of a template.
  const id = Buffer.from(`018f3e5a-7c1b-7000-8000-${placed.toString(16).padStart(12, "0")}`).toString("latin1");
  return { id, customer, side, type: "LIMIT", timeInForce, price, lots: LOTS, sequence: placed };
}

/** Seeded random integers below a limit (mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

function cpuMilliseconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function perSecond(milliseconds) {
  return Math.round((COMMANDS / milliseconds) * 1000).toLocaleString("en");
}
