/** A small exchange for tests of the engine: markets, traders with money, and orders of every kind, placed directly. */
import { expect } from "vitest";
import { type Catalogue, loadCatalogue } from "../../../src/catalogue/catalogue.ts";
import type { Market, MarketCode } from "../../../src/catalogue/market.ts";
import type { CustomerId } from "../../../src/customers/customer-id.ts";
import { openProfile, profileKey, profileTable } from "../../../src/customers/profiles/profiles.ts";
import { createEngines, type Engines } from "../../../src/exchange/engine/engines.ts";
import { type Execution, executionTable } from "../../../src/exchange/execution.ts";
import type { MarketState } from "../../../src/exchange/market-state.ts";
import { marketKey, marketTable } from "../../../src/exchange/market-state.ts";
import { type Order, type OrderId, orderTable } from "../../../src/exchange/order.ts";
import { accountKey, entry, journal, type ProfileId } from "../../../src/ledger/accounts.ts";
import { accept, type Command, type Rejection } from "../../../src/ledger/decision.ts";
import { depositEntries, externalTransferKeys } from "../../../src/ledger/external-transfer-entries.ts";
import { accountOf } from "../../../src/ledger/rejections.ts";
import { change, columnsOf, type SqlRecord } from "../../../src/ledger/tables.ts";
import type { Lane } from "../../../src/ledger/writer/lane.ts";
import { type Amount, amountOf, formatAmount, multiplyExact, negative, plus, ZERO } from "../../../src/money/amount.ts";
import type { AssetCode } from "../../../src/money/asset.ts";
import type { Queryable } from "../../../src/postgres/database.ts";
import { must } from "../../../src/std/assert.ts";
import { type Instant, systemClock } from "../../../src/std/clock.ts";
import { IdSource, instantOf } from "../../../src/std/id.ts";
import { reject } from "../../../src/std/result.ts";
import { type TestDatabase, testDatabase } from "../database.ts";
import { startLane, TESTER } from "../movements.ts";
import { until } from "../until.ts";

const ids = new IdSource();
const ONE = amountOf("1");

export interface Trader {
  readonly customerId: CustomerId;
  readonly profileId: ProfileId;
}

/** An order as a test asks for it: amounts as text, the rest as the market and the trader have it. */
export interface OrderAsked
  extends Partial<Pick<Order, "type" | "timeInForce" | "recipientProfileId" | "expirationDate" | "annotations">> {
  readonly market: string;
  readonly side: Order["side"];
  readonly base?: string;
  readonly quote?: string;
  readonly price?: string;
  readonly stopPrice?: string;
  readonly takerRate?: string;
  readonly makerRebate?: string;
}

export class TestExchange {
  readonly db: TestDatabase;
  readonly lane: Lane;
  readonly catalogue: Catalogue;

  constructor(db: TestDatabase, lane: Lane, catalogue: Catalogue) {
    this.db = db;
    this.lane = lane;
    this.catalogue = catalogue;
  }

  static async open(): Promise<TestExchange> {
    const db = await testDatabase();
    const { lane } = await startLane(db.database);
    return new TestExchange(db, lane, await loadCatalogue(db.database));
  }

  async close(): Promise<void> {
    this.catalogue.close();
    await this.lane.stop();
    await this.db.close();
  }

  /** Engines of one node, which run. The test stops them. */
  startEngines(): Engines {
    const { db, lane, catalogue } = this;
    const log = (): void => undefined;
    const engines = createEngines({ database: db.database, lane, clock: systemClock, catalogue, holder: "test", log });
    engines.start();
    return engines;
  }

  market(code: string): Market {
    return must(this.catalogue.findMarket(code), `there is a market ${code}`);
  }

  /** A customer with one profile that has this money: "10000 USD, 3 BTC". */
  async trader(name: string, money: string): Promise<Trader> {
    const customerId = ids.next() as string as CustomerId;
    await this.db.database.rows("insert into customer (id, name, created_at) values ($1, $2, now())", [
      customerId,
      `${name} ${customerId}`,
    ]);
    return { customerId, profileId: await this.profile(customerId, "DEFAULT", money) };
  }

  async profile(customerId: CustomerId, kind: "DEFAULT" | "NORMAL", money = ""): Promise<ProfileId> {
    const id = ids.next();
    const profileId = id as string as ProfileId;
    const opening = { customerId, nickname: id as string, description: undefined };
    await this.lane.execute(openProfile(profileId, kind, instantOf(id), opening, TESTER));
    for (const part of money === "" ? [] : money.split(", ")) {
      const [amount, asset] = part.split(" ") as [string, string];
      await this.#deposit(profileId, amountOf(amount), asset);
    }
    return profileId;
  }

