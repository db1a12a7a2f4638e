/**
 * A customer's fee rates: agreed rates, or those of the tier for its 30-day customer volume. Days are in UTC and include
 * today; volume counts across all markets with the same quote asset. See docs/decisions/0010-fees-by-volume.md.
 *
 * Every order needs its rates, so the basis of a customer's rates is cached for a few seconds. Only the rates of orders
 * that are placed in that time depend on the cache.
 */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { readSchedules, type Schedule } from "../../catalogue/fee-schedule/fee-schedule.ts";
import { type FeeRates, type FeeTier, tierFor } from "../../catalogue/fee-tiers.ts";
import type { Market, MarketCode } from "../../catalogue/market.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { type Amount, plus, ZERO } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { LruCache } from "../../std/lru-cache.ts";
import { SharedReads } from "../../std/shared-reads.ts";
import { dayOf } from "../customer-volume.ts";
import { readGross } from "./store.ts";

/** A customer's rates on a market, and why. */
export interface MarketFees extends FeeRates {
  readonly market: MarketCode;
  readonly quote: AssetCode;
  /** Agreed rates do not depend on volume. */
  readonly isAgreed: boolean;
  readonly thirtyDayGross: Amount;
  readonly tiers: readonly FeeTier[];
}

export interface CustomerFees {
  readonly since: Instant;
  /** In the order of the markets' codes. */
  readonly markets: readonly MarketFees[];
}

export interface FeesParts {
  readonly database: Queryable;
  readonly catalogue: Pick<Catalogue, "listMarkets" | "findMarket">;
  readonly clock: Clock;
}

/** What rates are computed from. */
interface FeeBasis {
  readonly since: Instant;
  readonly gross: ReadonlyMap<AssetCode, Amount>;
  readonly schedules: ReadonlyMap<MarketCode, Schedule>;
}

const DAY_MS = 24 * 60 * 60_000;
const DAYS = 30;
/** The maximum age of the basis of an order's rates. */
const KEPT_MS = 3_000;
const MOST_KNOWN = 10_000;

export class Fees {
  readonly #parts: FeesParts;
  /** By customer and market. */
  readonly #known = new LruCache<{ readonly at: Instant; readonly basis: Promise<FeeBasis> }>(MOST_KNOWN);
  readonly #lists = new SharedReads<CustomerId, CustomerFees>((customerId) => this.#list(customerId));

  constructor(parts: FeesParts) {
    this.#parts = parts;
  }

  /** May be a few seconds old. */
  async ratesOf(customerId: CustomerId, market: Market): Promise<FeeRates> {
    const known = this.#known.get(nameOf(customerId, market));
    const age = this.#parts.clock.now() - (known?.at ?? 0);
    const isFresh = age >= 0 && age < KEPT_MS;
    return ratesOn(market, await (known !== undefined && isFresh ? known.basis : this.#read(customerId, market)));
  }

  /** Current; also refreshes the cache. Callers at the same time share one object. */
  feesOf(customerId: CustomerId): Promise<CustomerFees> {
    return this.#lists.get(customerId);
  }

  async #list(customerId: CustomerId): Promise<CustomerFees> {
    const basis = await this.#read(customerId, undefined);
    const markets = this.#parts.catalogue.listMarkets().map((market) => {
      const { agreed, tiers } = scheduleOf(market, basis);
      return {
        ...ratesOn(market, basis),
        market: market.code,
        quote: market.quote,
        isAgreed: agreed !== undefined,
        thirtyDayGross: grossIn(basis, market.quote),
        tiers,
      };
    });
    return { since: basis.since, markets };
  }

  /**
   * Concurrent callers share one read.
   * @param market undefined: of all
   */
  #read(customerId: CustomerId, market: Market | undefined): Promise<FeeBasis> {
    const { clock, catalogue } = this.#parts;
    const at = clock.now();
    const known = { at, basis: readBasis(this.#parts, customerId, market, at) };
    const names = (market === undefined ? catalogue.listMarkets() : [market]).map((one) => nameOf(customerId, one));
    for (const name of names) this.#known.set(name, known);
    known.basis.catch(() => {
      for (const name of names) if (this.#known.get(name) === known) this.#known.delete(name);
    });
    return known.basis;
  }
}

const nameOf = (customerId: CustomerId, { code }: Market): string => `${customerId} ${code}`;

async function readBasis(
  { database, catalogue }: FeesParts,
  customerId: CustomerId,
  one: Market | undefined,
  at: Instant,
): Promise<FeeBasis> {
  const since = (at - (at % DAY_MS) - (DAYS - 1) * DAY_MS) as Instant;
  const [schedules, traded] = await Promise.all([
    readSchedules(database, customerId, one?.code),
    readGross(database, customerId, dayOf(since)),
  ]);
  const gross = new Map<AssetCode, Amount>();
  for (const { market, gross: more } of traded) {
    const quote = catalogue.findMarket(market)?.quote;
    // Volume on a market that this process does not know yet counts as soon as it does.
    if (quote !== undefined) gross.set(quote, plus(gross.get(quote) ?? ZERO, more));
  }
  return { since, gross, schedules };
}

function ratesOn(market: Market, basis: FeeBasis): FeeRates {
  const { agreed, tiers } = scheduleOf(market, basis);
  const { takerRate, makerRebate } = agreed ?? tierFor(tiers, grossIn(basis, market.quote));
  return { takerRate, makerRebate };
}

/** A market that was added since has no agreements. */
const scheduleOf = ({ code, feeTiers }: Market, { schedules }: FeeBasis): Schedule =>
  schedules.get(code) ?? { tiers: feeTiers, agreed: undefined };

function grossIn({ gross }: FeeBasis, quote: AssetCode): Amount {
  return gross.get(quote) ?? ZERO;
}
