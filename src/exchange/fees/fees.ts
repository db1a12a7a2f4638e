/**
 * What a customer pays and is paid for trading: the rates that were agreed with him, else those of the tier that his
 * last 30 days have earned him. A day is one of UTC, today's included; volume counts on every market with the same
 * quote asset. See docs/decisions/0010-fees-by-volume.md.
 *
 * Placement asks here for every order, so what is known of a customer is kept for a few seconds. Nothing rests on it but
 * the rates of the orders that he places meanwhile.
 */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { type FeeRates, type FeeTier, tierFor } from "../../catalogue/fee-tiers.ts";
import { readAgreements } from "../../catalogue/fees/fee-schedule.ts";
import type { Market, MarketCode } from "../../catalogue/market.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { type Amount, plus, ZERO } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { Recent } from "../../std/recent.ts";
import { dayOf } from "../customer-volume.ts";
import { readGross } from "./store.ts";

/** What a customer pays on a market, and why. */
export interface MarketFees extends FeeRates {
  readonly market: MarketCode;
  readonly quote: AssetCode;
  /** Agreed rates hold whatever he trades. */
  readonly isAgreed: boolean;
  readonly thirtyDayGross: Amount;
  readonly tiers: readonly FeeTier[];
}

export interface CustomerFees {
  /** The beginning of the first day that is counted. */
  readonly since: Instant;
  /** In the order of the markets' codes. */
  readonly markets: readonly MarketFees[];
}

export interface FeesParts {
  readonly database: Queryable;
  readonly catalogue: Pick<Catalogue, "listMarkets" | "findMarket">;
  readonly clock: Clock;
}

/** What rates are made of. */
interface Standing {
  readonly since: Instant;
  readonly gross: ReadonlyMap<AssetCode, Amount>;
  readonly agreements: ReadonlyMap<MarketCode, FeeRates>;
}

const DAY_MS = 24 * 60 * 60_000;
const DAYS = 30;
/** How old may be what an order's rates rest on. */
const KEPT_MS = 3_000;
const MOST_CUSTOMERS = 10_000;

export class Fees {
  readonly #parts: FeesParts;
  readonly #known = new Recent<{ readonly at: Instant; readonly standing: Promise<Standing> }>(MOST_CUSTOMERS);

  constructor(parts: FeesParts) {
    this.#parts = parts;
  }

  /** As of a few seconds ago. */
  async ratesOf(customerId: CustomerId, market: Market): Promise<FeeRates> {
    const known = this.#known.get(customerId);
    const age = this.#parts.clock.now() - (known?.at ?? 0);
    const isFresh = age >= 0 && age < KEPT_MS;
    return ratesOn(market, await (known !== undefined && isFresh ? known.standing : this.#read(customerId)));
  }

  /** As of now. The next orders are placed on it too. */
  async feesOf(customerId: CustomerId): Promise<CustomerFees> {
    const standing = await this.#read(customerId);
    const markets = this.#parts.catalogue.listMarkets().map((market) => ({
      ...ratesOn(market, standing),
      market: market.code,
      quote: market.quote,
      isAgreed: standing.agreements.has(market.code),
      thirtyDayGross: grossIn(standing, market.quote),
      tiers: market.feeTiers,
    }));
    return { since: standing.since, markets };
  }

  /** Whoever asks meanwhile waits for the same answer. */
  #read(customerId: CustomerId): Promise<Standing> {
    const at = this.#parts.clock.now();
    const known = { at, standing: readStanding(this.#parts, customerId, at) };
    this.#known.set(customerId, known);
    known.standing.catch(() => {
      if (this.#known.get(customerId) === known) this.#known.delete(customerId);
    });
    return known.standing;
  }
}

async function readStanding(
  { database, catalogue }: FeesParts,
  customerId: CustomerId,
  at: Instant,
): Promise<Standing> {
  const since = (at - (at % DAY_MS) - (DAYS - 1) * DAY_MS) as Instant;
  const [agreements, traded] = await Promise.all([
    readAgreements(database, customerId),
    readGross(database, customerId, dayOf(since)),
  ]);
  const gross = new Map<AssetCode, Amount>();
  for (const { market, gross: more } of traded) {
    const quote = catalogue.findMarket(market)?.quote;
    // What was traded on a market that this process does not know yet counts as soon as it does.
    if (quote !== undefined) gross.set(quote, plus(gross.get(quote) ?? ZERO, more));
  }
  return { since, gross, agreements };
}

function ratesOn(market: Market, standing: Standing): FeeRates {
  const { takerRate, makerRebate } =
    standing.agreements.get(market.code) ?? tierFor(market.feeTiers, grossIn(standing, market.quote));
  return { takerRate, makerRebate };
}

function grossIn({ gross }: Standing, quote: AssetCode): Amount {
  return gross.get(quote) ?? ZERO;
}
