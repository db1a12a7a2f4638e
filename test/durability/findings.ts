/** What is answered because it was found, as the tests of standby.test.ts ask for it. */
import { exportJournals } from "../../src/accounting/export.ts";
import { loadCatalogue } from "../../src/catalogue/catalogue.ts";
import { endAgreement } from "../../src/catalogue/fee-schedule/fee-schedule.ts";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { Clients } from "../../src/customers/clients/clients.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { createProfiles } from "../../src/customers/profiles/profiles.ts";
import { findOrderOfCustomer, listClosed, requestCancel } from "../../src/exchange/orders/store.ts";
import { Decider } from "../../src/ledger/writer/decider.ts";
import { BOUNDS } from "../../src/ledger/writer/lane-options.ts";
import { RefIdLookup } from "../../src/ledger/writer/reading/ref-id-lookup.ts";
import { deleteKey } from "../../src/oauth/keys/store.ts";
import type { Database } from "../../src/postgres/database.ts";
import { systemClock } from "../../src/std/clock.ts";
import { IdSource } from "../../src/std/id.ts";
import { findByRefIds } from "../../src/transfers/store.ts";
import { refIdClaims } from "../../src/transfers/transfer.ts";
import { takeCheckpoint } from "../../src/verify/take-checkpoint.ts";
import { commandOn } from "../support/batches.ts";
import { eventsOf, publishOnce } from "../support/events.ts";
import { TestExchange } from "../support/exchange/orders.ts";
import { newId, newProfiles, startLane, TESTER } from "../support/movements.ts";
import { insertProfile } from "../support/postgres/rows-in-the-way.ts";
import type { Pair } from "../support/postgres/standby.ts";

/** The first event of a new customer. */
export async function publishEvent(servers: Pair): Promise<CustomerId> {
  const { database } = servers.primary;
  const customerId = await newCustomer(servers);
  const { lane } = await startLane(database);
  const profiles = createProfiles({ database, lane, ids: new IdSource(), clock: systemClock });
  await profiles.create({ customerId, nickname: "treasury", description: undefined }, TESTER);
  await lane.stop();
  await publishOnce(database);
  return customerId;
}

/** A customer with one transfer. */
async function transferWithRefId(servers: Pair): Promise<CustomerId> {
  const customerId = await newCustomer(servers);
  await servers.primary.owner.rows(
    `insert into transfer (customer_id, id, type, to_profile_id, to_customer_id, asset, amount, ref_id, created_at, slot, batch)
     values ($1, $2, 'WIRE_DEPOSIT', $3, $1, 'USD', 1, 'once', now(), 1, 1)`,
    [customerId, newId(), newId()],
  );
  return customerId;
}