  async #deposit(profileId: ProfileId, amount: Amount, code: string): Promise<void> {
    const asset = must(this.catalogue.findAsset(code), `there is an asset ${code}`);
    await this.lane.execute({
      queueKey: "house",
      caller: TESTER,
      dependsOn: externalTransferKeys(profileId, asset),
      decide: () =>
        accept(undefined, { journals: [journal(ids.next(), "deposit", depositEntries(profileId, asset, amount))] }),
    });
  }

  /** Places an order as intake does: held and stored as PENDING_SUBMISSION. Throws when the funds do not suffice. */
  async place(trader: Trader, asked: OrderAsked): Promise<OrderId> {
    const order = pendingOrder(trader, asked, this.market(asked.market));
    const outcome = await this.lane.execute(placing(order, this.market(asked.market)));
    if (outcome.kind !== "done") throw new Error(`order not placed: ${JSON.stringify(outcome)}`);
    return order.id;
  }

  /** Some at a time, so that each wait is a short one. */
  async placeMany(trader: Trader, count: number, asked: OrderAsked): Promise<void> {
    for (let placed = 0; placed < count; placed += 100) {
      await Promise.all(Array.from({ length: Math.min(100, count - placed) }, () => this.place(trader, asked)));
      await this.untilDone();
    }
  }

  async askToCancelAll(): Promise<void> {
    await this.db.database.rows(
      `insert into order_cancel (profile_id, order_id, market, requested_at)
       select profile_id, id, market, now() from orders where closed_at is null`,
    );
  }

  async askToCancel(id: OrderId): Promise<void> {
    await this.db.database.rows(
      `insert into order_cancel (profile_id, order_id, market, requested_at)
       select profile_id, id, market, now() from orders where id = $1 on conflict do nothing`,
      [id],
    );
  }

  /** Halts or opens a market. */
  async setStatus(code: string, status: MarketState["status"]): Promise<void> {
    const market = code as MarketCode;
    await this.lane.execute({
      queueKey: "house",
      caller: TESTER,
      dependsOn: [marketKey(market)],
      decide: (state) => {
        const row = must(state.get(marketTable, market), "a market has its row");
        return accept(undefined, { states: [change(marketTable, { ...row, status })] });
      },
    });
  }

  /** Waits until the engines have taken every order and dealt with every cancel. */
  async untilDone(): Promise<void> {
    await until(
      "no order and no cancel waits for an engine",
      async () => {
        const [row] = await this.db.database.rows<{ waiting: string }>(
          `select (select count(*) from orders
                  where status = 'PENDING_SUBMISSION' or (status = 'SUBMITTED' and (stop_price is null or is_triggered)))
              + (select count(*) from order_cancel) as waiting`,
        );
        return row?.waiting === "0";
      },
      60,
    );
  }

  async order(id: OrderId): Promise<Order> {
    const rows = await this.db.database.rows<SqlRecord>(`select ${columnsOf(orderTable)} from orders where id = $1`, [
      id,
    ]);
    return orderTable.read(must(rows[0], `there is an order ${id}`));
  }

  /** "FILLED 2 for 200.5, holds 0", and why it was rejected. */
  async received(id: OrderId): Promise<string> {
    const { status, filled, filledGross, held, rejectReason } = await this.order(id);
    const [f, g, h] = [filled, filledGross, held].map(formatAmount);
    return `${status}${rejectReason === undefined ? "" : ` ${rejectReason}`} ${f} for ${g}, holds ${h}`;
  }

  async executions(id: OrderId): Promise<Execution[]> {
    const rows = await this.db.database.rows<SqlRecord>(
      `select ${columnsOf(executionTable)} from execution where order_id = $1 order by id`,
      [id],
    );
    return rows.map(executionTable.read);
  }

  /** The execution of an order that matched once. */
  async execution(id: OrderId): Promise<Execution> {
    const [execution, ...others] = await this.executions(id);
    expect(others).toEqual([]);
    return must(execution, `order ${id} has an execution`);
  }

  /** What a profile has, available and held by orders: { USD: "90 + 10" }. */
  async balances(profileId: ProfileId): Promise<Record<string, string>> {
    const rows = await this.db.database.rows<{ asset: string; available: string; trading: string }>(
      "select asset, available, trading from account where owner_id = $1",
      [profileId],
    );
    const text = (amount: string): string => formatAmount(amountOf(amount));
    return Object.fromEntries(rows.map((row) => [row.asset, `${text(row.available)} + ${text(row.trading)}`]));
  }

  /** What the house has earned in an asset. */
  async fees(asset: string): Promise<Amount> {
    const [row] = await this.db.database.rows<{ sum: string }>(
      "select coalesce(sum(available), 0) as sum from account where house = 'fees' and asset = $1",
      [asset],
    );
    return amountOf(must(row, "an aggregate has a row").sum);
  }

  async expectAwaited(profileId: ProfileId, incoming_count: number): Promise<void> {
    const rows = await this.db.database.rows("select incoming_count from profile where id = $1", [profileId]);
    expect(rows).toEqual([{ incoming_count }]);
  }
}

