/** Chance for the order book: commands over few prices and few customers, so that they get in each other's way. */
import fc from "fast-check";
import type { BookOrder, BookOrderId, Lots, Price, QuoteUnits, Sequence, Side } from "../../src/exchange/book/order.ts";

/** An order still without its id and its sequence: those are its number among the commands. */
type OrderTerms = BookOrder extends infer Each
  ? Each extends BookOrder
    ? Omit<Each, "id" | "sequence">
    : never
  : never;

export type Command =
  | { readonly kind: "place"; readonly terms: OrderTerms }
  /** `back` counts back from the command itself: what it hits may be closed, or no order at all. */
  | { readonly kind: "cancel" | "expire"; readonly back: number }
  /** The time of such an order is over. */
  | { readonly kind: "overdue"; readonly back: number }
  | { readonly kind: "expire overdue"; readonly most: number }
  /** The book is thrown away and restored from its state, as when the engine moves to another node. */
  | { readonly kind: "rebuild" };

export const orderId = (number: number): BookOrderId => `order-${number}` as BookOrderId;

export function orderOf(terms: OrderTerms, number: number): BookOrder {
  return { ...terms, id: orderId(number), sequence: number as Sequence };
}

const side = fc.constantFrom<Side>("BUY", "SELL");
const customer = fc.constantFrom("ann", "bob", "cat");
const resting = fc.constantFrom("GTC" as const, "GTT" as const);
const anyForce = fc.constantFrom("GTC" as const, "GTC" as const, "GTT" as const, "IOC" as const, "FOK" as const);

const price = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 97, max: 103 }) },
  { weight: 3, arbitrary: fc.integer({ min: 80, max: 120 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 200 }) },
  // Exactly the collar, when mid is 100.
  { weight: 1, arbitrary: fc.constantFrom(85, 115) },
) as fc.Arbitrary<Price>;

const lots = fc.oneof(
  { weight: 30, arbitrary: fc.integer({ min: 1, max: 6 }) },
  { weight: 1, arbitrary: fc.constant(Number.MAX_SAFE_INTEGER) },
) as fc.Arbitrary<Lots>;

const budget = fc.oneof(
  { weight: 30, arbitrary: fc.bigInt({ min: 1n, max: 1_500n }) },
  { weight: 1, arbitrary: fc.constant(10n ** 30n) },
) as fc.Arbitrary<QuoteUnits>;

const limit = fc.record({
  type: fc.constantFrom("LIMIT" as const, "LIMIT" as const, "LIMIT" as const, "POST_ONLY_LIMIT" as const),
  customer,
  side,
  timeInForce: anyForce,
  price,
  lots,
});

const market = fc.oneof(
  fc.record({
    type: fc.constant("MARKET" as const),
    customer,
    side: fc.constant("BUY" as const),
    timeInForce: fc.constant("IOC" as const),
    budget,
  }),
  fc.record({
    type: fc.constant("MARKET" as const),
    customer,
    side: fc.constant("SELL" as const),
    timeInForce: fc.constant("IOC" as const),
    lots,
  }),
);

const stop = fc.oneof(
  fc.record({
    type: fc.constant("STOP_LIMIT" as const),
    customer,
    side,
    timeInForce: resting,
    stopPrice: price,
    price,
    lots,
  }),
  fc.record({
    type: fc.constant("STOP_MARKET" as const),
    customer,
    side: fc.constant("BUY" as const),
    timeInForce: resting,
    stopPrice: price,
    budget,
  }),
  fc.record({
    type: fc.constant("STOP_MARKET" as const),
    customer,
    side: fc.constant("SELL" as const),
    timeInForce: resting,
    stopPrice: price,
    lots,
  }),
);

const terms: fc.Arbitrary<OrderTerms> = fc.oneof(
  { weight: 10, arbitrary: limit },
  { weight: 2, arbitrary: market },
  { weight: 4, arbitrary: stop },
);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 20, arbitrary: fc.record({ kind: fc.constant("place" as const), terms }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom("cancel" as const, "expire" as const),
      back: fc.integer({ min: 1, max: 30 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("overdue" as const), back: fc.integer({ min: 1, max: 30 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("expire overdue" as const), most: fc.integer({ min: 0, max: 5 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "rebuild" as const }) },
);

export const commands: fc.Arbitrary<Command[]> = fc.array(command, { maxLength: 300, size: "max" });
