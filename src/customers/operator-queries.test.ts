import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import type { CustomerId } from "./customer-id.ts";
import { listClients, listCustomers } from "./operator-queries.ts";

const CUSTOMER = "0190d5a4-0000-7000-8000-000000000001" as CustomerId;

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
