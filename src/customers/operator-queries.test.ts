import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import { countBlocked } from "../../test/support/postgres/rows-in-the-way.ts";
import { until } from "../../test/support/until.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import type { Instant } from "../std/clock.ts";
import type { CustomerId } from "./customer-id.ts";
import {
  findCustomerByName,
  findOwner,
  listClients,
  listCustomers,
  readNames,
  readNicknames,
} from "./operator-queries.ts";
import { findCustomer, findOwners, lockCustomer, updateCustomer } from "./store.ts";

const CUSTOMER = "0190d5a4-0000-7000-8000-000000000001" as CustomerId;
const OTHER = "0190d5a4-0000-7000-8000-000000000002" as CustomerId;

let testing: TestDatabase;
beforeAll(async () => {
  testing = await testDatabase();
  // The last one made first: what is stored first must not be what is listed first.
  await testing.owner.rows(
    `insert into customer (id, name, created_at)
     select ('0190d5a4-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'customer ' || n,
            timestamptz '2026-11-21T09:30:00Z' + n * interval '1 second'
       from generate_series(3, 1, -1) as n`,
  );
  await testing.owner.rows(
    `insert into client (client_id, customer_id, scopes, created_at)
     select 'client ' || n, $1, array['*'], timestamptz '2026-11-21T09:30:00Z' + n * interval '1 second'
       from generate_series(3, 1, -1) as n`,
    [CUSTOMER],
  );
  await testing.owner.rows(
    `insert into client (client_id, customer_id, scopes, created_at) values ('of another', $1, '{*}', '2026-11-21T08:00:00Z')`,
    [OTHER],
  );
  await testing.owner.rows(
    `insert into client_secret (client_id, id, scheme, salt, digest, created_at, last_used_at)
     values ('of another', gen_random_uuid(), 'hmac', '', '', now(), now())`,
  );
});
afterAll(() => testing.close());

test("customers are listed in the order in which they were made, as many as are asked for", async () => {
  const names = async (limit: number) => (await listCustomers(testing.database, limit)).map(({ name }) => name);
  expect(await names(3)).toEqual(["customer 1", "customer 2", "customer 3"]);
  expect(await names(2)).toEqual(["customer 1", "customer 2"]);
});

test("clients are listed in the order in which they were made, as many as are asked for", async () => {
  const ids = async (limit: number) =>
    (await listClients(testing.database, CUSTOMER, limit)).map(({ clientId }) => clientId);
  expect(await ids(3)).toEqual(["client 1", "client 2", "client 3"]);
  expect(await ids(2)).toEqual(["client 1", "client 2"]);
});

test("a client is listed with its networks and times, and with the number of its secrets that are valid", async () => {
  await testing.owner.rows(
    `insert into client (client_id, customer_id, scopes, created_at, networks, disabled_at)
     values ('whole', $1, '{exchange:read_order,*}', '2026-11-21T09:00:00Z', '{192.0.2.0/24,2001:db8::/32}', '2026-11-21T10:00:00Z')`,
    [CUSTOMER],
  );
  await testing.owner.rows(
    `insert into client_secret (client_id, id, scheme, salt, digest, created_at, expires_at, last_used_at)
     select 'whole', gen_random_uuid(), 'hmac', '', '', '2026-11-21T09:00:00Z', now() + life, used
       from (values (null::interval, '2026-11-21T09:45:00Z'::timestamptz), ('1 hour', '2026-11-21T09:50:00Z'),
                    ('-1 hour', '2026-11-21T09:40:00Z'), ('-2 hours', null)) as s(life, used)`,
  );
  const at = (text: string) => Date.parse(`2026-11-21T${text}:00Z`);
  expect((await listClients(testing.database, CUSTOMER, 1))[0]).toEqual({
    clientId: "whole",
    scopes: ["exchange:read_order", "*"],
    networks: ["192.0.2.0/24", "2001:db8::/32"],
    createdAt: at("09:00"),
    disabledAt: at("10:00"),
    liveSecrets: 2,
    lastUsedAt: at("09:50"),
  });
});

test("the owner of a profile is found, and nobody for a profile that does not exist", async () => {
  const [profile, unknown] = ["0190d5a4-1111-7000-8000-000000000004", CUSTOMER] as unknown as [ProfileId, ProfileId];
  await testing.owner.rows(
    `insert into profile (id, customer_id, kind, nickname, status, incoming_count, last_deactivation, created_at, updated_at, version, slot, batch)
     values ($1, $2, 'NORMAL', 'other', 'INACTIVE', 0, 1, now(), now(), 1, 1, 1)`,
    [profile, CUSTOMER],
  );
  expect(await findOwner(testing.database, profile)).toBe(CUSTOMER);
  expect(await findOwner(testing.database, unknown)).toBeUndefined();
});

