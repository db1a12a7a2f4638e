/**
 * All markets of the maker: reads the state of its orders and makes the changes that each quoter returns. A failed pass may
 * leave orders with an unknown outcome, so open orders are searched by market after a failure and once a minute, and
 * surplus ones are cancelled.
 */
import type { Catalogue } from "../catalogue/catalogue.ts";
import { tierFor } from "../catalogue/fee-tiers.ts";
import type { Market } from "../catalogue/market.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import type { Customers } from "../customers/customers.ts";
import type { Profiles } from "../customers/profiles/profiles.ts";
import type { Exchange, Order, OrderFilter, OrderId, OrderRejection } from "../exchange/exchange.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import { readBalances } from "../ledger/balances.ts";
import type { Caller } from "../ledger/caller.ts";
import type { Claim, Outcome } from "../ledger/decision.ts";
import { type Amount, multiplyExact, plus, ZERO } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import { sandboxTransfer, type Transfers } from "../transfers/transfers.ts";
import { MarketQuoter } from "./market-quoter.ts";
import { DEPOSITS, QUOTED_MARKETS } from "./quoted-markets.ts";
import type { Changes, Quote } from "./quotes.ts";

/** For the log. */
export type MakerEvent =
  | { readonly kind: "order_rejected"; readonly market: string; readonly reason: string }
  | { readonly kind: "deposit_rejected"; readonly asset: string; readonly reason: string }
  | { readonly kind: "pass_failed"; readonly error: Error };

export interface MarketMakerParts {
  readonly database: Queryable;
  readonly catalogue: Catalogue;
  readonly customers: Customers;
  readonly profiles: Profiles;
  readonly transfers: Pick<Transfers, "recordExternal">;
  readonly exchange: Pick<Exchange, "place" | "cancel" | "listOrders">;
  /** Of the price walks. */
  readonly seed: string;
  readonly log: (event: MakerEvent) => void;
}

export const MAKER = "0a5e11e2-0000-8000-8000-000000000001" as CustomerId;
const NAME = "Sandbox market maker";
const CALLER: Caller = { house: "maker" };
const SEARCH_MS = 60_000;
/** Orders of one status on one market that a search takes over. */
const MAX_FOUND = 1_000;

/** The changes of a quoter, and its market in the catalogue. */
interface Plan extends Changes {
  readonly quoter: MarketQuoter;
  readonly market: Market;
}

/** Opens the quoters. Creates the maker's customer if it does not exist. */
export async function openMarketQuoters(parts: MarketMakerParts): Promise<MarketQuoters> {
  await parts.customers.ensure(MAKER, NAME, CALLER);
  return new MarketQuoters(parts, (await parts.profiles.getDefault(MAKER)).id);
}

export class MarketQuoters {
  readonly #parts: MarketMakerParts;
  readonly #profileId: ProfileId;
  readonly #quoters = new Map<string, MarketQuoter>();
  /** In ms of the monotonic clock. */
  #searchAt = 0;

  constructor(parts: MarketMakerParts, profileId: ProfileId) {
    this.#parts = parts;
    this.#profileId = profileId;
  }

  /** Makes one pass. "settled": there was nothing to do, and nothing is pending. */
  async pass(): Promise<"at_work" | "settled"> {
    try {
      await this.#observe();
      await this.#search();
      const plans = this.#plans();
      await this.#topUp(plans);
      await allOf(plans.map((plan) => this.#execute(plan)));
      const isSettled = plans.every(
        ({ quoter, place, cancel }) => place.length + cancel.length === 0 && quoter.isAtRest,
      );
      return isSettled ? "settled" : "at_work";
    } catch (error) {
      this.#searchAt = 0;
      throw error;
    }
  }

  /** Requests the cancellation of all orders. */
  async cancelAll(): Promise<void> {
    await this.#search();
    await allOf(this.#orders().map((order) => this.#cancel(order.id)));
  }

  #orders(): Order[] {
    return [...this.#quoters.values()].flatMap((quoter) => quoter.orders);
  }

  async #observe(): Promise<void> {
    const known = this.#orders().map(({ id }) => id);
    if (known.length === 0) return;
    const orders = await this.#list({ profileId: this.#profileId, ids: known, limit: known.length });
    const now = performance.now();
    for (const [market, quoter] of this.#quoters) {
      quoter.observe(
        orders.filter((order) => order.market === market),
        now,
      );
    }
  }

  /** Takes over all open orders, also those of earlier processes and of one that has lost the lease. */
  async #search(): Promise<void> {
    const { catalogue, seed } = this.#parts;
    const now = performance.now();
    if (now < this.#searchAt) return;
    for (const terms of QUOTED_MARKETS) {
      if (catalogue.findMarket(terms.market) === undefined) continue;
      let quoter = this.#quoters.get(terms.market);
      if (quoter === undefined) {
        const [newest] = await this.#list({ market: terms.market, limit: 1 });
        quoter = new MarketQuoter(terms, seed, newest);
        this.#quoters.set(terms.market, quoter);
      }
      // In the order of an order's life, so that none is missed when its status changes between two reads.
      for (const status of ["PENDING_SUBMISSION", "SUBMITTED", "OPEN"] as const) {
        for (const order of await this.#list({ market: terms.market, status, limit: MAX_FOUND })) quoter.add(order);
      }
    }
    this.#searchAt = now + SEARCH_MS;
  }

  #list(filter: Omit<OrderFilter, "customerId" | "order">): Promise<Order[]> {
    return this.#parts.exchange.listOrders({ customerId: MAKER, order: "DESC", ...filter });
  }

  #plans(): Plan[] {
    const { catalogue } = this.#parts;
    const now = performance.now();
    return [...this.#quoters].flatMap(([code, quoter]) => {
      const market = catalogue.findMarket(code);
      return market === undefined ? [] : [{ quoter, market, ...quoter.changes(market, now) }];
    });
  }

