/**
 * An engine's two commands. Each increments the version of the market's head, so the commands of a market form one
 * chain, whichever process sends them: a decision on an older head can never be committed.
 */
import type { Market, MarketCode } from "../../catalogue/market.ts";
import { activeProfileKey, type Profile, profileTable, recipientKey } from "../../customers/profiles/profiles.ts";
import { accountKey, accountTable, type Journal, type ProfileId } from "../../ledger/accounts.ts";
import type { Caller } from "../../ledger/caller.ts";
import { accept, type Command, type Rejection, type State } from "../../ledger/decision.ts";
import { addition, change, type Key, type StateChange } from "../../ledger/tables.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { reject } from "../../std/result.ts";
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
import { incomingCountIn, matchRound, type RoundEffects, timeOf } from "./round-changes.ts";
import { heldAsset, receivedAsset, recipientOf } from "./trade-money.ts";

/** Another engine has the market, with a higher fencing token. */
export interface Fenced extends Rejection {
  readonly code: "fenced";
}

/** A stored row does not match the book, which must be discarded. */
export interface Stale extends Rejection {
  readonly code: "stale";
  readonly what: "head" | "market" | "order" | "hold" | "day" | "expiry";
}

/** The identity and expected version of an order in the book. */
export interface BookedOrder extends Pick<Order, "id" | "profileId" | "customerId" | "recipientProfileId" | "side"> {
  readonly version: bigint;
}

/** A round that the book has executed, and the versions of the rows that it depends on. */
export interface Round extends RoundEffects {
  readonly head: Pick<MarketHead, "fence" | "version" | "lastExecutionId">;
  /** Undefined if no order was taken or rejected, so that the status does not matter. */
  readonly status: MarketState["status"] | undefined;
  readonly orders: ReadonlyMap<BookOrderId, BookedOrder>;
  /** The callers who requested cancels. */
  readonly requestedBy: ReadonlyMap<OrderId, Caller>;
}

/** A committed round's rows, with their new versions. */
export interface Committed {
  readonly head: MarketHead;
  readonly orders: readonly Order[];
  readonly executions: readonly Execution[];
}

/**
 * Takes over a market for the holder of its lease. After it has committed, no former engine can commit anything, nor can
 * this one's own commands with an unknown outcome; whatever is read afterwards stays valid.
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
      return accept(withNextVersion(taken), { states: [change(marketHeadTable, taken)] });
    },
  };
}

/**
 * How far a round may be decided from when it was sent. Its deadline bounds the delay to less than this; it may also be
 * decided earlier, if the clock is set back.
 */
const DECIDED_WITHIN_MS = 60_000;

/**
 * How long before now a round may be dated, because an order has expired since it was planned: after a failure it may be decided
 * ten seconds later, and who polls for executions looks back five (docs/contract/executions.md).
 */
const LATEST_MS = 2_000;

/** Postings, executions and changes in history, of a close at least. */
const ROWS_OF_AN_EFFECT = 3;

/**
 * Commits what the book has executed, if the stored rows still match the book.
 * @param about the time at which the round is sent
 */
export function commitRound(market: Market, round: Round, about: Instant): Command<Committed, Stale> {
  const days = daysOf(round, about);
  const dependsOn = dependenciesOf(market, round, days);
  return {
    queueKey: "house",
    caller: { house: "engine" },
    dependsOn,
    weight: dependsOn.length + ROWS_OF_AN_EFFECT * round.effects.length,
    decide: (state, now) => {
      const head = state.get(marketHeadTable, market.code);
      if (head === undefined || head.version !== round.head.version || head.fence !== round.head.fence)
        return stale("head");
      const status = state.get(marketTable, market.code)?.status;
      if (round.status !== undefined && round.status !== status) return stale("market");
      const orders = storedOrders(state, round);
      if (orders === undefined) return stale("order");
      const at = timeOf(round, orders, now);
      if (now - at > LATEST_MS) return stale("expiry");
      const matched = matchRound(market, round, { head, orders, recipients: recipientsOf(state, round) }, at);
      if (!areHeld(state, matched.journals)) return stale("hold");
      const traded = customerVolumes(state, market.code, matched.executions, days);
      if (traded === undefined) return stale("day");

      // From here the round must succeed.
      const committed: Committed = {
        head: withNextVersion(matched.head),
        orders: matched.orders.map(withNextVersion),
        executions: matched.executions,
      };
      return accept(committed, {
        states: [
          change(marketHeadTable, matched.head),
          ...matched.orders.map((order) => changeOf(order, round.requestedBy.get(order.id))),
          ...matched.recipients.map((profile) => change(profileTable, profile)),
          ...traded.map((day) => change(customerVolumeTable, day)),
        ],
        records: matched.executions.map((execution) => addition(executionTable, execution)),
        journals: matched.journals,
      });
    },
  };
}

function changeOf(order: Order, requestedBy: Caller | undefined): StateChange {
  const changed = change(orderTable, order);
  return requestedBy === undefined ? changed : { ...changed, requestedBy };
}

const stale = (what: Stale["what"]) => reject<Stale>({ code: "stale", what });

/** The row as the lane stores it. */
const withNextVersion = <Row extends { readonly version: bigint }>(row: Row): Row => ({
  ...row,
  version: row.version + 1n,
});

function unopened(market: MarketCode): MarketHead {
  return {
    market,
    fence: 0n,
    lastPrice: undefined,
    lastExecutionId: NO_EXECUTION,
    lastSequence: 0n,
    version: 0n,
  };
}

/** The round's stored orders; undefined if one does not match the book. */
function storedOrders(state: State, round: Round): Map<BookOrderId, Order> | undefined {
  const orders = new Map<BookOrderId, Order>();
  for (const [id, booked] of round.orders) {
    const order = state.get(orderTable, orderKey(booked.profileId, booked.id).key);
    if (order === undefined || order.version !== booked.version) return undefined;
    orders.set(id, order);
  }
  return orders;
}

/**
 * Every order holds what its fills need, so this can only fail on cached accounts that another lane has changed since. The
 * lane then detects that, reads them again, and decides again.
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

/** The possible days of its matches: two around midnight. */
function daysOf({ head }: Round, about: Instant): Day[] {
  // The times of a market's matches never decrease: see `matchRound`.
  const last = executedAtOf(head.lastExecutionId);
  const [first, latest] = [Math.max(about - DECIDED_WITHIN_MS, last), Math.max(about, last) + DECIDED_WITHIN_MS];
  return [...new Set([dayOf(first as Instant), dayOf(latest as Instant)])];
}

/**
 * Only what the effects touch, so that an order that merely rests does not contend for its accounts. Profiles that are
 * paid are included because an account may be opened for them: see `inLockOrder`.
 */
function dependenciesOf(market: Market, round: Round, days: readonly Day[]): Key[] {
  const keys: Key[] = [marketHeadKey(market.code), { ...marketKey(market.code), reads: "all of it" }];
  for (const { profileId, id } of round.orders.values()) keys.push(orderKey(profileId, id));
  const filled = filledOrders(round);
  const closed = new Set(closedOrders(round));
  for (const order of new Set([...closed, ...filled])) {
    const recipient = recipientOf(order);
    keys.push(accountKey(order.profileId, heldAsset(market, order)));
    keys.push(closed.has(order) ? recipientKey(order.profileId, recipient) : activeProfileKey(recipient));
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