test("customers and profiles are found by their own names and ids, among others", async () => {
  const { database } = testing;
  const [mine, others] = [
    "0190d5a4-1111-7000-8000-000000000005",
    "0190d5a4-1111-7000-8000-000000000006",
  ] as ProfileId[];
  await testing.owner.rows(
    `insert into profile (id, customer_id, kind, nickname, status, incoming_count, last_deactivation, created_at, updated_at, version, slot, batch)
     select id::uuid, customer_id::uuid, 'NORMAL', nickname, 'INACTIVE', 0, 1, now(), now(), 1, 1, 1
       from (values ($1, $3, 'mine'), ($2, $4, 'others')) as v (id, customer_id, nickname)`,
    [mine, others, CUSTOMER, OTHER],
  );
  const other = {
    ...{ id: OTHER, name: "customer 2", createdAt: Date.parse("2026-11-21T09:30:02Z") },
    disabledAt: undefined,
  };
  expect(await findCustomerByName(database, "customer 2")).toEqual(other);
  expect(await findCustomer(database, OTHER)).toEqual(other);
  expect(await lockCustomer(testing.owner, OTHER)).toEqual(other);
  expect(await readNames(database, [OTHER])).toEqual(new Map([[OTHER, "customer 2"]]));
  expect(await readNicknames(database, [others as ProfileId])).toEqual(new Map([[others, "others"]]));
  const stranger = "0190d5a4-1111-7000-8000-000000000007" as CustomerId;
  const named = [
    { id: stranger, name: "customer 2", isByName: false },
    // They keep their own.
    { id: CUSTOMER, name: "customer 2", isByName: false },
    { id: OTHER, name: "customer 2", isByName: true },
  ];
  const fresh = "0190d5a4-1111-7000-8000-000000000008";
  await testing.owner.rows("insert into claim (customer_id, kind, ref_id, id) values ($1, 'nickname', 'mine', $2)", [
    CUSTOMER,
    mine,
  ]);
  const nicknames = [
    { customer: CUSTOMER, nickname: "mine", id: fresh, isById: true },
    { customer: OTHER, nickname: "mine", id: stranger, isById: true },
    // It is there, whatever it is called.
    { customer: CUSTOMER, nickname: "mine", id: mine as string, isById: true },
  ];
  const wanted = {
    clients: ["of another", "nobody"],
    profiles: [others as string],
    customers: named,
    nicknames,
    balances: [],
  };
  expect(await findOwners(database, wanted)).toEqual({
    clients: new Map([["of another", OTHER]]),
    profiles: new Map([[others, OTHER]]),
    customers: new Set([CUSTOMER, OTHER]),
    names: new Map([["customer 2", OTHER]]),
    nicknames: new Map([[fresh, mine]]),
    lookalikes: new Map(),
    variants: new Map(),
    openings: [],
  });
  // Its id follows from a name that another one has by now.
  const nobody = { clients: [], profiles: [], nicknames: [], balances: [] };
  const taken = async (isByName: boolean) =>
    (await findOwners(database, { ...nobody, customers: [{ id: CUSTOMER, name: "customer 2", isByName }] })).names;
  expect(await taken(true)).toEqual(new Map([["customer 2", OTHER]]));
  expect(await taken(false)).toEqual(new Map());
  const before = await listCustomers(database, 9);
  const renamed = { ...other, name: "renamed", disabledAt: Date.parse("2026-11-21T10:00:00Z") as Instant };
  await updateCustomer(testing.owner, renamed);
  expect(await listCustomers(database, 9)).toEqual(before.map((one) => (one.id === OTHER ? renamed : one)));
});

test("who changes a customer waits for a change of it that is being made, and sees it", async () => {
  const { database } = testing;
  const said: string[] = [];
  let commit = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    commit = resolve;
  });
  const first = database.transaction(async (transaction) => {
    const customer = await lockCustomer(transaction, OTHER);
    said.push(`first sees ${customer?.name}`);
    await held;
    await updateCustomer(transaction, { id: OTHER, name: "changed", disabledAt: undefined });
  });
  await until("the first has it", () => said.length === 1);
  const second = database.transaction(async (transaction) => {
    said.push(`second sees ${(await lockCustomer(transaction, OTHER))?.name}`);
  });
  await until("the second waits, or has seen it", async () => (await countBlocked(testing)) > 0 || said.length > 1);
  commit();
  await Promise.all([first, second]);
  expect(said[1]).toBe("second sees changed");
});