function pendingOrder(trader: Trader, asked: OrderAsked, market: Market): Order {
  const id = ids.next();
  const amount = (text: string | undefined): Amount | undefined => (text === undefined ? undefined : amountOf(text));
  const order: Omit<Order, "held"> = {
    id: id as string as OrderId,
    ...trader,
    market: market.code,
    side: asked.side,
    type: asked.type ?? "LIMIT",
    timeInForce: asked.timeInForce ?? "GTC",
    baseAmount: amount(asked.base),
    quoteAmount: amount(asked.quote),
    price: amount(asked.price),
    stopPrice: amount(asked.stopPrice),
    expirationDate: asked.expirationDate,
    takerRate: amountOf(asked.takerRate ?? "0.0035"),
    makerRebate: amountOf(asked.makerRebate ?? "0.0003"),
    recipientProfileId: asked.recipientProfileId,
    refId: undefined,
    annotations: asked.annotations ?? {},
    createdAt: instantOf(id),
    status: "PENDING_SUBMISSION",
    sequence: undefined,
    priority: undefined,
    filled: ZERO,
    filledGross: ZERO,
    isTriggered: false,
    rejectReason: undefined,
    cancelReason: undefined,
    updatedAt: instantOf(id),
    closedAt: undefined,
    version: 0n,
  };
  return { ...order, held: holdOf(order) };
}

function holdOf({ side, baseAmount, quoteAmount, price, takerRate }: Omit<Order, "held">): Amount {
  if (side === "SELL") return must(baseAmount, "a sell names its base amount");
  const gross = quoteAmount ?? multiplyExact(must(baseAmount, "no quote amount"), must(price, "a limit has a price"));
  return multiplyExact(gross, plus(ONE, takerRate));
}

function placing(order: Order, market: Market): Command<undefined, Rejection> {
  const { profileId, recipientProfileId, customerId, held, side, id } = order;
  const asset: AssetCode = side === "BUY" ? market.quote : market.base;
  const awaiting = recipientProfileId === undefined || recipientProfileId === profileId ? [] : [recipientProfileId];
  return {
    queueKey: customerId,
    caller: TESTER,
    dependsOn: [accountKey(profileId, asset), ...awaiting.map(profileKey)],
    decide: (state) => {
      if ((accountOf(state, profileId, asset)?.available ?? ZERO) < held) return reject({ code: "insufficient_funds" });
      const entries = [entry(profileId, asset, negative(held)), entry(profileId, asset, held, "trading")];
      const recipients = awaiting.map((recipient) => must(state.get(profileTable, recipient), "a recipient is there"));
      return accept(undefined, {
        states: [
          change(orderTable, order),
          ...recipients.map((profile) =>
            change(profileTable, { ...profile, incomingCount: profile.incomingCount + 1 }),
          ),
        ],
        journals: [journal(id, "order_held", entries)],
      });
    },
  };
}

/** So many milliseconds from now. */
export const ahead = (ms: number): Instant => (Date.now() + ms) as Instant;

/**
 * Proves in plain SQL that every order holds what is left of it and no more, that it filled what its executions say,
 * that a match has two of them, that every profile awaits the open orders that will pay into it, and that what a customer
 * traded in a day is what his executions come to.
 */
export async function expectOrdersAddUp(database: Queryable): Promise<void> {
  const broken = await database.rows<{ broken: string }>(
    `select format('order %s %s holds %s, filled %s for %s', id, status, held, filled, filled_gross) as broken
       from orders o
       left join lateral (select sum(amount) as amount, sum(amount * price) as gross
                            from execution e where e.order_id = o.id) e on true
      where held <> case when closed_at is not null then 0
                         when side = 'SELL' then base_amount - filled
                         when quote_amount is not null then (quote_amount - filled_gross) * (1 + taker_rate)
                         else (base_amount - filled) * price * (1 + taker_rate) end
         or filled <> coalesce(e.amount, 0) or filled_gross <> coalesce(e.gross, 0)
     union all
     select format('order %s differs from what is derived from it', coalesce(o.id, b.id))
       from (select * from orders where status in ('OPEN', 'SUBMITTED')) o full join booked_order b using (market, id)
      where (b.profile_id, b.version, b.side, b.status, b.price, b.base_amount, b.filled, b.priority) is distinct from
            (o.profile_id, o.version, o.side, o.status, o.price, o.base_amount, o.filled, o.priority)
     union all
     select format('order %s differs from what is derived from it', coalesce(o.id, p.id))
       from (select * from orders where status = 'PENDING_SUBMISSION') o full join pending_order p using (market, id)
      where (p.profile_id, p.version) is distinct from (o.profile_id, o.version)
     union all
     select format('execution %s has no other side', id) from execution e
      where not exists (select from execution x where x.market = e.market and x.id = e.id # 1 and x.side <> e.side
                           and (x.amount, x.price, x.executed_at) = (e.amount, e.price, e.executed_at))
     union all
     select format('profile %s awaits %s', id, incoming_count) from profile p
      where incoming_count <> (select count(*) from orders o where o.recipient_profile_id = p.id and o.profile_id <> p.id
                                                        and o.closed_at is null)
     union all
     select format('customer %s traded %s on %s of %s, but his executions come to %s', customer_id, t.gross, market, day,
                   e.gross)
       from customer_volume t
       full join (select customer_id, (executed_at at time zone 'UTC')::date as day, market, sum(amount * price) as gross
                    from execution group by 1, 2, 3) e using (customer_id, day, market)
      where t.gross is distinct from e.gross`,
  );
  expect(broken).toEqual([]);
}
