/**
 * Which of two errors a caller gets (docs/contract/requests.md#order-of-checks): 401, 403 scope, 400 shape, 409
 * ref_id, 404, then what depends on state. One test per neighbouring pair, and who may call what.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { expectProblem } from "../support/problems.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";

const UNKNOWN = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
const ANY_OTHER = "events:read_event";

let service: TestService;
let acme: TestCustomer;
let profile: string;
let second: string;
/** A token of the same customer that opens none of the doors here. */
let useless: string;
beforeAll(async () => {
  service = await startTestService({ settlementDelayMs: 3_600_000 });
  acme = await service.customer();
  useless = await service.token(acme, ANY_OTHER);
  [profile, second] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const OPERATIONS = [
  ["POST", "/v2/profiles", "funding:write_profile"],
  ["GET", "/v2/profiles", "funding:read_profile"],
  ["GET", "/v2/profiles/default", "funding:read_profile"],
  ["PUT", "/v2/profiles/default", "funding:write_profile"],
  ["PUT", "/v2/profiles/default/deactivate", "funding:write_profile"],
  ["GET", "/v2/profiles/default/balances", "funding:read_profile"],
  ["GET", "/v2/profiles/default/balances/USD", "funding:read_profile"],
  ["POST", "/v2/sandbox/profiles/default/deposit", "funding:read_profile"],
  ["POST", "/v2/transfer/platform", "transfer:write_platform_transfer"],
  ["POST", "/v2/transfer/internal", "transfer:write_internal_transfer"],
  ["POST", "/v2/transfer/platform/bulk", "transfer:write_platform_transfer"],
  ["POST", "/v2/transfer/internal/bulk", "transfer:write_internal_transfer"],
  ["GET", "/v2/transfer/transfers", "transfer:read_transfer"],
  ["GET", `/v2/transfer/transfers/${UNKNOWN}`, "transfer:read_transfer"],
  ["POST", "/v2/conversion/stablecoins", "conversion:write_conversion_stablecoin"],
  ["GET", "/v2/conversion/stablecoins", "conversion:read_conversion_stablecoin"],
  ["GET", `/v2/conversion/stablecoins/${UNKNOWN}`, "conversion:read_conversion_stablecoin"],
  ["DELETE", `/v2/conversion/stablecoins/${UNKNOWN}`, "conversion:write_conversion_stablecoin"],
  ["POST", "/v2/profiles/default/orders", "exchange:write_order"],
  ["GET", "/v2/profiles/default/orders", "exchange:read_order"],
  ["GET", `/v2/profiles/default/orders/${UNKNOWN}`, "exchange:read_order"],
  ["DELETE", `/v2/profiles/default/orders/${UNKNOWN}`, "exchange:write_order"],
  ["GET", "/v2/orders", "exchange:read_order"],
  ["GET", "/v2/executions", "exchange:read_order"],
  ["GET", "/v2/profiles/default/executions", "exchange:read_order"],
] as const;

describe.each(OPERATIONS)("%s %s", (method, path, scope) => {
  test("returns 401 without a token or with a bad one", async () => {
    const without = await service.call(method, path);
    expectProblem(without, {
      status: 401,
      detail: "the access token is missing: send Authorization: Bearer <token>",
    });
    expect(without.headers.get("www-authenticate")).toBe('Bearer realm="parbook"');
    const bad = await service.call(method, path, { as: `${acme.token}x` });
    expectProblem(bad, {
      status: 401,
      detail: "the access token is malformed, expired, revoked or not valid from this address",
    });
    expect(bad.headers.get("www-authenticate")).toContain('error="invalid_token"');
  });

  test(`asks for ${scope} and nothing else`, async () => {
    const rejected = await service.call(method, path, { as: useless });
    expectProblem(rejected, {
      status: 403,
      detail: `insufficient scopes: found '${ANY_OTHER}', required one of '[${scope}]'`,
      meta: { required: [scope], granted: [ANY_OTHER] },
    });
    expect(rejected.headers.get("www-authenticate")).toContain(`scope="${scope}"`);
    const allowed = await service.call(method, path, { as: await service.token(acme, scope) });
    expect(allowed.headers.get("www-authenticate")).toBeNull();
    expect([401, 405, 500]).not.toContain(allowed.status);
  });

  test("is in the document with its scope, its problems and its examples", async () => {
    const { paths } = (await service.call("GET", "/openapi.json")).body;
    const template = path
      .replace(/default(?=.(orders|executions))/, "{profile_id}")
      .replace("default", "{id}")
      .replace("USD", "{asset}")
      .replace(UNKNOWN, "{id}");
    const operation = paths[template][method.toLowerCase()];
    expect(operation.security).toEqual([{ oauth2: [scope] }]);
    expect([operation.operationId, operation.summary, operation.description].every(Boolean)).toBe(true);
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["200", "401", "403", "503"]));
    for (const [status, { content }] of Object.entries<{ content: Record<string, { examples?: object }> }>(
      operation.responses,
    )) {
      // Those two cannot be provoked, so no example was recorded.
      if (["200", "500", "503"].includes(status)) continue;
      expect(Object.keys(content["application/problem+json"]?.examples ?? {})).not.toEqual([]);
    }
  });
});

