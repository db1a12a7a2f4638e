/**
 * Who is let in at all (docs/contract/tokens.md, requests.md#order-of-checks): every operation of the document, without
 * a token, with one of nobody's, and with every scope but its own.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Api } from "../../src/api/api.ts";
import { SCOPES, type Scope } from "../../src/oauth/scopes.ts";
import { DEFAULT_RATES, type RateClass } from "../../src/web/limits/rates.ts";
import { expectBooksBalance } from "../support/books.ts";
import { digestOfTables } from "../support/effects.ts";
import { addressOf, bodyOf, type Operation, readDocument } from "../support/openapi.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { makerOf, type Owner, ownerOfEverything } from "./belongings.ts";
import { SAMPLES } from "./inputs.ts";

let service: TestService;
let operations: readonly Operation[];
let acme: Owner;
let api: Api;
beforeAll(async () => {
  // Every class has another rate, by which it is known; otherwise as they are by default.
  const rateLimits = { ...DEFAULT_RATES, recent_executions: 20 };
  service = await startTestService({ settlementDelayMs: 86_400_000, rateLimits }, undefined, (made) => {
    api = made;
  });
  operations = (await readDocument(service)).operations;
  acme = await ownerOfEverything(service, "acme", await makerOf(service));
});
afterAll(() => service.close());

/**
 * Which scope an operation needs, and at which rate it is limited, as docs/contract.md#operations has
 * it. Written by hand: the document of the service follows its code.
 */
const CONTRACT: Readonly<Record<string, readonly [scope: Scope | "public", rate: RateClass]>> = {
  issueToken: ["public", "token"],
  createPlatformTransfer: ["transfer:write_platform_transfer", "rest"],
  createInternalTransfer: ["transfer:write_internal_transfer", "rest"],
  createPlatformTransfers: ["transfer:write_platform_transfer", "rest"],
  createInternalTransfers: ["transfer:write_internal_transfer", "rest"],
  getTransfer: ["transfer:read_transfer", "rest"],
  listTransfers: ["transfer:read_transfer", "rest"],
  createStablecoinConversion: ["conversion:write_conversion_stablecoin", "rest"],
  cancelStablecoinConversion: ["conversion:write_conversion_stablecoin", "rest"],
  getStablecoinConversion: ["conversion:read_conversion_stablecoin", "rest"],
  listStablecoinConversions: ["conversion:read_conversion_stablecoin", "rest"],
  listApiCredentials: ["api_creds:read_credentials", "rest"],
  deleteApiCredentials: ["api_creds:delete_credentials", "rest"],
  createProfile: ["funding:write_profile", "rest"],
  updateProfile: ["funding:write_profile", "rest"],
  deactivateProfile: ["funding:write_profile", "rest"],
  getProfile: ["funding:read_profile", "rest"],
  listProfiles: ["funding:read_profile", "rest"],
  getBalance: ["funding:read_profile", "rest"],
  listBalances: ["funding:read_profile", "rest"],
  createSandboxDeposit: ["funding:read_profile", "rest"],
  placeOrder: ["exchange:write_order", "rest"],
  cancelOrder: ["exchange:write_order", "rest"],
  getOrder: ["exchange:read_order", "rest"],
  listOrders: ["exchange:read_order", "rest"],
  listProfileOrders: ["exchange:read_order", "rest"],
  listExecutions: ["exchange:read_order", "rest"],
  listProfileExecutions: ["exchange:read_order", "rest"],
  listFees: ["exchange:read_order", "rest"],
  listEvents: ["events:read_event", "rest"],
  getEvent: ["events:read_event", "rest"],
  createWebhook: ["webhooks:write_webhook", "rest"],
  listWebhooks: ["webhooks:read_webhook", "rest"],
  getWebhook: ["webhooks:read_webhook", "rest"],
  updateWebhook: ["webhooks:write_webhook", "rest"],
  deleteWebhook: ["webhooks:write_webhook", "rest"],
  rotateWebhookSecret: ["webhooks:write_webhook", "rest"],
  disableWebhook: ["webhooks:write_webhook", "rest"],
  enableWebhook: ["webhooks:write_webhook", "rest"],
  testWebhook: ["webhooks:write_webhook", "rest"],
  replayWebhook: ["webhooks:write_webhook", "rest"],
  listWebhookAttempts: ["webhooks:read_webhook", "rest"],
  listWebhookPublicKeys: ["public", "rest"],
  listHistoricalCandles: ["exchange:historical_prices", "rest"],
  listHistoricalPrices: ["exchange:historical_prices", "rest"],
  listMarkets: ["public", "rest"],
  listPrices: ["public", "rest"],
  getTicker: ["public", "rest"],
  getOrderBook: ["public", "order_book"],
  listRecentExecutions: ["public", "recent_executions"],
};
/** Requests at once at each rate, which are 300 seconds of it. */
const BURSTS: Readonly<Record<RateClass, string>> = {
  token: "300",
  order_book: "3000",
  recent_executions: "6000",
  rest: "15000",
};
/** What has no place in the document, and tells nothing of anybody; but a stream of events, which test/events guards. */
const UNDOCUMENTED = [
  ...[
    "/docs",
    "/docs/",
    "/docs/favicon-32x32.png",
    "/docs/initializer.js",
    "/docs/swagger-ui-bundle.js",
    "/docs/swagger-ui.css",
  ],
  ...[
    "/",
    "/executiondata",
    "/executiondata/{}",
    "/marketdata",
    "/marketdata/{}",
    "/v2/events/stream",
    "/healthz",
    "/openapi.json",
    "/problems/{}",
    "/readyz",
  ],
];

const guarded = () => operations.filter(({ scopes }) => scopes.length > 0);