/** What answers that something is there, or is so, because it was found: with what to do first. */
export const FINDINGS: readonly {
  readonly what: string;
  readonly prepare: (servers: Pair) => Promise<(database: Database) => Promise<unknown>>;
  readonly answer: unknown;
}[] = [
  {
    what: "an order whose cancel was asked for before",
    prepare: async (servers) => {
      const asking = await openOrder(servers);
      await requestCancel(servers.primary.database, asking);
      return (database) => requestCancel(database, asking);
    },
    answer: { status: "PENDING_SUBMISSION", market: "BTCUSD" },
  },
  {
    what: "an order that is awaited, as it is when the time is up",
    prepare: async (servers) => {
      const { customerId, id } = await openOrder(servers);
      return async (database) => (await findOrderOfCustomer(database, customerId, id))?.status;
    },
    answer: "PENDING_SUBMISSION",
  },
  {
    what: "an order that is awaited, and was closed by another node",
    prepare: async (servers) => {
      const order = await openOrder(servers);
      await servers.primary.owner.rows(
        "update orders set status = 'CANCELLED', cancel_reason = 'requested', held = 0, closed_at = now() where id = $1",
        [order.id],
      );
      return async (database) => (await listClosed(database, [order])).map(({ status }) => status);
    },
    answer: ["CANCELLED"],
  },
  {
    what: "a key that was revoked before",
    prepare: async () => (database) => deleteKey(database, "no such key"),
    answer: false,
  },
  {
    what: "an agreement that was ended before",
    prepare: async () => (database) => endAgreement(database, "BTCUSD" as MarketCode, newId(), TESTER),
    answer: false,
  },
  {
    what: "a client that is there already",
    prepare: async (servers) => {
      const customerId = await newCustomer(servers);
      const create = (database: Database) =>
        clientsOf(database).create({ customerId, clientId: "a", scopes: ["x"] }, TESTER);
      await create(servers.primary.database);
      return create;
    },
    answer: { kind: "rejected", rejection: "client_already_exists" },
  },
  {
    what: "a profile that is there already",
    prepare: async (servers) => {
      const [id] = newProfiles(1);
      await insertProfile(servers.primary.owner, id);
      const [row] = await servers.primary.owner.rows<{
        customer_id: CustomerId;
      }>("select customer_id from profile where id = $1", [id]);
      const request = {
        customerId: row?.customer_id as CustomerId,
        nickname: "treasury",
        description: undefined,
      };
      const { lane } = await startLane(servers.primary.database);
      await lane.stop();
      return async (database) => {
        const profiles = createProfiles({
          database,
          lane,
          ids: new IdSource(),
          clock: systemClock,
        });
        return (await profiles.ensure(request, id, TESTER)).kind;
      };
    },
    answer: "exists",
  },
  {
    what: "an event",
    prepare: async (servers) => {
      const customerId = await publishEvent(servers);
      return async (database) => {
        const { events } = await eventsOf(database).list({ customerId, after: 0n, limit: 1 });
        return events.map(({ number }) => number);
      };
    },
    answer: [1n],
  },
  {
    what: "the number of the last event",
    prepare: async (servers) => {
      const customerId = await publishEvent(servers);
      return async (database) => (await eventsOf(database).bounds(customerId)).last;
    },
    answer: 1n,
  },
  {
    what: "a transfer whose ref_id an item of a bulk repeats",
    prepare: async (servers) => {
      const customerId = await transferWithRefId(servers);
      return async ({ commits }) =>
        (await findByRefIds(commits, customerId, ["once"])).map(({ transfer }) => transfer.refId);
    },
    answer: ["once"],
  },
  {
    what: "that a ref_id of a transfer is taken",
    prepare: async (servers) => {
      const customerId = await transferWithRefId(servers);
      return async ({ commits }) => {
        const repeated = commandOn(refIdClaims(customerId, "once", newId()));
        const free = await new RefIdLookup(commits, systemClock, new Decider(BOUNDS)).lookUp([repeated]);
        return free.has(repeated) ? "free" : "taken";
      };
    },
    answer: "taken",
  },
  {
    what: "an export",
    prepare: async () => async (database) => (await exportJournals(database, "hledger").next()).done,
    answer: false,
  },
  {
    what: "the heads of a checkpoint",
    prepare: async () => async (database) => (await takeCheckpoint(database, systemClock.now())).at > 0,
    answer: true,
  },
];

const clientsOf = (database: Database): Clients =>
  new Clients({
    database,
    clock: systemClock,
    ids: new IdSource(),
    onUnrecordedUse: () => undefined,
  });

async function newCustomer({ primary }: Pair): Promise<CustomerId> {
  const id = newId() as string as CustomerId;
  await primary.owner.rows(
    "insert into customer (id, name, created_at) values ($1, 'Acme ' || gen_random_uuid(), now())",
    [id],
  );
  return id;
}

export async function openOrder({ primary }: Pair) {
  const { lane } = await startLane(primary.database);
  const catalogue = await loadCatalogue(primary.database);
  const exchange = new TestExchange(primary, lane, catalogue);
  const trader = await exchange.trader("Acme", "1000 USD");
  const id = await exchange.place(trader, {
    market: "BTCUSD",
    side: "BUY",
    base: "1",
    price: "100",
  });
  await exchange.close();
  return { ...trader, id, caller: TESTER, now: systemClock.now() };
}
