/**
 * What a round of the book comes to: its effects turned into order rows, executions and journals (behaviour.md, section
 * 8, Money). Pure: the rows as they stand and the time come in, the rows as they are to be go out.
 *
 * Every match has one journal, `order_filled`: both sides of the trade, commission, rebate, and what a limit buy was
 * spared. Every order that closes with a hold has one more, `order_released`, whose id is the odd one beside its own.
 * So `held` on an order's row is at all times what it holds of its account's trading part.
 */
import type { Market } from "../catalogue/market.ts";
import type { Profile } from "../customers/profiles.ts";
import { entry, type Journal, journal, type ProfileId } from "../ledger/accounts.ts";
import { type Amount, minus, negative, plus, ZERO } from "../money/amount.ts";
import { assert, must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import { siblingId } from "../std/id.ts";
import type { Closed, Effect, Filled } from "./book/effect.ts";
import type { OrderId as BookOrderId, Sequence } from "./book/order.ts";
import type { Execution, ExecutionId } from "./execution.ts";
import { executedAtOf, matchJournalId, nextMatchId, takerId } from "./execution-id.ts";
import type { MarketHead } from "./market-state.ts";
import { heldAsset, shareOfHold, type Trade, tradeEntries, tradeOf } from "./matching-money.ts";
import { amountOfLots, priceOf, quoteOf } from "./matching-units.ts";
import type { Order, OrderRejectReason } from "./order.ts";

/** An order that never came to the book, because the market is halted. */
export interface TurnedAway {
  readonly kind: "closed";
  readonly order: BookOrderId;
  readonly status: "REJECTED";
  readonly reason: "market_halted";
}

export type RoundEffect = Effect | TurnedAway;

/** What the book did in a round: the orders that were taken, with their numbers, and all that followed, in order. */
export interface RoundEffects {
  readonly taken: ReadonlyMap<BookOrderId, Sequence>;
  readonly effects: readonly RoundEffect[];
}

/** The rows that a round rests on, as they stand. */
export interface RoundRows {
  readonly head: MarketHead;
  /** Every order of which an effect speaks. */
  readonly orders: ReadonlyMap<BookOrderId, Order>;
  /** The profiles that closing orders of other profiles were to pay into. */
  readonly recipients: ReadonlyMap<ProfileId, Profile>;
}

/** The rows as the round leaves them, but for their running numbers. */
export interface Settlement {
  readonly head: MarketHead;
  readonly orders: readonly Order[];
  readonly recipients: readonly Profile[];
  readonly executions: readonly Execution[];
  readonly journals: readonly Journal[];
}

export function settle(market: Market, round: RoundEffects, rows: RoundRows, now: Instant): Settlement {
  const settling = new Settling(market, rows, now);
  for (const [order, sequence] of round.taken) settling.take(order, sequence);
  for (const effect of round.effects) settling.apply(effect);
  return settling.result();
}

/** Whether another profile counts the order as one that will pay into it. */
export function awaitedIn({ profileId, recipientProfileId }: Pick<Order, "profileId" | "recipientProfileId">) {
  return recipientProfileId === profileId ? undefined : recipientProfileId;
}

class Settling {
  readonly #market: Market;
  /** An engine's time never steps back: a round is not before the last match. */
  readonly #at: Instant;
  readonly #orders: Map<BookOrderId, Order>;
  readonly #changed = new Set<BookOrderId>();
  readonly #recipients: Map<ProfileId, Profile>;
  readonly #executions: Execution[] = [];
  readonly #journals: Journal[] = [];
  #head: MarketHead;

  constructor(market: Market, { head, orders, recipients }: RoundRows, now: Instant) {
    this.#market = market;
    this.#head = head;
    this.#at = Math.max(now, executedAtOf(head.lastExecutionId)) as Instant;
    this.#orders = new Map(orders);
    this.#recipients = new Map(recipients);
  }

  take(id: BookOrderId, sequence: Sequence): void {
    assert(this.#order(id).status === "PENDING_SUBMISSION", "an order is taken once");
    this.#change(id, { sequence: BigInt(sequence) });
    this.#head = { ...this.#head, lastSequence: BigInt(sequence) };
  }

  apply(effect: RoundEffect): void {
    switch (effect.kind) {
      case "filled":
        this.#match(effect);
        break;
      case "rested":
        this.#change(effect.order, { status: "OPEN", priority: BigInt(effect.priority) });
        break;
      case "waiting":
        this.#change(effect.order, { status: "SUBMITTED" });
        break;
      case "triggered":
        this.#change(effect.order, { isTriggered: true });
        break;
      case "closed":
        this.#close(effect);
        break;
    }
  }

  result(): Settlement {
    return {
      head: this.#head,
      orders: [...this.#changed].map((id) => this.#order(id)),
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
    this.#head = { ...this.#head, lastPrice: price, lastExecutionId: takerId(id) };
    this.#journals.push(journal(matchJournalId(id), "order_filled", tradeEntries(this.#market, taker, maker, trade)));
    const { commission, rebate } = trade;
    this.#executions.push(
      this.#execution(id, maker, price, amount, { commission: ZERO, rebate }),
      this.#execution(takerId(id), taker, price, amount, { commission, rebate: ZERO }),
    );
    this.#fill(filled.maker, shareOfHold(maker, "maker", trade), trade);
    this.#fill(filled.taker, shareOfHold(taker, "taker", trade), trade);
  }

  #fill(id: BookOrderId, share: Amount, { amount, gross }: Trade): void {
    const { filled, filledGross, held } = this.#order(id);
    this.#change(id, {
      filled: plus(filled, amount),
      filledGross: plus(filledGross, gross),
      held: minus(held, share),
    });
  }

  #execution(
    id: ExecutionId,
    { profileId, customerId, id: orderId, market, side, identityAccountId: accountId }: Order,
    price: Amount,
    amount: Amount,
    pay: Pick<Execution, "commission" | "rebate">,
  ): Execution {
    const order = { profileId, customerId, orderId, market, side, accountId };
    return { ...order, ...pay, id, price, amount, executedAt: executedAtOf(id) };
  }

  /** What is still held goes back to the profile that placed the order, whoever the recipient is. */
  #close({ order: id, status, reason }: Closed | TurnedAway): void {
    const order = this.#order(id);
    const { held, profileId } = order;
    const isLimit = order.price !== undefined;
    assert(status !== "FILLED" || order.side === "BUY" || held === 0n, "a sell that is filled holds nothing");
    assert(status !== "FILLED" || !isLimit || held === 0n, "a limit order that is filled holds nothing");
    if (held > 0n) {
      const asset = heldAsset(this.#market, order);
      const entries = [entry(profileId, asset, negative(held), "trading"), entry(profileId, asset, held)];
      this.#journals.push(journal(siblingId(order.id), "order_released", entries));
    }
    // Why an order was cancelled is nobody's business but the book's.
    const rejectReason: OrderRejectReason | undefined = status === "REJECTED" ? reason : undefined;
    this.#change(id, { status, rejectReason, held: ZERO, closedAt: this.#timeFor(order) });
    this.#stopAwaiting(order);
  }

  #stopAwaiting(order: Order): void {
    const id = awaitedIn(order);
    if (id === undefined) return;
    const profile = must(this.#recipients.get(id), `profile ${id}, which an order was to pay into, is there`);
    this.#recipients.set(id, { ...profile, awaited: profile.awaited - 1 });
  }

  #change(id: BookOrderId, change: Partial<Order>): void {
    const order = this.#order(id);
    assert(order.closedAt === undefined, "a closed order never changes again");
    this.#orders.set(id, { ...order, ...change, modifiedAt: this.#timeFor(order) });
    this.#changed.add(id);
  }

  /** That of the round, or of its last match, which may be a little ahead of it. */
  #timeFor(order: Order): Instant {
    return Math.max(this.#at, executedAtOf(this.#head.lastExecutionId), order.modifiedAt) as Instant;
  }

  #order(id: BookOrderId): Order {
    return must(this.#orders.get(id), `order ${id} is among the rows of its round`);
  }
}
