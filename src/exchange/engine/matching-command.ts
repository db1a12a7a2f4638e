/**
 * The two commands of an engine. Each numbers the market's head on, so the commands of a market are one chain, whoever
 * sends them: what was decided on an older head can never be committed any more.
 */
import type { Market, MarketCode } from "../../catalogue/market.ts";
import { type Profile, profileKey, profileTable } from "../../customers/profiles/profiles.ts";
import { accountKey, accountTable, type Journal, type ProfileId } from "../../ledger/accounts.ts";
import type { Caller } from "../../ledger/caller.ts";
import { accept, type Command, type Rejection, reject, type State } from "../../ledger/decision.ts";
import { addition, change, type Key, type StateChange } from "../../ledger/rows.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import type { BookOrderId } from "../book/order.ts";
import { customerVolumeKey, customerVolumes, customerVolumeTable, type Day, dayOf } from "../customer-volume.ts";
import { type Execution, executionTable } from "../execution.ts";
import { executedAtOf, NO_EXECUTION } from "../execution-id.ts";
import {
  type MarketHead,
  type MarketState,
  marketHeadKey,
  marketHeadTable,
  marketKey,
  marketTable,
} from "../market-state.ts";
import { type Order, type OrderId, orderKey, orderTable } from "../order.ts";
import { incomingCountIn, journalsOf, type RoundEffects } from "./matching.ts";
import { heldAsset, receivedAsset, recipientOf } from "./matching-money.ts";

/** Another engine has the market: its fence is higher. */
export interface Fenced extends Rejection {
  readonly code: "fenced";
}

/** Something is not as the book believes. The book is of no use any more. */
export interface Stale extends Rejection {
  readonly code: "stale";
  readonly what: "head" | "market" | "order" | "hold" | "day";
}

/** An order as the book believes that it is stored. */
export interface BookedOrder extends Pick<Order, "id" | "profileId" | "customerId" | "recipientProfileId" | "side"> {
  readonly seq: bigint;
}

/** A round that the book has done, and what it believes about the rows that it rests on. */
export interface Round extends RoundEffects {
  readonly head: Pick<MarketHead, "fence" | "seq" | "lastExecutionId">;
  /** Undefined: no order was taken or turned away, so it makes no difference. */
  readonly status: MarketState["status"] | undefined;
  readonly orders: ReadonlyMap<BookOrderId, BookedOrder>;
  /** Who asked for the orders that it cancels on request. */
  readonly askedBy: ReadonlyMap<OrderId, Caller>;
}

/** What a round came to, as it is stored: with the running numbers that the rows have by now. */
export interface Committed {
  readonly head: MarketHead;
  readonly orders: readonly Order[];
  readonly executions: readonly Execution[];
}

/**
 * Takes a market's row for the holder of its lease. Once it has committed, no engine that had the market before can
 * commit anything, this one's own commands of unknown outcome included: so what is read afterwards stays true.
 */
export function takeOver(market: MarketCode, fence: bigint): Command<MarketHead, Fenced> {
  return {
    queueKey: "house",
    caller: { house: "engine" },
    dependsOn: [marketHeadKey(market)],
    decide: (state) => {
      const head = state.get(marketHeadTable, market) ?? unopened(market);
      if (head.fence > fence) return reject({ code: "fenced" });
      const taken: MarketHead = { ...head, fence };
      return accept(numbered(taken), { states: [change(marketHeadTable, taken)] });
    },
  };
}

/**
 * How much later than it is sent a round may be decided, which its deadline bounds; and as much again. By a clock that
 * is set back meanwhile it may be earlier, too.
 */
const DECIDED_WITHIN_MS = 60_000;

/**
 * Carries out what the book has done, if everything is still as the book believed. It is decided within a minute of
 * `about`.
 */
export function commitRound(market: Market, round: Round, about: Instant): Command<Committed, Stale> {
  const days = daysOf(round, about);
  return {
    queueKey: "house",
    caller: { house: "engine" },
    dependsOn: restsOf(market, round, days),
    decide: (state, now) => {
      const head = state.get(marketHeadTable, market.code);
      if (head === undefined || head.seq !== round.head.seq || head.fence !== round.head.fence) return stale("head");
      const status = state.get(marketTable, market.code)?.status;
      if (round.status !== undefined && round.status !== status) return stale("market");
      const orders = storedOrders(state, round);
      if (orders === undefined) return stale("order");
      const settlement = journalsOf(market, round, { head, orders, recipients: recipientsOf(state, round) }, now);
      if (!areHeld(state, settlement.journals)) return stale("hold");
      const traded = customerVolumes(state, market.code, settlement.executions, days);
      if (traded === undefined) return stale("day");

      // From here the round must succeed.
      const committed: Committed = {
        head: numbered(settlement.head),
        orders: settlement.orders.map(numbered),
        executions: settlement.executions,
      };
      return accept(committed, {
        states: [
          change(marketHeadTable, settlement.head),
          ...settlement.orders.map((order) => changeOf(order, round.askedBy.get(order.id))),
          ...settlement.recipients.map((profile) => change(profileTable, profile)),
          ...traded.map((day) => change(customerVolumeTable, day)),
        ],
        records: settlement.executions.map((execution) => addition(executionTable, execution)),
        journals: settlement.journals,
      });
    },
  };
}

