/**
 * The exchange's routes over a socket, on the real ledger and a real database, without engines: what an engine would
 * do to an order, a test does itself with `close`. The tokens are "acme" and "globex", of two customers.
 */
import { pino } from "pino";
import { type Admissions, createAdmissions } from "../../../src/api/access/request-admission.ts";
import { executionRoutes } from "../../../src/api/routes/executions.ts";
import { marketRoutes } from "../../../src/api/routes/markets/markets.ts";
import { orderRoutes } from "../../../src/api/routes/orders/orders.ts";
import { createApi } from "../../../src/api/server.ts";
import { type Catalogue, loadCatalogue } from "../../../src/catalogue/catalogue.ts";
import type { MarketCode } from "../../../src/catalogue/market.ts";
import type { CustomerId } from "../../../src/customers/customer-id.ts";
import { createCustomers } from "../../../src/customers/customers.ts";
import {
  createProfiles,
  type Profile,
  type Profiles,
  profileKey,
  profileTable,
} from "../../../src/customers/profiles/profiles.ts";
import { createExchange, type EngineSignals, type Exchange, type Order } from "../../../src/exchange/exchange.ts";
import { orderKey, orderTable } from "../../../src/exchange/order.ts";
import { accountKey, entry, journal, type ProfileId } from "../../../src/ledger/accounts.ts";
import { accept } from "../../../src/ledger/decision.ts";
import { change } from "../../../src/ledger/tables.ts";
import { Lane } from "../../../src/ledger/writer/lane.ts";
import { amountOf, negative, ZERO } from "../../../src/money/amount.ts";
import { SCOPES } from "../../../src/oauth/scopes.ts";
import { must } from "../../../src/std/assert.ts";
import { type Clock, type Instant, systemClock } from "../../../src/std/clock.ts";
import { IdSource, type Uuid } from "../../../src/std/id.ts";
import { createTransfers, type Transfers } from "../../../src/transfers/transfers.ts";
import { type TestDatabase, testDatabase } from "../database.ts";
import { ledgerClock, TESTER } from "../movements.ts";

export interface Party {
  readonly token: string;
  readonly customerId: CustomerId;
  /** Its DEFAULT profile. */
  readonly home: ProfileId;
}

export interface ExchangeApi {
  readonly url: string;
  readonly db: TestDatabase;
  readonly exchange: Exchange;
  readonly profiles: Profiles;
  readonly transfers: Transfers;
  readonly catalogue: Catalogue;
  readonly acme: Party;
  readonly globex: Party;
  /** What requests are being worked on. */
  readonly admissions: Admissions;
  /** The markets whose engine was woken, in order. */
  readonly woken: MarketCode[];
  /** The time that it is for the service. */
  readonly time: { now: Instant | undefined };
  profile(party: Party, balances: Readonly<Record<string, string>>): Promise<Profile>;
  /** Tells of an order as the engine of this process does after a commit. */
  tell(order: Order): void;
  /** Closes an order as an engine elsewhere does. */
  close(order: Pick<Order, "id" | "profileId">, how: Partial<Order>): Promise<Order>;
  stop(): Promise<void>;
}

export async function startExchangeApi(): Promise<ExchangeApi> {
  const db = await testDatabase();
  const { database } = db;
  const time: { now: Instant | undefined } = { now: undefined };
  const clock: Clock = { now: () => time.now ?? systemClock.now() };
  const ids = new IdSource(clock);
  const lane = new Lane({ database, clock: ledgerClock(), holder: "test", log: () => undefined });
  await lane.start();
  const catalogue = await loadCatalogue(database);
  const profiles = createProfiles({ database, lane, ids, clock });
  const customers = createCustomers({ database, lane, ids, clock });
  const transfers = createTransfers({ database, lane, catalogue, ids });
  const party = async (token: string): Promise<Party> => {
    const customerId = ids.next() as Uuid as CustomerId;
    await customers.ensure(customerId, token, TESTER);
    return { token, customerId, home: (await profiles.getDefault(customerId)).id };
  };
  const parties = { acme: await party("acme"), globex: await party("globex") };
  const woken: MarketCode[] = [];
  const listeners: Parameters<EngineSignals["onCommitted"]>[0][] = [];
  const exchange = createExchange({
    database,
    lane,
    catalogue,
    ids,
    clock,
    engines: { wake: (market) => woken.push(market), onCommitted: (listener) => listeners.push(listener) },
    onFeedFault: (error) => {
      throw error;
    },
  });
  const admissions = createAdmissions();
  const api = await createApi({
    admissions,
    baseUrl: () => "http://parbook.test",
    authUrl: () => "http://auth.parbook.test",
    log: pino({ level: "silent" }),
    verify: async (token) => {
      const known = Object.values(parties).find((one) => one.token === token.split("/")[0]);
      const scopes = token.includes("/") ? [] : Object.keys(SCOPES);
      return known && { customerId: known.customerId, clientId: token, scopes: new Set(scopes), tokenId: token };
    },
    rejectsWork: () => lane.unavailableReason,
    defaultProfileOf: async (customerId) => (await profiles.getDefault(customerId)).id,
  });
  orderRoutes(api, exchange, profiles);
  executionRoutes(api, exchange, profiles);
  marketRoutes(api, exchange);
  const url = await api.listen({ port: 0, host: "127.0.0.1" });

  return {
    ...parties,
    url,
    admissions,
    db,
    exchange,
    profiles,
    transfers,
    catalogue,
    woken,
    time,
    profile: async ({ customerId }, balances) => {
      const outcome = await profiles.create({ customerId, nickname: ids.next(), description: undefined }, TESTER);
      if (outcome.kind !== "done") throw new Error(`a profile was not made: ${outcome.kind}`);
      for (const [asset, amount] of Object.entries(balances)) {
        await deposit(transfers, customerId, outcome.value.id, asset, amount);
      }
      return outcome.value;
    },
    tell: (order) => {
      const change = { market: order.market, version: 0n, levels: [] };
      for (const listener of listeners) listener({ orders: [order], change });
    },
    close: (order, how) => closeOrder(lane, catalogue, order, how),
    stop: async () => {
      exchange.stop();
      await api.close();
      catalogue.close();
      await lane.stop();
      await db.close();
    },
  };
}

