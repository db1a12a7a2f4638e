/** Balances, and the deposits of sandbox mode. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { expectProblem, expectSuccess, failingField } from "../support/problems.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";

const UNKNOWN = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";

let service: TestService;
let acme: TestCustomer;
beforeAll(async () => {
  service = await startTestService();
  acme = await service.customer();
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const balances = (profile: string, query = ""): Promise<Answer> =>
  service.call("GET", `/v2/profiles/${profile}/balances${query}`, { as: acme.token });
const deposit = (profile: string, body: object): Promise<Answer> =>
  service.call("POST", `/v2/sandbox/profiles/${profile}/deposit`, { as: acme.token, body });

/** The record of a deposit, without what every record has. */
async function recordOf(answer: Answer): Promise<object> {
  expectSuccess(answer);
  expect(Object.keys(answer.body)).toEqual(["activity_id"]);
  const path = `/v2/transfer/transfers/${answer.body.activity_id}`;
  return (await service.call("GET", path, { as: acme.token })).body;
}

test("all assets are listed in the order of their codes; named ones once each", async () => {
  const profile = await service.profile(acme, { USD: "10.50", BTC: "0.00000001" });
  const all = await balances(profile);
  expectSuccess(all);
  const codes = all.body.items.map(({ asset }: { asset: string }) => asset);
  expect(codes).toEqual([...codes].toSorted());
  expect(codes).toHaveLength(35);
  expect(all.body.items.filter(({ available }: { available: string }) => available !== "0")).toEqual([
    { asset: "BTC", available: "0.00000001", trading: "0" },
    { asset: "USD", available: "10.5", trading: "0" },
  ]);
  const named = await balances(profile, "?assets=USD&assets=PYUSD&assets=USD");
  expect(named.body).toEqual({
    items: [
      { asset: "PYUSD", available: "0", trading: "0" },
      { asset: "USD", available: "10.5", trading: "0" },
    ],
    next_page_cursor: "",
  });
  const one = await balances(profile, "/USD");
  expectSuccess(one);
  expect(one.body).toEqual({ asset: "USD", available: "10.5", trading: "0" });
});

test("an unknown asset is named", async () => {
  expectProblem(
    await balances("default", "?assets=USD&assets=usd"),
    failingField("assets", "usd", "is not the code of an asset of this service"),
  );
  expectProblem(await balances("default", "/usd"), { status: 404, detail: "asset not found: usd" });
});

test("a balance at a past time includes what was posted at exactly that time", async () => {
  const profile = await service.profile(acme);
  const first = (await recordOf(await deposit(profile, { asset: "USD", amount: "1" }))) as { created_at: string };
  const [account] = await service.db.owner.rows<{ at: number }>("select at from account where owner_id = $1", [
    profile,
  ]);
  const at = account?.at ?? Number.NaN;
  const booked = new Date(at).toISOString();
  expect(booked >= first.created_at).toBe(true);
  const balanceAt = async (time: string): Promise<string> =>
    (await balances(profile, `/USD?at=${time}`)).body.available;
  await deposit(profile, { asset: "USD", amount: "2" });
  expect(await balanceAt(new Date(at - 1).toISOString())).toBe("0");
  expect(await balanceAt(new Date(at - 1).toISOString().replace("Z", "999999Z"))).toBe("0");
  expect(["1", "3"]).toContain(await balanceAt(booked));
  expect(await balanceAt("2999-01-01T00:00:00Z")).toBe("3");
  expect(await balanceAt("0001-01-01T00:00:00Z")).toBe("0");
  expect(await balanceAt("9999-12-31T23:59:59.9999Z")).toBe("3");
  const listed = await balances(profile, `?assets=USD&at=${new Date(at - 1).toISOString()}`);
  expect(listed.body).toEqual({ items: [{ asset: "USD", available: "0", trading: "0" }], next_page_cursor: "" });
});

test("fiat is deposited by wire", async () => {
  const profile = await service.profile(acme);
  const answer = await deposit(profile, { asset: "EUR", amount: "10.50", crypto_network: null });
  const record = (await recordOf(answer)) as { created_at: string };
  expect(record).toEqual({
    id: answer.body.activity_id,
    customer_id: acme.id,
    profile_id: profile,
    amount: "10.5",
    total: "10.5",
    fee: "0",
    asset: "EUR",
    direction: "CREDIT",
    type: "WIRE_DEPOSIT",
    status: "COMPLETED",
    created_at: record.created_at,
    updated_at: record.created_at,
    balance_asset: "EUR",
    auto_conversion: {},
  });
  const both = await deposit(profile, { asset: "EUR", amount: "1", crypto_network: "BASE", crypto_address: "a" });
  const rule = "is not for EUR, which is fiat";
  expectProblem(both, {
    status: 400,
    detail: `crypto_network "BASE" ${rule}`,
    meta: {
      errors: [
        { field: "crypto_network", value: "BASE", rule },
        { field: "crypto_address", value: "a", rule },
      ],
    },
  });
});