function call(operation: Operation, headers: Readonly<Record<string, string>>) {
  const sample = SAMPLES[operation.operationId]?.(acme.has) ?? {};
  const body = bodyOf(sample);
  return service.call(operation.method, addressOf(operation, sample), { ...(body && { body }), headers });
}

test("each operation needs the scope that the contract has for it, and no other is there", () => {
  const scopes = operations.map((operation) => [operation.operationId, operation.scopes.join(" ") || "public"]);
  expect(Object.fromEntries(scopes)).toEqual(
    Object.fromEntries(Object.entries(CONTRACT).map(([operationId, [scope]]) => [operationId, scope])),
  );
});

test("each operation is limited at the rate of the contract, also when it is rejected", async () => {
  const bursts: Record<string, string | null> = {};
  const note = ({ operationId }: Pick<Operation, "operationId">, headers: Headers): void => {
    bursts[operationId] = headers.get("ratelimit-limit");
  };
  const authorization = `Bearer ${await service.token(acme, "transfer:read_fiat_account")}`;
  for (const operation of guarded()) note(operation, (await call(operation, { authorization })).headers);
  for (const operation of operations.filter(({ scopes, method }) => scopes.length === 0 && method === "GET"))
    note(
      operation,
      (await service.call("GET", addressOf(operation, { path: { market: "BTCUSD", id: acme.has.webhook } }))).headers,
    );
  note({ operationId: "issueToken" }, (await fetch(`${service.authUrl}/oauth2/token`, { method: "POST" })).headers);
  expect(bursts).toEqual(
    Object.fromEntries(Object.entries(CONTRACT).map(([operationId, [, rate]]) => [operationId, BURSTS[rate]])),
  );
});

test("every route of the service is in the document or named here", () => {
  const documented = operations.map(({ path }) => path.replace(/\{[^}]+\}/g, "{}"));
  const unknown = routesOf(api).filter((path) => !documented.includes(path) && !UNDOCUMENTED.includes(path));
  expect(routesOf(api)).toEqual(expect.arrayContaining(["/v2/transfer/platform", ...UNDOCUMENTED]));
  expect(unknown).toEqual([]);
});

/** The paths that the router knows, a parameter as {}. It prints them as a tree, four characters to a level. */
function routesOf(router: Pick<Api, "printRoutes">): string[] {
  const above: string[] = [];
  const paths = router
    .printRoutes({ commonPrefix: false })
    .split("\n")
    .flatMap((line) => {
      const [, indent = "", segment = "", methods] = /^([│├└─ ]*)(\S+)(?: \((.*)\))?$/.exec(line) ?? [];
      const depth = indent.length / 4;
      above.splice(depth - 1, Number.POSITIVE_INFINITY, segment);
      return methods === undefined ? [] : [above.join("").replace(/:[^/]+/g, "{}")];
    });
  return [...new Set(paths)].toSorted();
}

test.each([
  ["no token", {}, undefined],
  ["an empty header", { authorization: "" }, undefined],
  ["a scheme without a token", { authorization: "Bearer" }, undefined],
  ["another scheme", { authorization: "Basic YWNtZTphY21l" }, undefined],
  ["a token of nobody's", { authorization: "Bearer e30.e30.e30" }, "invalid_token"],
  ["two tokens", { authorization: "Bearer a, Bearer b" }, "invalid_token"],
  ["a token of 60,000 characters", { authorization: `Bearer ${"x".repeat(60_000)}` }, "invalid_token"],
] as const)(
  "with %s every operation that is not public answers 401, without an effect",
  async (_what, headers, error) => {
    const before = await digestOfTables(service.db.owner);
    for (const operation of guarded()) {
      const { status, body, headers: received } = await call(operation, { ...headers });
      const challenge = received.get("www-authenticate") ?? "";
      expect([operation.operationId, status, body.status]).toEqual([operation.operationId, 401, 401]);
      expect(challenge).toMatch(/^Bearer realm="parbook"/);
      expect(/error="([a-z_]+)"/.exec(challenge)?.[1]).toBe(error);
    }
    expect(await digestOfTables(service.db.owner)).toEqual(before);
  },
);

test("without its scope an operation answers 403 that names it, without an effect", async () => {
  const before = await digestOfTables(service.db.owner);
  for (const [scope, guardedByIt] of byScope()) {
    const others = Object.keys(SCOPES).filter((name) => name !== scope);
    const authorization = `Bearer ${await service.token(acme, others.join(" "))}`;
    for (const operation of guardedByIt) {
      const { status, body, headers } = await call(operation, { authorization });
      expect([operation.operationId, operation.scopes]).toEqual([operation.operationId, [scope]]);
      expect({ status, body }).toEqual({
        status: 403,
        body: {
          type: "about:blank",
          title: "Forbidden",
          status: 403,
          detail: `insufficient scopes: found '${others.join(" ")}', required one of '[${scope}]'`,
          meta: { required: [scope], granted: others },
          request_id: headers.get("x-request-id"),
        },
      });
      expect(headers.get("www-authenticate")).toContain(`error="insufficient_scope"`);
    }
  }
  expect(await digestOfTables(service.db.owner)).toEqual(before);
});

test("its scope alone is enough for an operation", async () => {
  for (const [scope, guardedByIt] of byScope()) {
    const authorization = `Bearer ${await service.token(acme, scope)}`;
    for (const operation of guardedByIt) {
      const { status } = await call(operation, { authorization });
      expect([operation.operationId, status]).toEqual([operation.operationId, 200]);
    }
  }
  await expectBooksBalance(service.db.owner);
});

function byScope(): Map<string, Operation[]> {
  const scopes = new Set(guarded().flatMap((operation) => operation.scopes));
  return new Map([...scopes].map((scope) => [scope, guarded().filter((one) => one.scopes.includes(scope))]));
}