async function deposit(
  transfers: Transfers,
  customerId: CustomerId,
  profileId: ProfileId,
  asset: string,
  text: string,
): Promise<void> {
  const amount = amountOf(text);
  const type = "WIRE_DEPOSIT";
  const outcome = await transfers.recordExternal(
    {
      customerId,
      profileId,
      amount,
      asset,
      direction: "CREDIT",
      type,
      details: {},
    },
    TESTER,
  );
  if (outcome.kind !== "done") throw new Error(`a deposit was not made: ${outcome.kind}`);
}

async function closeOrder(
  lane: Lane,
  catalogue: Catalogue,
  { id, profileId }: Pick<Order, "id" | "profileId">,
  how: Partial<Order>,
): Promise<Order> {
  const key = orderKey(profileId, id);
  const markets = catalogue.listMarkets();
  const recipients = how.recipientProfileId === undefined ? [] : [profileKey(how.recipientProfileId)];
  const accounts = [...new Set(markets.flatMap(({ base, quote }) => [base, quote]))].map((a) =>
    accountKey(profileId, a),
  );
  const outcome = await lane.execute<Order, never>({
    queueKey: "house",
    caller: TESTER,
    dependsOn: [key, ...recipients, ...accounts],
    decide: (state, now) => {
      const order = must(state.get(orderTable, key.key), "the order to close is there");
      const market = must(catalogue.findMarket(order.market), "its market is there");
      const cancelReason = (how.status ?? "CANCELLED") === "CANCELLED" ? "requested" : undefined;
      const closed: Order = {
        ...order,
        status: "CANCELLED",
        cancelReason,
        ...how,
        held: ZERO,
        updatedAt: now,
        closedAt: now,
      };
      const asset = order.side === "BUY" ? market.quote : market.base;
      const recipient = how.recipientProfileId && state.get(profileTable, how.recipientProfileId);
      return accept(closed, {
        states: [
          change(orderTable, closed),
          ...(recipient ? [change(profileTable, { ...recipient, incomingCount: recipient.incomingCount - 1 })] : []),
        ],
        journals: [
          journal(order.id, "order_released", [
            entry(profileId, asset, negative(order.held), "trading"),
            entry(profileId, asset, order.held),
          ]),
        ],
      });
    },
  });
  if (outcome.kind !== "done") throw new Error(`the order was not closed: ${outcome.kind}`);
  return outcome.value;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Asks with the request id "r-1", so that whole bodies can be compared. */
export async function ask(
  api: ExchangeApi,
  method: "GET" | "POST" | "DELETE",
  path: string,
  { token = "acme", json }: { readonly token?: string; readonly json?: unknown } = {},
): Promise<Answer> {
  const response = await fetch(api.url + path, {
    method,
    headers: {
      "x-request-id": "r-1",
      authorization: `Bearer ${token}`,
      ...(json === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  return { status: response.status, body: await response.json() };
}

/** The whole answer that a problem is. */
export function problem(
  status: number,
  title: string,
  detail: string,
  { slug, meta = {} }: { readonly slug?: string; readonly meta?: object } = {},
): Answer {
  const type = slug === undefined ? "about:blank" : `http://parbook.test/problems/${slug}`;
  return { status, body: { type, title, status, detail, meta, request_id: "r-1" } };
}

/** The answer to a request with one field that breaks a rule. */
export function badField(field: string, value: unknown, rule: string): Answer {
  const shown = value === undefined ? field : `${field} ${JSON.stringify(value)}`;
  const error = value === undefined ? { field, rule } : { field, value, rule };
  return problem(400, "Bad Request", `${shown} ${rule}`, { meta: { errors: [error] } });
}
