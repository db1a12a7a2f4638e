/** What the operator records, with every option of the commands (docs/contract/accounts.md#deposits). */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { urlOf } from "../support/service.ts";
import { run } from "./in-process.ts";

let db: TestDatabase;
let customer: { readonly id: string; readonly default_profile_id: string };
beforeAll(async () => {
  db = await testDatabase();
  vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(db));
  vi.stubEnv("PARBOOK_LOG_LEVEL", "fatal");
  customer = await recordOf("customer", "create", "--name", "Acme");
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await expectBooksBalance(db.owner);
  await db.close();
});

async function recordOf<Of>(...argv: string[]): Promise<Of> {
  const { exitCode, stdout, stderr } = await run([...argv, "--json"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

const of = (asset: string, amount: string): string[] => [
  "--profile",
  customer.default_profile_id,
  "--asset",
  asset,
  "--amount",
  amount,
];
const ON_CHAIN = ["--network", "SOLANA", "--address", "7xKX", "--tx-hash", "5xWq", "--tx-index", "3"];

/** Whole, but for what is its own. */
const record = (asset: string, amount: string, more: object): object => ({
  id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  customer_id: customer.id,
  profile_id: customer.default_profile_id,
  ...{ asset, amount, total: amount, fee: "0", balance_asset: asset, status: "COMPLETED", auto_conversion: {} },
  created_at: expect.any(String),
  updated_at: expect.any(String),
  ...more,
});

test("a deposit on a chain has all that the operator gave, and is valued at par", async () => {
  const named = ["--ref-id", "chain-1", "--memo", "invoice 17"];
  expect(await recordOf("deposit", ...of("USDG", "1000"), ...ON_CHAIN, ...named)).toEqual(
    record("USDG", "1000", {
      ...{ direction: "CREDIT", type: "CRYPTO_DEPOSIT", ref_id: "chain-1", memo: "invoice 17", notional_value: "1000" },
      ...{ crypto_network: "SOLANA", destination_address: "7xKX", crypto_tx_hash: "5xWq", crypto_tx_index: "3" },
    }),
  );
});

test("what the operator leaves out is left out, except for the kind and the network", async () => {
  for (const [asset, network] of [
    ["ETH", "ETHEREUM"],
    ["BTC", "BITCOIN"],
    ["DOGE", "DOGECOIN"],
  ] as const)
    expect(await recordOf("deposit", ...of(asset, "0.5"))).toEqual(
      record(asset, "0.5", { direction: "CREDIT", type: "CRYPTO_DEPOSIT", crypto_network: network }),
    );
  const wire = { direction: "CREDIT", type: "WIRE_DEPOSIT" };
  expect(await recordOf("deposit", ...of("USD", "100"))).toEqual(record("USD", "100", wire));
});

test("the kind of a deposit or a withdrawal may be named", async () => {
  const bank = { direction: "CREDIT", type: "BANK_DEPOSIT" };
  expect(await recordOf("deposit", ...of("USD", "7"), "--type", "BANK_DEPOSIT")).toEqual(record("USD", "7", bank));
  const sen = { direction: "DEBIT", type: "SEN_WITHDRAWAL" };
  expect(await recordOf("withdraw", ...of("USD", "2"), "--type", "SEN_WITHDRAWAL")).toEqual(record("USD", "2", sen));
});

test("a withdrawal on a chain may name the transaction of a deposit", async () => {
  expect(await recordOf("withdraw", ...of("USDG", "10.5"), ...ON_CHAIN, "--ref-id", "chain-2")).toEqual(
    record("USDG", "10.5", {
      ...{ direction: "DEBIT", type: "CRYPTO_WITHDRAWAL", ref_id: "chain-2", notional_value: "10.5" },
      ...{ crypto_network: "SOLANA", destination_address: "7xKX", crypto_tx_hash: "5xWq", crypto_tx_index: "3" },
    }),
  );
});

test.each<[string, string, string[], RegExp]>([
  [
    "deposit",
    "USD",
    ["--network", "SOLANA", "--tx-index", "3"],
    /^--network, --tx-index cannot be used with USD, which is fiat$/,
  ],
  ["deposit", "USD", ["--type", "CRYPTO_DEPOSIT"], /^CRYPTO_DEPOSIT is not for USD, which is fiat$/],
  ["withdraw", "USDG", ["--type", "WIRE_WITHDRAWAL"], /^WIRE_WITHDRAWAL is not for USDG, which is not fiat$/],
  ["deposit", "USDG", ["--tx-index", "3"], /^--tx-index needs --tx-hash$/],
  ["deposit", "BTC", ["--tx-hash", "ab"], /^--tx-hash needs --network: the one that the transaction is on$/],
  [
    "deposit",
    "BTC",
    ["--tx-hash", "ab", "--network", "BITCOIN"],
    /^--tx-hash of a deposit needs --tx-index: which output of the transaction it is$/,
  ],
  ["deposit", "BTC", ["--network", "ETHEREUM"], /^BTC is not on ETHEREUM, but on BITCOIN$/],
  ["withdraw", "LTC", ["--network", "BITCOIN"], /^LTC is not on BITCOIN, but on LITECOIN$/],
  ["deposit", "USDG", ["--network", "DOGECOIN"], /^USDG is not on DOGECOIN$/],
  ["deposit", "GOLD", [], /^asset GOLD is not in the catalogue$/],
  [
    "deposit",
    "USDG",
    ON_CHAIN,
    /^transaction "5xWq" was already recorded as transfer [0-9a-f-]{36}, a CRYPTO_DEPOSIT of 1000 USDG of profile [0-9a-f-]{36}\. Another output of it has another --tx-index$/,
  ],
  [
    "withdraw",
    "USDG",
    ["--ref-id", "chain-1"],
    /^ref_id "chain-1" belongs to something else, so nothing was recorded: transfer [0-9a-f-]{36} is a CRYPTO_DEPOSIT of 1000 USDG of profile [0-9a-f-]{36}, to 7xKX on SOLANA, transaction 5xWq\/3\. Choose another ref_id$/,
  ],
])("parbook %s of %s with %j is rejected", async (command, asset, options, why) => {
  const { exitCode, stdout, stderr } = await run([command, ...of(asset, "1"), ...options]);
  expect([exitCode, stdout]).toEqual([1, ""]);
  expect(stderr.trim()).toMatch(why);
});

test("a ref_id says which transfer it made only to the same command", async () => {
  const withdraw = (amount: string, ...options: string[]) => [
    "withdraw",
    ...of("USD", amount),
    "--ref-id",
    "wire-9",
    ...options,
  ];
  const { id } = await recordOf<{ id: string }>(...withdraw("3", "--pending"));
  const till = ["profile", "create", "--customer", customer.id, "--nickname", "till"];
  const { id: ofTill } = await recordOf<{ id: string }>(...till);
  const errorOf = async (argv: string[]) => (await run(argv)).stderr.trim();
  expect(await errorOf(withdraw("3.0", "--pending"))).toBe(
    `ref_id "wire-9" was already used for this: transfer ${id}, which is requested`,
  );
  const other =
    `ref_id "wire-9" belongs to something else, so nothing was recorded: transfer ${id} is a WIRE_WITHDRAWAL of 3 USD of ` +
    `profile ${customer.default_profile_id}, with steps. Choose another ref_id`;
  for (const argv of [
    withdraw("3"),
    withdraw("2", "--pending"),
    withdraw("3", "--pending", "--type", "SEN_WITHDRAWAL"),
    ["deposit", ...of("USD", "3"), "--ref-id", "wire-9", "--pending"],
    ["withdraw", ...of("USDG", "3"), "--ref-id", "wire-9", "--pending"],
    ["withdraw", "--profile", ofTill, ...of("USD", "3").slice(2), "--ref-id", "wire-9", "--pending"],
  ])
    expect(await errorOf(argv)).toBe(other);
});

test("a ref_id of a withdrawal to one address is not that of a withdrawal to another", async () => {
  const withdraw = (...options: string[]) => ["withdraw", ...of("USDG", "3"), "--ref-id", "chain-9", ...options];
  await recordOf("deposit", ...of("USDG", "3"));
  const { id } = await recordOf<{ id: string }>(...withdraw("--address", "0xAb"));
  const errorOf = async (argv: string[]) => (await run(argv)).stderr.trim();
  expect(await errorOf(withdraw("--address", "0xAb"))).toBe(
    `ref_id "chain-9" was already used for this: transfer ${id}`,
  );
  for (const argv of [
    withdraw("--address", "0xCd"),
    withdraw(),
    withdraw("--address", "0xAb", "--network", "SOLANA"),
    withdraw("--address", "0xAb", "--network", "ETHEREUM", "--tx-hash", "0xef"),
  ])
    expect(await errorOf(argv)).toMatch(/^ref_id "chain-9" belongs to something else, so nothing was recorded/);
});

test("a ref_id of one output of a transaction is not that of another, and says where its money went", async () => {
  const withdraw = (network: string, address: string, hash: string, index: string) => [
    ...["withdraw", ...of("USDG", "2"), "--ref-id", "chain-3", "--memo", `to ${address}`],
    ...["--network", network, "--address", address, "--tx-hash", hash, "--tx-index", index],
  ];
  const { id } = await recordOf<{ id: string }>(...withdraw("ETHEREUM", "0xA", "0xAB", "7"));
  const errorOf = async (argv: string[]) => (await run(argv)).stderr.trim();
  const same = `ref_id "chain-3" was already used for this: transfer ${id}`;
  expect(await errorOf(withdraw("ETHEREUM", "0xA", "ab", "07"))).toBe(same);
  const other =
    `ref_id "chain-3" belongs to something else, so nothing was recorded: transfer ${id} is a CRYPTO_WITHDRAWAL of 2 USDG of ` +
    `profile ${customer.default_profile_id}, to 0xA on ETHEREUM, transaction 0xab/7. Choose another ref_id`;
  for (const argv of [
    withdraw("ETHEREUM", "0xB", "0xAB", "7"),
    withdraw("BASE", "0xA", "0xAB", "7"),
    withdraw("ETHEREUM", "0xA", "0xAC", "7"),
    withdraw("ETHEREUM", "0xA", "0xAB", "8"),
    withdraw("ETHEREUM", "0xA", "0xAB", "7").slice(0, -2),
  ])
    expect(await errorOf(argv)).toBe(other);
});

test("the transaction that a withdrawal got with a later step makes it no other", async () => {
  const withdraw = ["withdraw", ...of("USDG", "2"), "--ref-id", "chain-4", "--address", "0xA", "--pending"];
  const { id } = await recordOf<{ id: string }>(...withdraw);
  await recordOf("transfer", "approve", id);
  await recordOf("transfer", "send", id, "--tx-hash", "0xab");
  expect((await run(withdraw)).stderr.trim()).toBe(
    `ref_id "chain-4" was already used for this: transfer ${id}, which is sent`,
  );
});

test("a transaction is deposited once, whichever network is named and however its hash is written", async () => {
  const deposit = (network: string, hash: string) => [
    "deposit",
    ...of("PYUSD", "1"),
    "--network",
    network,
    "--tx-hash",
    hash,
    "--tx-index",
    "0",
  ];
  const { id } = await recordOf<{ id: string }>(...deposit("STELLAR", "c0ffee"));
  for (const [network, hash] of [
    ["ETHEREUM", "0xC0FFEE"],
    ["BASE", "c0ffee"],
    ["STELLAR", "0xc0ffee"],
  ] as const) {
    const { exitCode, stderr } = await run(deposit(network, hash));
    const what = `transfer ${id}, a CRYPTO_DEPOSIT of 1 PYUSD of profile ${customer.default_profile_id}`;
    expect([exitCode, stderr.trim()]).toEqual([
      1,
      `transaction "${hash}" was already recorded as ${what}. Another output of it has another --tx-index`,
    ]);
  }
});

test("the transaction of a failed deposit is not taken for credited", async () => {
  const deposit = ["deposit", ...of("PYUSD", "1"), "--network", "STELLAR", "--tx-hash", "fa11ed", "--tx-index", "0"];
  const { id } = await recordOf<{ id: string }>(...deposit, "--pending");
  expect((await run(["transfer", "fail", id, "--reason", "reorganised"])).exitCode).toBe(0);
  const what = `transfer ${id}, a CRYPTO_DEPOSIT of 1 PYUSD of profile ${customer.default_profile_id}, which is failed`;
  const next = `If it arrived after all, record it without --tx-hash: with --network STELLAR --memo fa11ed --ref-id ${id}`;
  expect((await run(deposit)).stderr).toBe(`transaction "fa11ed" was already recorded as ${what}. ${next}\n`);
  // As that says; once more, it is recorded once.
  const arrived = ["deposit", ...of("PYUSD", "1"), "--network", "STELLAR", "--memo", "fa11ed", "--ref-id", id];
  const { id: again } = await recordOf<{ id: string }>(...arrived);
  expect((await run(arrived)).stderr).toBe(`ref_id "${id}" was already used for this: transfer ${again}\n`);
});

test("a point that may separate thousands is rejected, by every command that moves or holds money", async () => {
  const why =
    "--amount 1.000 has 3 decimals, and USD has at most 2: leave out zeros at its end, or a point that separates thousands\n";
  for (const argv of [
    ["deposit", ...of("USD", "1.000")],
    ["withdraw", ...of("USD", "1.000")],
    ["hold", "place", ...of("USD", "1.000"), "--reason", "court order 17"],
  ])
    expect([argv, await run(argv)]).toEqual([argv, { exitCode: 1, stdout: "", stderr: why }]);
  expect(await recordOf("deposit", ...of("USD", "1.00"))).toMatchObject({ amount: "1" });
});

test("what was done is said in one line: recorded, or only requested", async () => {
  const said = async (...argv: string[]) => (await run(argv)).stdout.replace(/[0-9a-f-]{36}/, "ID");
  expect(await said("deposit", ...of("USD", "5"))).toBe("deposited 5 USD: transfer ID\n");
  expect(await said("withdraw", ...of("USD", "1.50"))).toBe("withdrawn 1.5 USD: transfer ID\n");
  expect(await said("deposit", ...of("BTC", "1"), "--network", "BITCOIN", "--tx-hash", "ab12", "--tx-index", "0")).toBe(
    "deposited 1 BTC on BITCOIN: transfer ID\n",
  );
  expect(await said("withdraw", ...of("USD", "1"), "--pending")).toBe("requested: withdraw 1 USD: transfer ID\n");
  expect(await said("deposit", ...of("USD", "1"), "--pending")).toBe("requested: deposit 1 USD: transfer ID\n");
});

test("what is no stablecoin is valued at the last price in USD", async () => {
  await db.owner.rows(
    "insert into market_head values ('BTCUSD', 1, 20000, 7, 1, 1, 1, 1), ('BTCEUR', 1, 30000, 7, 1, 1, 1, 1)",
  );
  expect(await recordOf("deposit", ...of("BTC", "0.5"))).toMatchObject({ notional_value: "10000" });
  await db.owner.rows("delete from market_head");
});

test("another output of a transaction is another deposit", async () => {
  const other = [...ON_CHAIN.slice(0, -1), "4"];
  expect(await recordOf("deposit", ...of("USDG", "1"), ...other)).toMatchObject({ crypto_tx_index: "4" });
});

test("the writes of the last day are listed, of an earlier time with --since, and of one record without a limit", async () => {
  const whatOf = async (...options: string[]): Promise<string[]> =>
    (await recordOf<{ items: { what: string }[] }>("audit", "writes", ...options)).items.map(({ what }) => what);
  expect(await whatOf()).toContain("transfer");
  const { id } = await recordOf<{ id: string }>("deposit", ...of("USD", "1"));
  await db.owner.rows("update batch set at = at - interval '25 hours'");
  expect(await whatOf()).toEqual([]);
  expect(await whatOf("--ref", "chain-1")).toEqual(["transfer"]);
  expect(await whatOf("--id", id)).toEqual(["transfer"]);
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  expect(await whatOf("--since", hoursAgo(26))).toContain("transfer");
  expect(await whatOf("--since", hoursAgo(24))).toEqual([]);
  await db.owner.rows("update batch set at = at + interval '25 hours'");
});

test("the writes of several nodes are listed in the order of their times", async () => {
  const keys = async () =>
    (await recordOf<{ items: { at: string; key: string }[] }>("audit", "writes")).items.map(({ at, key }) => [at, key]);
  const before = await keys();
  // As if a later slot had been the earlier one.
  await db.owner.rows("update batch set at = at - n * interval '1 minute'");
  const reordered = await keys();
  await db.owner.rows("update batch set at = at + n * interval '1 minute'");
  expect(reordered.map(([at]) => at)).toEqual(reordered.map(([at]) => at).sort());
  expect(reordered[0]?.[1]).not.toBe(before[0]?.[1]);
  expect(reordered.map(([, key]) => key).sort()).toEqual(before.map(([, key]) => key).sort());
});

const NOBODY = "0190d5a4-0000-7000-8000-000000000002";

test("the operator sets fees, and a rejected change says why", async () => {
  const made = await recordOf<{ id: string }>("customer", "create", "--name", "Desk");
  const tiers = ["0:0.004:0.0002", "50000:0.002:0.0002"];
  const listed = {
    market: "ETHUSD",
    tiers: [
      { minimum_gross: "0", taker_rate: "0.004", maker_rebate: "0.0002" },
      { minimum_gross: "50000", taker_rate: "0.002", maker_rebate: "0.0002" },
    ],
    agreements: [],
    more: false,
  };
  expect(await recordOf("fee", "set", "ETHUSD", ...tiers)).toEqual(listed);
  const agreed = { customer_id: made.id, taker_rate: "0.001", maker_rebate: "0.001" };
  const rates = ["--customer", made.id, "--taker-rate", "0.001", "--maker-rebate"];
  expect(await recordOf("fee", "agree", "ETHUSD", ...rates, "0.001")).toEqual({
    market: "ETHUSD",
    ...agreed,
  });
  const prose = await run(["fee", "list", "ETHUSD"]);
  const low = await run(["fee", "set", "ETHUSD", "0:0.0009:0"]);
  const precise = await run(["fee", "set", "ETHUSD", "0:0.00351:0"]);
  const unknown = await run(["fee", "list", "NOPEUSD"]);
  const nobodys = ["--customer", NOBODY, "--taker-rate", "0.1", "--maker-rebate", "0"];
  const stranger = await run(["fee", "agree", "ETHUSD", ...nobodys]);
  expect((await run(["fee", "agree", "ETHUSD", ...rates, "0.0005"])).stdout.split("\n")).toEqual([
    `customer ${made.id} (Desk) pays 0.001 as taker on ETHUSD and receives 0.0005 as maker.`,
    "It applies to new orders, on every node within 10 seconds.",
    "",
  ]);
  const errorOf = async (...given: string[]) => (await run(["fee", "set", "ETHUSD", ...given])).stderr;
  expect(await errorOf("5:0.004:0.0002")).toBe("one tier must start at 0, such as 0:0.0035:0.0003\n");
  expect(await errorOf("0:0.004:0.0002", "5:0.004:0.0002", "5:0.003:0")).toBe("two tiers start at 5\n");
  const many = Array.from({ length: 51 }, (_, volume) => `${volume}:0.004:0.0002`);
  expect(await errorOf(...many)).toBe("a market has at most 50 tiers\n");
  expect((await run(["fee", "set", "ETHUSD", ...tiers])).stdout.split("\n").slice(-2)).toEqual([
    "It applies to new orders, on every node within 10 seconds.",
    "",
  ]);
  expect(prose.stdout).toBe(
    [
      "30-day volume  taker rate  maker rebate",
      "0              0.004       0.0002",
      "50000          0.002       0.0002",
      "",
      "agreed with customer                  taker rate  maker rebate  name",
      `${made.id}  0.001       0.001         Desk`,
      "",
    ].join("\n"),
  );
  expect(low).toEqual({
    exitCode: 1,
    stdout: "",
    stderr:
      "the highest maker rebate on ETHUSD, 0.001, would exceed its lowest taker rate, 0.0009, across all tiers and agreements: rebates are paid out of commissions\n",
  });
  expect(precise).toMatchObject({ exitCode: 2, stdout: "" });
  expect(precise.stderr).toMatch(/'0:0.00351:0' is invalid.* Must be a share from 0 to 0\.1 with at most 4 decimals/);
  expect(unknown).toEqual({ exitCode: 1, stdout: "", stderr: "market not found: NOPEUSD\n" });
  expect(stranger).toEqual({ exitCode: 1, stdout: "", stderr: `customer not found: ${NOBODY}\n` });
  expect(await recordOf("fee", "end", "ETHUSD", "--customer", made.id)).toEqual({
    market: "ETHUSD",
    customer_id: made.id,
  });
  expect(await run(["fee", "end", "ETHUSD", "--customer", made.id])).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `no agreement with customer ${made.id} (Desk) on ETHUSD\n`,
  });
  expect(await recordOf("fee", "list", "ETHUSD")).toEqual(listed);
});
