/** Registers all resource routes of the API. */

import type { Api } from "../api/api.ts";
import { eventStreamRoute } from "../api/event-streams/event-stream.ts";
import { type MostWaiting, Waiters } from "../api/event-streams/waiters.ts";
import { balanceRoutes } from "../api/routes/balances.ts";
import { bulkTransferRoutes } from "../api/routes/bulk/bulk-transfers.ts";
import { clientRoutes } from "../api/routes/clients.ts";
import { conversionRoutes } from "../api/routes/conversions.ts";
import { eventRoutes } from "../api/routes/events.ts";
import { executionRoutes } from "../api/routes/executions.ts";
import { feeRoutes } from "../api/routes/markets/fees.ts";
import { marketDataRoutes } from "../api/routes/markets/market-data.ts";
import { marketRoutes } from "../api/routes/markets/markets.ts";
import { orderRoutes } from "../api/routes/orders/orders.ts";
import { profileRoutes } from "../api/routes/profiles.ts";
import { sandboxRoutes } from "../api/routes/sandbox.ts";
import { transferRoutes } from "../api/routes/transfers.ts";
import { webhookRoutes } from "../api/routes/webhooks/webhooks.ts";
import { type FeedEvent, feedRoutes } from "../api/websocket-feeds/feeds.ts";
import type { MarketCode } from "../catalogue/market.ts";
import type { Conversions } from "../conversions/conversions.ts";
import type { Events } from "../events/events.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { readBalances } from "../ledger/balances.ts";
import { type AssetCode, USD } from "../money/asset.ts";
import type { Transfers } from "../transfers/transfers.ts";
import type { Deliveries } from "../webhooks/deliveries.ts";
import type { Config } from "./config/config.ts";
import type { Core } from "./core.ts";

/** Requests that wait for events. Beyond it, requests do not wait. */
const MOST_WAITING: MostWaiting = { all: 1_000, ofCustomer: 250, ofClient: 125, ofAddress: 250 };

export interface Domain {
  readonly transfers: Transfers;
  readonly conversions: Conversions;
  readonly exchange: Exchange;
  readonly events: Events;
  readonly deliveries: Deliveries;
}

export function addApiRoutes(
  api: Api,
  config: Config,
  core: Core,
  { transfers, conversions, exchange, events, deliveries }: Domain,
  onFeed?: (event: FeedEvent) => void,
): void {
  const { database, profiles, clients, webhooks, catalogue, clock } = core;
  profileRoutes(api, profiles, transfers);
  clientRoutes(api, clients);
  balanceRoutes(api, {
    profiles,
    catalogue,
    // A time in the future means the current balance.
    readBalances: (profileId, assets, at) =>
      readBalances(database, profileId, assets, at !== undefined && at < clock.now() ? at : undefined),
  });
  transferRoutes(api, transfers, profiles);
  bulkTransferRoutes(api, transfers);
  conversionRoutes(api, conversions, profiles);
  if (config.mode === "sandbox") {
    const lastPrice = (asset: AssetCode) => exchange.lastPrice(`${asset}${USD}` as MarketCode);
    sandboxRoutes(api, { profiles, transfers, catalogue, lastPrice });
  }
  orderRoutes(api, exchange, profiles);
  const shared = { events, deliveries, exchange, isTest: config.mode === "sandbox" };
  eventRoutes(api, { ...shared, waiters: new Waiters(MOST_WAITING) });
  // A quarter of the connections; a quarter is left for requests.
  eventStreamRoute(api, {
    ...shared,
    bounds: { most: { ...MOST_WAITING, all: Math.ceil(config.maxConnections / 4) } },
  });
  webhookRoutes(api, webhooks, deliveries);
  executionRoutes(api, exchange, profiles);
  marketRoutes(api, exchange);
  feeRoutes(api, exchange);
  marketDataRoutes(api, exchange);
  // Half of the connections.
  feedRoutes(api, exchange, { mostReaders: Math.ceil(config.maxConnections / 2) }, onFeed);
}
