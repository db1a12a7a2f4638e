import type { MarketCode } from "../../catalogue/market.ts";
import type { Queryable } from "../../postgres/database.ts";
import { LEASE_MS, LEASE_SLACK_MS } from "../../postgres/leases.ts";
import type { MarketState } from "../market-state.ts";

/** How a market is served, by any process. */
export interface EngineLag {
  readonly market: MarketCode;
  readonly status: MarketState["status"];
  /** The process that has the lease of its engine, if any. */
  readonly holder: string | undefined;
  /** How long its oldest pending order and cancel have waited for an engine; 0 when there is none. */
  readonly orderLagMs: number;
  readonly cancelLagMs: number;
}

interface Row extends Pick<EngineLag, "market" | "status"> {
  readonly holder: string | null;
  readonly order_lag: number | null;
  readonly cancel_lag: number | null;
}

/** All markets of the catalogue. Three index probes per market. */
export async function readEngineLags(database: Queryable): Promise<EngineLag[]> {
  const rows = await database.rows<Row>(
    `select m.code as market, m.status, l.holder,
            (extract(epoch from clock_timestamp() - o.created_at) * 1000)::float8 as order_lag,
            (extract(epoch from clock_timestamp() - c.requested_at) * 1000)::float8 as cancel_lag
       from market m
       left join lease l on l.name = 'market/' || m.code and l.expires_at > clock_timestamp()
            and l.expires_at <= clock_timestamp() + $1 * interval '1 millisecond'
       left join lateral (select created_at from pending_order
                           where market = m.code order by id limit 1) o on true
       left join lateral (select requested_at from order_cancel
                           where market = m.code order by requested_at limit 1) c on true
      order by m.code`,
    [LEASE_MS + LEASE_SLACK_MS],
  );
  return rows.map(({ market, status, holder, order_lag, cancel_lag }) => ({
    market,
    status,
    holder: holder ?? undefined,
    orderLagMs: Math.max(0, order_lag ?? 0),
    cancelLagMs: Math.max(0, cancel_lag ?? 0),
  }));
}