  /** Deposits assets of which the new orders need more than half of what is available. */
  async #topUp(plans: readonly Plan[]): Promise<void> {
    const needs = needsOf(plans);
    if (needs.size === 0) return;
    const balances = await readBalances(this.#parts.database, this.#profileId, [...needs.keys()]);
    for (const { asset, available } of balances) {
      if (available < 2n * (needs.get(asset) ?? ZERO)) await this.#deposit(asset);
    }
  }

  async #deposit(asset: AssetCode): Promise<void> {
    const { transfers, catalogue, log } = this.#parts;
    const amount = DEPOSITS.get(asset);
    if (amount === undefined) return;
    const profileId = this.#profileId;
    const details = sandboxTransfer({ profileId, asset: catalogue.findAsset(asset), amount });
    const deposit = { customerId: MAKER, profileId, asset, amount, direction: "CREDIT" as const, ...details };
    const outcome = await transfers.recordExternal(deposit, CALLER);
    if (outcome.kind === "rejected") log({ kind: "deposit_rejected", asset, reason: outcome.rejection.code });
  }

  async #execute({ quoter, market, cancel, place }: Plan): Promise<void> {
    const placing = allOf(place.map((quote) => this.#place(quoter, market, quote)));
    const cancelling = allOf(cancel.map((id) => this.#cancel(id).then(() => quoter.onCancelRequested(id))));
    await allOf<unknown>([placing, cancelling]);
    const placed = await placing;
    for (const outcome of placed) if (outcome.kind === "done") quoter.add(outcome.value);
    const rejected = placed.find((outcome) => outcome.kind === "rejected");
    if (rejected === undefined) return;
    quoter.onRejected(performance.now());
    this.#parts.log({ kind: "order_rejected", market: market.code, reason: rejected.rejection.code });
  }

  #place(
    quoter: MarketQuoter,
    market: Market,
    { side, price, amount }: Quote,
  ): Promise<Outcome<Order, OrderRejection, Claim>> {
    const order = {
      customerId: MAKER,
      profileId: this.#profileId,
      market: market.code,
      side,
      type: "LIMIT",
      timeInForce: "GTC",
      baseAmount: amount,
      price: { amount: price, isExact: true },
      annotations: { metadata: quoter.metadata },
    } as const;
    return this.#parts.exchange.place(order, CALLER);
  }

  /** Ignores a rejection: the order has closed, which the next pass finds. */
  async #cancel(id: OrderId): Promise<void> {
    await this.#parts.exchange.cancel(MAKER, this.#profileId, id, CALLER);
  }
}

/** The maximum that the orders will hold, by asset: at the commission of the lowest tier. */
function needsOf(plans: readonly Plan[]): Map<AssetCode, Amount> {
  const needs = new Map<AssetCode, Amount>();
  const add = (asset: AssetCode, amount: Amount) => needs.set(asset, plus(needs.get(asset) ?? ZERO, amount));
  for (const { market, place } of plans) {
    for (const { side, price, amount } of place) {
      const gross = multiplyExact(amount, price);
      if (side === "SELL") add(market.base, amount);
      else add(market.quote, plus(gross, multiplyExact(gross, tierFor(market.feeTiers, ZERO).takerRate)));
    }
  }
  return needs;
}

/** Waits for all work even if some fails: nothing is in flight when this returns or throws. */
async function allOf<Value>(work: readonly Promise<Value>[]): Promise<Value[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
