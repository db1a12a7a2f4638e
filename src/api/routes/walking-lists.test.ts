import { expect, test } from "vitest";
import { EXECUTION_ANNOTATIONS, ORDER_ANNOTATIONS } from "../../exchange/exchange.ts";
import { type AnnotationDescriptions, filteredAnnotations } from "../../ledger/annotations.ts";
import { TRANSFER_ANNOTATIONS } from "../../transfers/transfers.ts";
import type { Api } from "../server.ts";
import { conversionRoutes } from "./conversions.ts";
import { eventRoutes } from "./events.ts";
import { executionRoutes } from "./executions.ts";
import { candleRoutes } from "./markets/candles.ts";
import { historicalPriceRoutes } from "./markets/historical-prices.ts";
import { orderRoutes } from "./orders/orders.ts";
import { profileRoutes } from "./profiles.ts";
import { transferRoutes } from "./transfers.ts";
import { webhookRoutes } from "./webhooks/webhooks.ts";

interface Route {
  readonly config: { readonly walks?: (query: Readonly<Record<string, unknown>>) => boolean };
  readonly schema: { readonly querystring?: { readonly properties: object } };
}

const routes = new Map<string, Route>();
const noted = (url: string, route: Route) => routes.set(url, route);
const ignored = () => undefined;
const walks = (url: string, query: object) => routes.get(url)?.config.walks?.({ limit: 1, ...query });
const dialect = { add: ignored };
const api = { dialect, addHook: ignored, get: noted, post: ignored, put: ignored, delete: ignored } as unknown as Api;
orderRoutes(api, {} as never, {} as never);
profileRoutes(api, {} as never, {} as never);
transferRoutes(api, {} as never, {} as never);
conversionRoutes(api, {} as never, {} as never);
executionRoutes(api, {} as never, {} as never);
eventRoutes(api, {} as never);
candleRoutes(api, {} as never);
historicalPriceRoutes(api, {} as never);
webhookRoutes(api, {} as never, {} as never);

const [PROFILE, ORDERS, OF_PROFILE] = ["a profile", "/v2/orders", "/v2/profiles/:profile_id/orders"];
const [CANDLES, PRICES] = ["/v2/markets/:market/historical-candles", "/v2/markets/:market/historical-prices"];
const [TRANSFERS, EXECUTIONS] = ["/v2/transfer/transfers", "/v2/executions"];
const EXECUTIONS_OF_PROFILE = "/v2/profiles/:profile_id/executions";

type Case = readonly [url: string, query: object];

/** Each filter by an annotation, with its index alone or beside another filter. */
const byAnnotation = (url: string, described: AnnotationDescriptions, beside = {}): Case[] =>
  filteredAnnotations(described).map(({ filter }) => [url, { [filter.name]: ["a"], ...beside }]);

const WALKS: readonly Case[] = [
  ...byAnnotation(ORDERS, ORDER_ANNOTATIONS, { profile_id: PROFILE }),
  ...byAnnotation(OF_PROFILE, ORDER_ANNOTATIONS),
  ...byAnnotation(TRANSFERS, TRANSFER_ANNOTATIONS, { profile_ids: [PROFILE] }),
  ...byAnnotation(EXECUTIONS, EXECUTION_ANNOTATIONS, { profile_id: PROFILE }),
  ...byAnnotation(EXECUTIONS_OF_PROFILE, EXECUTION_ANNOTATIONS),
  [ORDERS, { market: "BTCUSD" }],
  [ORDERS, { status: "FILLED" }],
  [ORDERS, { status: "PENDING_SUBMISSION", market: "BTCUSD" }],
  // A customer may have a hundred thousand open orders.
  ...byAnnotation(ORDERS, ORDER_ANNOTATIONS, { status: "OPEN" }),
  [ORDERS, { status: "OPEN", market: "BTCUSD" }],
  [ORDERS, { status: "SUBMITTED", profile_id: PROFILE }],
  [OF_PROFILE, { status: "OPEN" }],
  [OF_PROFILE, { market: "BTCUSD" }],
  [TRANSFERS, { type: ["RTP_DEPOSIT"] }],
  [TRANSFERS, { identity_ids: ["i"], account_ids: ["a"] }],
  ["/v2/conversion/stablecoins", { status: "CANCELLED" }],
  ["/v2/conversion/stablecoins", { "updated_at.lt": "2026-01-01T00:00:00Z" }],
  ["/v2/events", { profile_id: PROFILE }],
  ["/v2/events", { type: ["order.filled"] }],
  ["/v2/events", { object_id: "o" }],
  // Of these as many may wait as connections are allowed, and each event wakes all of them.
  ["/v2/events", { "created_at.gte": "2099-01-01T00:00:00Z", wait_millis: 1 }],
  // Each data point is summed up from all of its executions.
  [CANDLES, { increment: "ONE_MINUTE", "range.begin": "2026-01-01T00:00:00Z" }],
  [CANDLES, { increment: "FOUR_WEEKS" }],
  [CANDLES, { max_data_points: 7 }],
  [PRICES, { increment: "ONE_MINUTE", "range.begin": "2026-01-01T00:00:00Z" }],
  [PRICES, { max_data_points: 7 }],
  ["/v2/webhooks", { statuses: ["ACTIVE"] }],
  ["/v2/profiles", { nickname: "n" }],
  ["/v2/profiles", { include_deactivated: true, nickname: "n" }],
];