type Reason = 401 | 403 | 400 | 409 | 404 | "state";

interface Door {
  readonly post: (as: string | undefined, body: object) => Promise<Answer>;
  readonly good: () => object;
  /** Makes a body wrong in one way. */
  readonly wrong: Readonly<Record<400 | 409 | 404 | "state", object>>;
}

const doors: Readonly<Record<string, Door>> = {
  transfer: {
    post: (as, body) => service.call("POST", "/v2/transfer/internal", { ...(as && { as }), body }),
    good: () => ({ from_profile_id: profile, to_profile_id: second, amount: "1", asset: "USD" }),
    wrong: {
      400: { colour: "red" },
      409: { ref_id: "taken" },
      404: { to_profile_id: UNKNOWN },
      state: { amount: "1000" },
    },
  },
  conversion: {
    post: (as, body) => service.call("POST", "/v2/conversion/stablecoins", { ...(as && { as }), body }),
    good: () => ({ profile_id: profile, amount: "1", source_asset: "USD", target_asset: "USDG" }),
    wrong: {
      400: { colour: "red" },
      409: { ref_id: "taken" },
      404: { recipient_profile_id: UNKNOWN },
      state: { source_asset: "BTC" },
    },
  },
  "limit order": {
    post: (as, body) => service.call("POST", `/v2/profiles/${profile}/orders`, { ...(as && { as }), body }),
    good: () => ({ side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.0001", price: "10000" }),
    wrong: {
      400: { colour: "red" },
      409: { ref_id: "taken" },
      404: { recipient_profile_id: UNKNOWN },
      state: { price: "10000.1" },
    },
  },
};

const NEIGHBOURS: readonly (readonly [Reason, Reason])[] = [
  [401, 403],
  [403, 400],
  [400, 409],
  [409, 404],
  [404, "state"],
];

describe.each(Object.entries(doors))("a %s", (_name, { post, good, wrong }) => {
  beforeAll(async () => {
    expect((await post(acme.token, { ...good(), ref_id: "taken" })).status).toBe(200);
  });

  test.each(NEIGHBOURS)("returns %s before %s", async (first, then) => {
    const reasons: readonly Reason[] = [first, then];
    const token = reasons.includes(401) ? undefined : reasons.includes(403) ? useless : acme.token;
    const faults = ([400, 409, 404, "state"] as const).filter((reason) => reasons.includes(reason));
    const body = Object.assign({}, good(), ...faults.map((reason) => wrong[reason]));
    const answer = await post(token, body);
    expect(answer.status).toBe(first);
    expect(answer.body.type.endsWith("/already-exists")).toBe(first === 409);
  });

  test("returns errors that depend on state only if nothing else is wrong", async () => {
    const answer = await post(acme.token, { ...good(), ...wrong.state });
    expect([400, 403]).toContain(answer.status);
    expect(answer.body.detail).toMatch(/^profile .* has .* available|converts? to|is not a multiple of/);
  });
});

test("a nickname: 400, then 409, then 404", async () => {
  const taken = { nickname: "taken" };
  const post = (path: string, body: object, method = "POST") => service.call(method, path, { as: acme.token, body });
  expect((await post("/v2/profiles", taken)).status).toBe(200);
  expect((await post("/v2/profiles", { ...taken, colour: "red" })).status).toBe(400);
  expect((await post(`/v2/profiles/${UNKNOWN}`, { ...taken, colour: "red" }, "PUT")).status).toBe(400);
  expect((await post(`/v2/profiles/${UNKNOWN}`, taken, "PUT")).status).toBe(409);
  expect((await post(`/v2/profiles/${UNKNOWN}`, { nickname: "free" }, "PUT")).status).toBe(404);
  // A rejection does not use the nickname up.
  expect((await post("/v2/profiles", { nickname: "free" })).status).toBe(200);
});

test("a deposit: 400 for the shape, then 404, then the catalogue's rules", async () => {
  const post = (id: string, body: object) =>
    service.call("POST", `/v2/sandbox/profiles/${id}/deposit`, { as: acme.token, body });
  const wire = { asset: "USD", amount: "1.001", crypto_network: "BASE" };
  expect((await post(UNKNOWN, { ...wire, colour: "red" })).status).toBe(400);
  expect((await post(UNKNOWN, wire)).status).toBe(404);
  expect((await post(profile, wire)).status).toBe(400);
});

test("a method that a path does not have is rejected before the token is checked", async () => {
  const answer = await service.call("PATCH", "/v2/transfer/platform");
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
});
