import { expect, test } from "vitest";
import type { Api } from "../server.ts";
import { conversionRoutes } from "./conversions.ts";
import { eventRoutes } from "./events.ts";
import { candleRoutes } from "./markets/candles.ts";
import { orderRoutes } from "./orders/orders.ts";
import { transferRoutes } from "./transfers.ts";

type Walks = (query: Readonly<Record<string, unknown>>) => boolean;

const walks = new Map<string, Walks | undefined>();
const noted = (url: string, { config }: { readonly config: { readonly walks?: Walks } }) =>
  walks.set(url, config.walks);
const ignored = () => undefined;
const api = { get: noted, post: ignored, put: ignored, delete: ignored } as unknown as Api;
orderRoutes(api, {} as never, {} as never);
transferRoutes(api, {} as never, {} as never);
conversionRoutes(api, {} as never, {} as never);

eventRoutes(api, {} as never);
candleRoutes(api, {} as never);

const [PROFILE, ORDERS, OF_PROFILE] = ["a profile", "/v2/orders", "/v2/profiles/:profile_id/orders"];
const CANDLES = "/v2/markets/:market/historical-candles";

test.each([
  [ORDERS, { market: "BTCUSD" }],
  [ORDERS, { status: "FILLED" }],
  [ORDERS, { status: "PENDING_SUBMISSION", market: "BTCUSD" }],
  [ORDERS, { account_id: "a", profile_id: PROFILE }],
  [OF_PROFILE, { market: "BTCUSD" }],
  [OF_PROFILE, { account_id: "a" }],
  ["/v2/transfer/transfers", { type: ["RTP_DEPOSIT"] }],
  ["/v2/transfer/transfers", { profile_ids: [PROFILE], account_ids: ["a"] }],
  ["/v2/transfer/transfers", { identity_ids: ["i"], account_ids: ["a"] }],
  ["/v2/conversion/stablecoins", { status: "CANCELLED" }],
  ["/v2/conversion/stablecoins", { "updated_at.lt": "2026-01-01T00:00:00Z" }],
  ["/v2/events", { profile_id: PROFILE }],
  ["/v2/events", { type: ["order.filled"] }],
  [CANDLES, { increment: "ONE_HOUR" }],
  [CANDLES, { increment: "FOUR_WEEKS" }],
])("%s with %j may walk through all records of its caller", (url, query) => {
  expect(walks.get(url)?.({ limit: 1, ...query })).toBe(true);
});

test.each([
  [ORDERS, {}],
  [ORDERS, { status: "OPEN", market: "BTCUSD", profile_id: PROFILE }],
  [ORDERS, { status: "SUBMITTED" }],
  [ORDERS, { profile_id: PROFILE, ref_ids: ["r"] }],
  [OF_PROFILE, {}],
  [OF_PROFILE, { status: "OPEN" }],
  ["/v2/transfer/transfers", { profile_ids: [PROFILE] }],
  ["/v2/transfer/transfers", { account_ids: ["a"], statuses: ["PENDING"] }],
  ["/v2/conversion/stablecoins", { profile_id: PROFILE, ref_id: "r" }],
  ["/v2/events", { after_number: 1 }],
  [CANDLES, { increment: "THIRTY_MINUTES" }],
])("%s with %j finds its records by an index", (url, query) => {
  expect(walks.get(url)?.({ limit: 1, ...query })).toBe(false);
});
