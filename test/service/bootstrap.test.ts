/** A bootstrap file is applied when the service starts, or rejected as a whole. */
import { expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { Unavailable } from "../../src/ledger/decision.ts";
import { applyBootstrap } from "../../src/service/bootstrap/bootstrap.ts";
import { readBootstrapFile } from "../../src/service/bootstrap/bootstrap-file.ts";
import { must } from "../../src/std/assert.ts";
import { expectBooksBalance } from "../support/books.ts";
import { bootstrapFile, partsOf } from "../support/bootstrap-file.ts";
import { TESTER } from "../support/movements.ts";
import { startTestService } from "../support/service.ts";

const PROFILE = "0190d5a4-1111-7000-8000-000000000004";
const CUSTOMER = "0190d5a4-1111-7000-8000-000000000001";
const ACME = {
  customers: [
    {
      id: CUSTOMER,
      name: "Acme",
      clients: [{ client_id: "acme", client_secret: "a secret that a person chose", scopes: ["funding:read_profile"] }],
      profiles: [
        { id: PROFILE, nickname: "treasury", balances: { USD: "1000", PYUSD: "250.5", ETH: "0.000000000000000001" } },
      ],
    },
    { name: "Borealis", profiles: [{ nickname: "desk" }] },
  ],
};

test("the bootstrap file is applied, and applied again without effect", async () => {
  const bootstrap = bootstrapFile(ACME);
  const service = await startTestService({ bootstrap });
  const token = await service.token({ clientId: "acme", secret: "a secret that a person chose" });
  const balances = `/v2/profiles/${PROFILE}/balances?assets=USD&assets=PYUSD&assets=ETH`;
  const expected = [
    { asset: "ETH", available: "0.000000000000000001", trading: "0" },
    { asset: "PYUSD", available: "250.5", trading: "0" },
    { asset: "USD", available: "1000", trading: "0" },
  ];
  expect((await service.call("GET", balances, { as: token })).body.items).toEqual(expected);
  const { body } = await service.call("GET", "/v2/profiles", { as: token });
  expect(body.items.map(({ nickname, type }: Record<string, string>) => [nickname, type])).toEqual([
    ["default", "DEFAULT"],
    ["treasury", "NORMAL"],
  ]);
  const count = async (): Promise<unknown> =>
    (
      await service.db.owner.rows(
        `select (select count(*) from customer)::int as customers, (select count(*) from profile)::int as profiles,
                (select count(*) from client)::int as clients, (select count(*) from posting)::int as postings`,
      )
    )[0];
  const before = await count();
  expect(before).toMatchObject({ customers: 2, profiles: 4, clients: 1 });
  await applyBootstrap(partsOf(service), await readBootstrapFile(bootstrap));
  expect(await count()).toEqual(before);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("of an opening balance no address and no transaction are made up, and a coin is on its own network", async () => {
  const balances = { USD: "1", USDG: "2", BTC: "0.5" };
  const entry = { name: "Acme", profiles: [{ nickname: "desk", balances }] };
  const service = await startTestService({ bootstrap: bootstrapFile({ customers: [entry] }) });
  const on = (asset: string, type: string, network: string | null, value: string | null) => ({
    ...{ asset, type, crypto_network: network, notional_value: value },
    ...{ destination_address: null, crypto_tx_hash: null, crypto_tx_index: null },
  });
  expect(
    await service.db.owner.rows(
      `select asset, type, crypto_network, notional_value, destination_address, crypto_tx_hash, crypto_tx_index
       from transfer order by asset`,
    ),
  ).toEqual([
    on("BTC", "CRYPTO_DEPOSIT", "BITCOIN", null),
    on("USD", "WIRE_DEPOSIT", null, null),
    on("USDG", "CRYPTO_DEPOSIT", "ETHEREUM", "2"),
  ]);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("the opening balance of a nickname that the customer already has goes to the profile that has it", async () => {
  const service = await startTestService({ bootstrap: bootstrapFile(ACME) });
  const parts = partsOf(service);
  const customerId = CUSTOMER as CustomerId;
  const vault = { customerId, nickname: "vault", description: undefined };
  const made = await parts.profiles.create(vault, TESTER);
  const id = made.kind === "done" && made.value.id;
  const profiles = [{ nickname: "vault", balances: { USD: "7" } }];
  const file = { customers: [{ id: CUSTOMER, name: "Acme", profiles }] };
  await applyBootstrap(parts, await readBootstrapFile(bootstrapFile(file)));
  const rows = await service.db.owner.rows("select asset, available from account where owner_id = $1", [id]);
  expect(rows).toEqual([{ asset: "USD", available: "7" }]);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("what another node is creating concurrently is retried", async () => {
  const service = await startTestService();
  const { core, transfers } = service.service;
  const tries = { customer: 0, profile: 0, deposit: 0 };
  const late =
    <Asked extends unknown[], Made>(step: keyof typeof tries, make: (...asked: Asked) => Promise<Made>) =>
    async (...asked: Asked): Promise<Made> => {
      tries[step] += 1;
      if (tries[step] < 3) throw new Unavailable("its ref_id is changing hands");
      return make(...asked);
    };
  const { customers, profiles } = core;
  const parts = {
    ...partsOf(service),
    customers: { ...customers, ensure: late("customer", customers.ensure) },
    profiles: { ...profiles, ensure: late("profile", profiles.ensure) },
    transfers: { ...transfers, recordExternal: late("deposit", transfers.recordExternal) },
  };
  await applyBootstrap(parts, await readBootstrapFile(bootstrapFile(ACME)));
  const [row] = await service.db.database.rows<{ available: string }>(
    "select available from account where owner_id = $1 and asset = 'USD'",
    [PROFILE],
  );
  expect([tries, row?.available]).toEqual([{ customer: 4, profile: 4, deposit: 5 }, "1000"]);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("an invalid bootstrap file prevents the start, and every error is listed", async () => {
  const wrong = {
    customers: [{ name: "", profiles: [{ nickname: "x\0y", balances: { USD: "-1" } }], colour: "blue" }],
  };
  await expect(startTestService({ bootstrap: bootstrapFile(wrong) })).rejects.toThrow(
    /is wrong:\n {2}customers\[0\]\.colour is not a field of a customer\n {2}customers\[0\]\.name is empty\n(?:.*\n)*.*nickname has a NUL character/,
  );
  await expect(startTestService({ bootstrap: bootstrapFile("{") })).rejects.toThrow("cannot be read");
  const scope = {
    customers: [{ name: "Acme", clients: [{ client_id: "acme", client_secret: "s", scopes: ["cook"] }] }],
  };
  await expect(startTestService({ bootstrap: bootstrapFile(scope) })).rejects.toThrow('"cook" is not a scope');
  const asset = { customers: [{ name: "Acme", profiles: [{ nickname: "desk", balances: { GOLD: "1" } }] }] };
  await expect(startTestService({ bootstrap: bootstrapFile(asset) })).rejects.toThrow("1 GOLD");
  for (const USD of ["0.001", "12.500"]) {
    const precision = { customers: [{ name: "Acme", profiles: [{ nickname: "desk", balances: { USD } }] }] };
    await expect(startTestService({ bootstrap: bootstrapFile(precision) })).rejects.toThrow("USD has 2 decimals");
  }
});

test("customers that a bootstrap file has twice, and a profile that has another id, are rejected", async () => {
  const other = "0190d5a4-0000-7000-8000-00000000000b";
  const profiles = [{ nickname: "desk", balances: { USD: "5" } }];
  const first = { id: CUSTOMER, name: "Acme", profiles };
  for (const [second, line] of [
    [{ id: other, name: "Acme" }, 'customer "Acme": another customer of the file has this name'],
    [{ id: CUSTOMER, name: "Beta" }, `customer "Beta": its id ${CUSTOMER} is that of "Acme" too`],
    [
      { id: other, name: "Beta", profiles: [{ id: other, nickname: "default" }] },
      'profile "default": so is the DEFAULT profile called, which has an id of its own',
    ],
  ] as const)
    await expect(startTestService({ bootstrap: bootstrapFile({ customers: [first, second] }) })).rejects.toThrow(
      `the bootstrap file cannot be applied:\n  ${line}`,
    );
});

test("an entry whose customer was renamed goes to it, and to nobody once another customer has its name", async () => {
  const entry = (balance: string) => ({ name: "Yak", profiles: [{ nickname: "desk", balances: { USD: balance } }] });
  const service = await startTestService({ bootstrap: bootstrapFile({ customers: [entry("5")] }) });
  const parts = partsOf(service);
  const apply = async (file: object) => applyBootstrap(parts, await readBootstrapFile(bootstrapFile(file)));
  const [yak] = await service.db.database.rows<{ id: CustomerId }>("select id from customer where name = 'Yak'");
  const id = must(yak, "Yak is there").id;
  await parts.customers.rename(id, "Yak Ltd", TESTER);
  await apply({ customers: [entry("5")] });
  await parts.customers.create("Yak", TESTER);
  await expect(apply({ customers: [entry("5")] })).rejects.toThrow(
    'the bootstrap file cannot be applied:\n  customer "Yak": another customer in the database has this name',
  );
  await apply({ customers: [{ id, ...entry("5") }] });
  const rows = await service.db.database.rows("select available from account where house is null and asset = 'USD'");
  expect(rows).toEqual([{ available: "5" }]);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("a bootstrap file that names something twice is rejected: of two opening balances one would be lost", async () => {
  const client = { client_id: "acme", client_secret: "a secret", scopes: ["*"] };
  const profiles = [
    { nickname: "vault", balances: { USD: "1" } },
    { nickname: "vault", balances: { USD: "2" } },
    { id: PROFILE, nickname: "desk" },
    { id: PROFILE, nickname: "till", balances: { USD: "3" } },
  ];
  const file = { customers: [{ name: "Acme", clients: [client, client], profiles }] };
  await expect(startTestService({ bootstrap: bootstrapFile(file) })).rejects.toThrow(
    [
      "the bootstrap file cannot be applied:",
      '  client "acme": it is there more than once',
      '  profile "vault": the nickname is there more than once',
      `  profile "till": the id ${PROFILE} is there more than once`,
    ].join("\n"),
  );
});

test("a bootstrap file with an id of another customer, or another id for a nickname, is rejected as a whole", async () => {
  const service = await startTestService({ bootstrap: bootstrapFile(ACME) });
  const rows = () =>
    service.db.owner.rows(
      `select (select count(*) from customer)::int as customers, (select count(*) from profile)::int as profiles,
              (select count(*) from client)::int as clients, (select count(*) from posting)::int as postings`,
    );
  const before = await rows();
  const other = "0190d5a4-0000-7000-8000-00000000000b";
  const file = {
    customers: [
      { id: CUSTOMER, name: "Acme", profiles: [{ nickname: "new" }, { id: other, nickname: "treasury" }] },
      { name: "Cedar", profiles: [{ nickname: "desk", balances: { USD: "5" } }] },
      {
        name: "Dahlia",
        clients: [
          { client_id: "acme", client_secret: "another secret", scopes: ["*"] },
          { client_id: "dahlia", client_secret: "a secret", scopes: ["cook"] },
        ],
        profiles: [{ id: PROFILE, nickname: "treasury", balances: { USD: "0.001", GOLD: "1" } }],
      },
      {
        name: "Elm",
        clients: [{ client_id: "dahlia", client_secret: "one more secret", scopes: ["*"] }],
        profiles: [{ id: "ffffffff-0000-8000-8000-000000000001", nickname: "house" }],
      },
    ],
  };
  const rejection = applyBootstrap(partsOf(service), await readBootstrapFile(bootstrapFile(file)));
  await expect(rejection).rejects.toThrow(
    [
      "the bootstrap file cannot be applied:",
      `  profile "treasury": the customer's profile of this nickname has the id ${PROFILE}`,
      '  client "acme": the client_id belongs to another customer',
      '  client "dahlia": "cook" is not a scope',
      `  profile "treasury": the id ${PROFILE} belongs to another customer`,
      '  profile "treasury": the opening balance 0.001 USD: USD has 2 decimals',
      '  profile "treasury": the opening balance 1 GOLD: unknown asset',
      '  client "dahlia": the client_id belongs to another customer',
      '  profile "house": ids from ffffffff on are kept for house accounts',
    ].join("\n"),
  );
  expect(await rows()).toEqual(before);
  await expectBooksBalance(service.db.owner);
  await service.close();
});
