/** Markets with their current status and last price. */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Market, MarketCode } from "../../catalogue/market.ts";
import { type Amount, amountOf } from "../../money/amount.ts";
import type { Queryable } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import type { MarketState } from "../market-state.ts";

export interface MarketListing {
  readonly market: Market;
  readonly status: MarketState["status"];
  /** When it was last halted or resumed; undefined if never. */
  readonly statusSince: Instant | undefined;
}

/** Sorted by code. The status is read from the database, never cached. */
export async function listMarkets(database: Queryable, catalogue: Catalogue): Promise<MarketListing[]> {
  const rows = await database.rows<{ code: MarketCode; status: MarketState["status"]; since: Instant | null }>(
    `select m.code, m.status, b.at as since from market m left join batch b on b.slot = m.slot and b.n = m.batch
      order by m.code`,
  );
  await catalogue.learnMarkets(rows.map(({ code }) => code));
  return rows.map(({ code, status, since }) => {
    const market = must(catalogue.findMarket(code), "markets are never removed from the catalogue");
    return { market, status, statusSince: since ?? undefined };
  });
}

/** The price of the market's last execution; undefined before the first. */
export async function findLastPrice(database: Queryable, market: MarketCode): Promise<Amount | undefined> {
  const [row] = await database.rows<{ last_price: string | null }>(
    "select last_price from market_head where market = $1",
    [market],
  );
  return row === undefined || row.last_price === null ? undefined : amountOf(row.last_price);
}