const BY_INDEX: readonly Case[] = [
  ...byAnnotation(ORDERS, ORDER_ANNOTATIONS),
  ...byAnnotation(TRANSFERS, TRANSFER_ANNOTATIONS),
  ...byAnnotation(EXECUTIONS, EXECUTION_ANNOTATIONS),
  [ORDERS, {}],
  [ORDERS, { status: "OPEN", "order_time.begin": "2026-01-01T00:00:00Z" }],
  [ORDERS, { status: "OPEN", market: "BTCUSD", profile_id: PROFILE, ref_ids: ["r"] }],
  [ORDERS, { status: "SUBMITTED" }],
  [ORDERS, { profile_id: PROFILE, ref_ids: ["r"] }],
  [ORDERS, { "order_time.begin": "2026-01-01T00:00:00Z" }],
  [OF_PROFILE, {}],
  [OF_PROFILE, { ref_ids: ["r"] }],
  [OF_PROFILE, { "order_time.end": "2026-01-01T00:00:00Z" }],
  [OF_PROFILE, { status: "OPEN", ref_ids: ["r"] }],
  [TRANSFERS, { profile_ids: [PROFILE] }],
  [TRANSFERS, { account_ids: ["a"], statuses: ["PENDING"] }],
  [TRANSFERS, { ids: ["t"], group_ids: ["g"], ref_ids: ["r"], crypto_tx_hashes: ["0xa"] }],
  [TRANSFERS, { "created_at.gt": "2026-01-01T00:00:00Z" }],
  [TRANSFERS, { "updated_at.lt": "2026-01-01T00:00:00Z" }],
  // No transfer has one: the list is empty without a look.
  [TRANSFERS, { secondary_statuses: ["x"] }],
  ["/v2/conversion/stablecoins", { profile_id: PROFILE, ref_id: "r" }],
  ["/v2/conversion/stablecoins", { "created_at.lt": "2026-01-01T00:00:00Z" }],
  [EXECUTIONS, { profile_id: PROFILE, order_id: "o" }],
  [EXECUTIONS, { since_execution_id: "1" }],
  [EXECUTIONS, { "range.begin": "2026-01-01T00:00:00Z" }],
  [EXECUTIONS_OF_PROFILE, { order_id: "o", since_execution_id: "1" }],
  [EXECUTIONS_OF_PROFILE, { "range.begin": "2026-01-01T00:00:00Z" }],
  ["/v2/events", { after_number: 1, wait_millis: 1 }],
  ["/v2/profiles", {}],
  ["/v2/profiles", { include_deactivated: false, ids: ["p"] }],
  ["/v2/profiles", { include_deactivated: true, ids: ["p"] }],
  ["/v2/profiles", { include_deactivated: true, "created_at.gt": "2026-01-01T00:00:00Z" }],
  ["/v2/events", { "created_at.gt": "2026-01-01T00:00:00Z", is_test: "true" }],
];

test.each(WALKS)("%s with %j may walk through all records of its caller", (url, query) => {
  expect(walks(url, query)).toBe(true);
});

test.each(BY_INDEX)("%s with %j finds its records by an index", (url, query) => {
  expect(walks(url, query)).toBe(false);
});

/** What a list takes besides filters. */
const OPTIONS = ["order", "order_by", "limit", "page_cursor", "include_deactivated"];

test("each filter of these lists is in a case", () => {
  for (const [url, { schema }] of routes) {
    const { page_cursor: isList, ...inputs } = { page_cursor: undefined, ...schema.querystring?.properties };
    if (isList === undefined) continue;
    const isTried = (name: string): boolean => !OPTIONS.includes(name);
    const tried = [...WALKS, ...BY_INDEX].flatMap(([of, query]) =>
      of === url ? Object.keys(query).filter(isTried) : [],
    );
    const bases = (names: readonly string[]) => [...new Set(names.map((name) => name.replace(/\..*/, "")))].sort();
    const filters = bases(Object.keys(inputs)).filter((name) => !OPTIONS.includes(name));
    expect([url, bases(tried)]).toEqual([url, filters]);
  }
});