function changeOf(order: Order, askedBy: Caller | undefined): StateChange {
  const changed = change(orderTable, order);
  return askedBy === undefined ? changed : { ...changed, requestedBy: askedBy };
}

const stale = (what: Stale["what"]) => reject<Stale>({ code: "stale", what });

/** The row as it is stored: the lane numbers on what it writes. */
const numbered = <Row extends { readonly seq: bigint }>(row: Row): Row => ({ ...row, seq: row.seq + 1n });

function unopened(market: MarketCode): MarketHead {
  return {
    market,
    fence: 0n,
    lastPrice: undefined,
    lastExecutionId: NO_EXECUTION,
    lastSequence: 0n,
    seq: 0n,
  };
}

/** The round's orders as they are stored; undefined when one is not as the book believes. */
function storedOrders(state: State, round: Round): Map<BookOrderId, Order> | undefined {
  const orders = new Map<BookOrderId, Order>();
  for (const [id, booked] of round.orders) {
    const order = state.get(orderTable, orderKey(booked.profileId, booked.id).key);
    if (order === undefined || order.seq !== booked.seq) return undefined;
    orders.set(id, order);
  }
  return orders;
}

/**
 * Every order holds what its fills ask for, so this can only fail on accounts that another lane has changed since this
 * one remembered them. Then the lane finds that out, reads them, and decides again.
 */
function areHeld(state: State, journals: readonly Journal[]): boolean {
  const left = new Map<string, bigint>();
  for (const { owner, asset, part, amount } of journals.flatMap(({ entries }) => entries)) {
    if (part !== "trading") continue;
    const { key } = accountKey(owner, asset);
    left.set(key, (left.get(key) ?? state.get(accountTable, key)?.trading ?? 0n) + amount);
  }
  return [...left.values()].every((amount) => amount >= 0n);
}

function recipientsOf(state: State, round: Round): Map<ProfileId, Profile> {
  const ids = closedOrders(round).flatMap((order) => incomingCountIn(order) ?? []);
  return new Map(ids.map((id) => [id, must(state.get(profileTable, id), "an order's recipient is there")]));
}

/** On which days its matches can be: on two when it is sent about midnight. */
function daysOf({ head }: Round, about: Instant): Day[] {
  // The times of a market's matches never step back: see `settle`.
  const last = executedAtOf(head.lastExecutionId);
  const [first, latest] = [Math.max(about - DECIDED_WITHIN_MS, last), Math.max(about, last) + DECIDED_WITHIN_MS];
  return [...new Set([dayOf(first as Instant), dayOf(latest as Instant)])];
}

/**
 * Only what the effects touch, so that an order that merely rests meets no other command on its accounts. A profile
 * that is paid is among the rows because an account may be opened for it: see `readKeys`.
 */
function restsOf(market: Market, round: Round, days: readonly Day[]): Key[] {
  const keys = [marketHeadKey(market.code), marketKey(market.code)];
  for (const { profileId, id } of round.orders.values()) keys.push(orderKey(profileId, id));
  const filled = filledOrders(round);
  for (const order of new Set([...closedOrders(round), ...filled])) {
    keys.push(accountKey(order.profileId, heldAsset(market, order)), profileKey(recipientOf(order)));
  }
  for (const order of filled) keys.push(accountKey(recipientOf(order), receivedAsset(market, order)));
  for (const customerId of new Set(filled.map((order) => order.customerId))) {
    for (const day of days) keys.push(customerVolumeKey({ customerId, day, market: market.code }));
  }
  return filled.length === 0 ? keys : [...keys, accountKey("fees", market.quote)];
}

function closedOrders({ effects, orders }: Round): BookedOrder[] {
  return effects.flatMap((effect) => (effect.kind === "closed" ? bookedOrder(orders, effect.order) : []));
}

function filledOrders({ effects, orders }: Round): BookedOrder[] {
  const ids = effects.flatMap((effect) => (effect.kind === "filled" ? [effect.taker, effect.maker] : []));
  return [...new Set(ids)].map((id) => bookedOrder(orders, id));
}

function bookedOrder(orders: Round["orders"], id: BookOrderId): BookedOrder {
  return must(orders.get(id), () => `order ${id} is among those of its round`);
}