test("a stablecoin is deposited on a chain, and is valued at par in USD", async () => {
  const answer = await deposit("default", { asset: "USDP", amount: "0.12345678" });
  expect(await recordOf(answer)).toMatchObject({
    profile_id: acme.defaultProfile,
    type: "CRYPTO_DEPOSIT",
    crypto_network: "ETHEREUM",
    destination_address: expect.stringMatching(/^0x[0-9a-f]{40}$/),
    crypto_tx_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    crypto_tx_index: "0",
    notional_value: "0.12345678",
  });
  const said = { crypto_network: "SOLANA", crypto_address: "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin" };
  expect(await recordOf(await deposit("default", { asset: "PYUSD", amount: "1", ...said }))).toMatchObject({
    crypto_network: said.crypto_network,
    destination_address: said.crypto_address,
  });
});

test("a coin with a network of its own comes by it, or by ETHEREUM, and by no other", async () => {
  const onBitcoin = await deposit("default", { asset: "BTC", amount: "1", crypto_network: "BITCOIN" });
  expect(await recordOf(onBitcoin)).toMatchObject({
    crypto_network: "BITCOIN",
    destination_address: expect.stringMatching(/^1/),
    crypto_tx_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const elsewhere = await deposit("default", { asset: "BTC", amount: "1", crypto_network: "STELLAR" });
  expect(elsewhere).toMatchObject({
    status: 400,
    body: { detail: 'crypto_network "STELLAR" is not a network of BTC' },
  });
});

test("crypto without a last price has no notional value", async () => {
  const record = await recordOf(await deposit("default", { asset: "BTC", amount: "0.5" }));
  expect(record).toMatchObject({ type: "CRYPTO_DEPOSIT", amount: "0.5" });
  expect(record).not.toHaveProperty("notional_value");
});

test("crypto is valued at its last price, rounded half up to a cent", async () => {
  const trade = async (customer: TestCustomer, side: "BUY" | "SELL", balances: Readonly<Record<string, string>>) => {
    const path = `/v2/profiles/${await service.profile(customer, balances)}/orders`;
    const body = { side, market: "BTCUSD", type: "LIMIT", base_amount: "0.01", price: "50001" };
    const answer = await service.call("POST", path, {
      as: customer.token,
      body: { ...body, await_fill_millis: 10_000 },
    });
    expect(answer.body.status).toBe("FILLED");
  };
  await Promise.all([trade(acme, "SELL", { BTC: "0.01" }), trade(await service.customer(), "BUY", { USD: "1000" })]);
  const cases = [
    ["1.5", "75001.5"],
    ["0.0000001", "0.01"],
    ["0.00000009", "0"],
    ["0.0000003", "0.02"],
    ["0.00000029", "0.01"],
  ];
  for (const [amount, value] of cases) {
    const record = await recordOf(await deposit("default", { asset: "BTC", amount }));
    expect(record).toMatchObject({ amount, notional_value: value });
  }
});

test("a deposit that breaks a rule is rejected with that rule", async () => {
  expectProblem(await deposit("default", { asset: "PYUSD", amount: "0.0000001" }), {
    status: 400,
    slug: "exceed-precision",
    detail: 'amount "0.0000001" has more decimals than PYUSD allows: 6',
    meta: { asset: "PYUSD", precision: 6 },
  });
  expectProblem(
    await deposit("default", { asset: "NOPE", amount: "1" }),
    failingField("asset", "NOPE", "is not the code of an asset of this service"),
  );
  expectProblem(await deposit(UNKNOWN, { asset: "USD", amount: "1" }), {
    status: 404,
    detail: `profile not found: ${UNKNOWN}`,
  });
});

test("the path does not exist in production, nor in its OpenAPI document", async () => {
  // The tests' server does not wait for its disk.
  const accepted = new Set(["fsync"] as const);
  const production = await startTestService({
    mode: "production",
    withoutTls: new Set(["http", "database"]),
    accepted,
  });
  try {
    const customer = await production.customer();
    const path = "/v2/sandbox/profiles/default/deposit";
    const answer = await production.call("POST", path, { as: customer.token, body: { asset: "USD", amount: "1" } });
    expectProblem(answer, { status: 404, detail: "no such path" });
    const { paths } = (await production.call("GET", "/openapi.json")).body;
    expect(Object.keys(paths).filter((name) => name.includes("sandbox"))).toEqual([]);
  } finally {
    await production.close();
  }
});
