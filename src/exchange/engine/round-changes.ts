/**
 * Turns the effects of a round into order rows, executions and journals (docs/contract/orders.md#holds-and-settlement).
 * Pure: takes the current rows and the time, returns the new rows.
 *
 * Every match has one journal, `order_filled`: both sides of the trade, commission, rebate, and the price improvement of
 * a limit buy. Every order that closes with a hold has one more, `order_released`, whose id is the order's sibling id.
 * An order's `held` therefore always equals its hold in its account's trading part.
 */
import type { Market } from "../../catalogue/market.ts";
import type { Profile } from "../../customers/profiles/profiles.ts";
import { entry, type Journal, journal, type ProfileId } from "../../ledger/accounts.ts";
import { type Amount, minus, negative, plus, ZERO } from "../../money/amount.ts";
import { assert, must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { siblingId } from "../../std/id.ts";
import type { Closed, Effect, Filled } from "../book/command-effect.ts";
import type { BookOrderId, Sequence } from "../book/order.ts";
import { copiedAnnotations, type Execution, type ExecutionId } from "../execution.ts";
import { executedAtOf, matchJournalId, nextMatchId, takerId } from "../execution-id.ts";
import type { MarketHead } from "../market-state.ts";
import type { Order } from "../order.ts";
import { amountOfLots, priceOf, quoteOf } from "./book-units.ts";
import { heldAsset, shareOfHold, type Trade, tradeEntries, tradeOf } from "./trade-money.ts";

/** An order that never entered the book, because the market is halted. */
export interface HaltRejection {
  readonly kind: "closed";
  readonly order: BookOrderId;
  readonly status: "REJECTED";
  readonly reason: "market_halted";
}

export type RoundEffect = Effect | HaltRejection;

/** What the book did in a round: the orders that were taken, with their sequences, and all effects in order. */
export interface RoundEffects {
  readonly taken: ReadonlyMap<BookOrderId, Sequence>;
  readonly effects: readonly RoundEffect[];
}

/** The current rows that a round depends on. */
export interface RoundRows {
  readonly head: MarketHead;
  /** Every order that occurs in an effect. */
  readonly orders: ReadonlyMap<BookOrderId, Order>;
  /** The profiles that closing orders of other profiles were to pay into. */
  readonly recipients: ReadonlyMap<ProfileId, Profile>;
}

/** The resulting rows, with their old versions. */
export interface MatchChanges {
  readonly head: MarketHead;
  readonly orders: readonly Order[];
  readonly recipients: readonly Profile[];
  readonly executions: readonly Execution[];
  readonly journals: readonly Journal[];
}

/** @param at when the book matched (`timeOf`) */
export function matchRound(market: Market, round: RoundEffects, rows: RoundRows, at: Instant): MatchChanges {
  const changes = new RoundChanges(market, rows, at);
  for (const [order, sequence] of round.taken) changes.take(order, sequence);
  for (const effect of round.effects) changes.apply(effect);
  return changes.result();
}

/**
 * The time of a round. Its book has matched when it was planned: if the time of an order has come since, the round is dated
 * before it, by a millisecond. From its `expiration_date` on an order is neither filled nor triggered
 * (docs/contract/orders.md#time-in-force).
 */
export function timeOf(
  { effects }: Pick<RoundEffects, "effects">,
  orders: ReadonlyMap<BookOrderId, Order>,
  now: Instant,
): Instant {
  let at: number = now;
  for (const effect of effects) {
    const live =
      effect.kind === "filled" ? [effect.taker, effect.maker] : effect.kind === "triggered" ? [effect.order] : [];
    for (const id of live) at = Math.min(at, (orders.get(id)?.expirationDate ?? Number.POSITIVE_INFINITY) - 1);
  }
  return at as Instant;
}

/** The other profile that counts the order as incoming; undefined if the order pays into its own profile. */
export function incomingCountIn({ profileId, recipientProfileId }: Pick<Order, "profileId" | "recipientProfileId">) {
  return recipientProfileId === profileId ? undefined : recipientProfileId;
}

type Mutable<Row> = { -readonly [Name in keyof Row]: Row[Name] };

class RoundChanges {
  readonly #market: Market;
  readonly #orders: ReadonlyMap<BookOrderId, Order>;
  /** Each changed order is copied once. */
  readonly #changed = new Map<BookOrderId, Mutable<Order>>();
  readonly #recipients: Map<ProfileId, Profile>;
  readonly #executions: Execution[] = [];
  readonly #journals: Journal[] = [];
  readonly #head: Mutable<MarketHead>;
  /**
   * The round's time, then that of its last match. Match times never decrease: in a market that is ahead, matches have
   * the time of its last match, while other changes have the current time.
   */
  #at: Instant;

  constructor(market: Market, { head, orders, recipients }: RoundRows, now: Instant) {
    this.#market = market;
    this.#head = { ...head };
    this.#at = now;
    this.#orders = orders;
    this.#recipients = new Map(recipients);
  }

  take(id: BookOrderId, sequence: Sequence): void {
    assert(this.#order(id).status === "PENDING_SUBMISSION", "an order is taken once");
    const order = this.#change(id);
    order.sequence = BigInt(sequence);
    this.#head.lastSequence = order.sequence;
  }

  apply(effect: RoundEffect): void {
    switch (effect.kind) {
      case "filled":
        this.#match(effect);
        break;
      case "rested": {
        const order = this.#change(effect.order);
        order.status = "OPEN";
        order.priority = BigInt(effect.priority);
        break;
      }
      case "waiting":
      case "paused":
        // A part that has only cancelled own orders, or closed what is overdue, leaves an order that was paused before as it was.
        if (this.#order(effect.order).status !== "SUBMITTED") this.#change(effect.order).status = "SUBMITTED";
        break;
      case "triggered":
        this.#change(effect.order).isTriggered = true;
        break;
      case "closed":
        this.#close(effect);
        break;
    }
  }

  result(): MatchChanges {
    return {
      head: this.#head,
      orders: [...this.#changed.values()],
      recipients: [...this.#recipients.values()],
      executions: this.#executions,
      journals: this.#journals,
    };
  }

  #match(filled: Filled): void {
    const taker = this.#order(filled.taker);
    const maker = this.#order(filled.maker);
    const amount = amountOfLots(this.#market, filled.lots);
    const trade = tradeOf(taker, maker, amount, quoteOf(this.#market, filled.cost));
    const id = nextMatchId(this.#head.lastExecutionId, this.#market.number, this.#at);
    const price = priceOf(this.#market, filled.price);
    this.#at = executedAtOf(id);
    this.#head.lastPrice = price;
    this.#head.lastExecutionId = takerId(id);
    this.#journals.push(journal(matchJournalId(id), "order_filled", tradeEntries(this.#market, taker, maker, trade)));
    this.#executions.push(
      this.#execution(id, maker, price, amount, { commission: ZERO, rebate: trade.rebate }),
      this.#execution(takerId(id), taker, price, amount, { commission: trade.commission, rebate: ZERO }),
    );
    this.#fill(filled.maker, shareOfHold(maker, "maker", trade), trade);
    this.#fill(filled.taker, shareOfHold(taker, "taker", trade), trade);
  }

  #fill(id: BookOrderId, share: Amount, { amount, gross }: Trade): void {
    const order = this.#change(id);
    order.filled = plus(order.filled, amount);
    order.filledGross = plus(order.filledGross, gross);
    order.held = minus(order.held, share);
  }

  #execution(
    id: ExecutionId,
    order: Order,
    price: Amount,
    amount: Amount,
    { commission, rebate }: Pick<Execution, "commission" | "rebate">,
  ): Execution {
    const { profileId, customerId, id: orderId, market, side } = order;
    const annotations = copiedAnnotations(order);
    const executedAt = this.#at;
    return {
      id,
      profileId,
      customerId,
      orderId,
      market,
      side,
      annotations,
      price,
      amount,
      commission,
      rebate,
      executedAt,
    };
  }

  /** The remaining hold returns to the profile that placed the order, not to the recipient. */
  #close({ order: id, status, reason }: Closed | HaltRejection): void {
    const order = this.#change(id);
    const { held, profileId } = order;
    const isLimit = order.price !== undefined;
    assert(status !== "FILLED" || order.side === "BUY" || held === 0n, "a sell that is filled holds nothing");
    assert(status !== "FILLED" || !isLimit || held === 0n, "a limit order that is filled holds nothing");
    if (held > 0n) {
      const asset = heldAsset(this.#market, order);
      const entries = [entry(profileId, asset, negative(held), "trading"), entry(profileId, asset, held)];
      this.#journals.push(journal(siblingId(order.id), "order_released", entries));
    }
    order.status = status;
    order.rejectReason = status === "REJECTED" ? reason : undefined;
    order.cancelReason = status === "CANCELLED" ? reason : undefined;
    order.held = ZERO;
    order.closedAt = order.updatedAt;
    this.#stopAwaiting(order);
  }

  #stopAwaiting(order: Order): void {
    const id = incomingCountIn(order);
    if (id === undefined) return;
    const profile = must(this.#recipients.get(id), `profile ${id}, which an order was to pay into, is there`);
    this.#recipients.set(id, { ...profile, incomingCount: profile.incomingCount - 1 });
  }

  /** A mutable copy of an order, with its time of modification set. */
  #change(id: BookOrderId): Mutable<Order> {
    const order = this.#changed.get(id) ?? { ...this.#order(id) };
    assert(order.closedAt === undefined, "a closed order never changes again");
    order.updatedAt = Math.max(this.#at, order.updatedAt) as Instant;
    this.#changed.set(id, order);
    return order;
  }

  /** Including this round's changes. */
  #order(id: BookOrderId): Order {
    return must(this.#changed.get(id) ?? this.#orders.get(id), () => `order ${id} is among the rows of its round`);
  }
}
