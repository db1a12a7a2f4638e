/**
 * Reads an engine's backlog, and the orders from which its book is rebuilt. Queries select by status and never by a
 * cursor, because neither ids nor times are in commit order.
 */
import type { Market, MarketCode } from "../../catalogue/market.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import type { Caller } from "../../ledger/caller.ts";
import { columnsOf, partOf, type SqlRecord } from "../../ledger/tables.ts";
import type { Database, Queryable } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import type { Lots, Price } from "../book/order.ts";
import type { MarketState } from "../market-state.ts";
import { type Order, type OrderId, type OrderStatus, orderTable } from "../order.ts";

const pendingOrder = partOf(orderTable, [
  "id",
  "profileId",
  "customerId",
  "side",
  "type",
  "timeInForce",
  "baseAmount",
  "quoteAmount",
  "price",
  "stopPrice",
  "expirationDate",
  "recipientProfileId",
  "createdAt",
  "version",
]);
export type PendingOrder = ReturnType<typeof pendingOrder.read>;

export interface EngineBacklog {
  readonly status: MarketState["status"];
  /** Orders that no engine has taken yet, oldest first. */
  readonly orders: readonly PendingOrder[];
  readonly hasCancels: boolean;
}

/** A requested cancel, and the current status of its order. */
export interface CancelRequest {
  readonly profileId: ProfileId;
  readonly orderId: OrderId;
  readonly requestedAt: Instant;
  readonly orderStatus: OrderStatus | undefined;
  /** Undefined: the request names none. */
  readonly caller: Caller | undefined;
}

/** A resting order, in the book's units. */
export interface OpenOrder
  extends Pick<
    Order,
    "id" | "profileId" | "customerId" | "side" | "recipientProfileId" | "expirationDate" | "version"
  > {
  readonly price: Price;
  readonly lots: Lots;
  readonly priority: number;
}

const PAGE = 5_000;

/** Reports only whether there are cancels: most rounds have none, and skip `readCancels`. */
export async function readBacklog(database: Queryable, market: MarketCode, limit: number): Promise<EngineBacklog> {
  const rows = await database.rows<SqlRecord>(
    `select m.status, exists (select from order_cancel where market = $1) as has_cancels, o.*
       from market m
       left join (select ${pendingOrder.columns}
                    from (select profile_id, id from pending_order
                           where market = $1 order by id limit $2) p join orders using (profile_id, id)) o on true
      where m.code = $1
      order by o.created_at, o.id`,
    [market, limit],
  );
  const first = must(rows[0], "a market with an engine has its row");
  return {
    status: first.status as MarketState["status"],
    orders: first.id === null ? [] : rows.map(pendingOrder.read),
    hasCancels: first.has_cancels as boolean,
  };
}

export async function readCancels(database: Queryable, market: MarketCode, limit: number): Promise<CancelRequest[]> {
  const rows = await database.rows<SqlRecord>(
    `select c.profile_id, c.order_id, c.requested_at, c.caller, o.status
       from order_cancel c left join orders o on o.profile_id = c.profile_id and o.id = c.order_id
      where c.market = $1
      order by c.requested_at, c.order_id limit $2`,
    [market, limit],
  );
  return rows.map((row) => ({
    profileId: row.profile_id as ProfileId,
    orderId: row.order_id as OrderId,
    requestedAt: row.requested_at as Instant,
    orderStatus: (row.status as OrderStatus | null) ?? undefined,
    caller: (row.caller as Caller | null) ?? undefined,
  }));
}

/** Deletes cancels that are done. One that a crash leaves behind finds its order closed next time. */
export async function deleteCancels(database: Queryable, cancels: readonly CancelRequest[]): Promise<void> {
  await database.rows(
    `delete from order_cancel c using unnest($1::uuid[], $2::uuid[]) as k(profile_id, order_id)
      where c.profile_id = k.profile_id and c.order_id = k.order_id`,
    [cancels.map((cancel) => cancel.profileId), cancels.map((cancel) => cancel.orderId)],
  );
}

/** The time of the oldest pending order or cancel, for each market that has one. */
export async function findOldestWork(
  database: Queryable,
  markets: readonly MarketCode[],
): Promise<Map<MarketCode, Instant>> {
  const rows = await database.rows<{ market: MarketCode; since: Instant }>(
    `select k.market, least(o.created_at, c.requested_at) as since
       from unnest($1::text[]) as k(market)
       left join lateral (select created_at from pending_order
                           where market = k.market order by id limit 1) o on true
       left join lateral (select requested_at from order_cancel
                           where market = k.market order by requested_at limit 1) c on true
      where o.created_at is not null or c.requested_at is not null`,
    [markets],
  );
  return new Map(rows.map((row) => [row.market, row.since]));
}

/**
 * Reads a market's resting orders in rising priority. It reads only the fields that the book needs, in the book's units,
 * so that a deep book is restored within seconds. Nothing is rounded: the book asserts that units are whole.
 */
export function eachOpenOrder(
  database: Database,
  { code, priceDecimals, baseDecimals }: Market,
  onOrder: (order: OpenOrder) => void,
): Promise<void> {
  const query = `
    select id, profile_id, customer_id, side, trim_scale(price * 10::numeric ^ $2::integer) as price,
           trim_scale((base_amount - filled) * 10::numeric ^ $3::integer) as lots, priority,
           recipient_profile_id, expiration_date, version
      from booked_order where market = $1 and status = 'OPEN' order by priority`;
  return eachRow(database, query, [code, priceDecimals, baseDecimals], (row) => onOrder(readOpenOrder(row)));
}

/** Stops that wait, and an order between two parts of its execution. */
export function eachSubmittedOrder(
  database: Database,
  market: MarketCode,
  onOrder: (order: Order) => void,
): Promise<void> {
  const query = `
    select ${columnsOf(orderTable, "o.")}
      from booked_order b join orders o on o.profile_id = b.profile_id and o.id = b.id
     where b.market = $1 and b.status = 'SUBMITTED'`;
  return eachRow(database, query, [market], (row) => onOrder(orderTable.read(row)));
}

/** In one snapshot, page by page, to bound memory. */
async function eachRow(
  database: Database,
  query: string,
  values: readonly unknown[],
  onRow: (row: SqlRecord) => void,
): Promise<void> {
  await database.transaction(async (transaction) => {
    // Lets the server sort a deep book in memory.
    await transaction.rows("set local work_mem = '64MB'");
    await transaction.rows(`declare pages no scroll cursor for ${query}`, values);
    for (;;) {
      const rows = await transaction.rows<SqlRecord>(`fetch ${PAGE} from pages`);
      for (const row of rows) onRow(row);
      if (rows.length < PAGE) return;
    }
  });
}

function readOpenOrder(row: SqlRecord): OpenOrder {
  return {
    id: row.id as OrderId,
    profileId: row.profile_id as ProfileId,
    customerId: row.customer_id as Order["customerId"],
    side: row.side as Order["side"],
    price: Number(row.price) as Price,
    lots: Number(row.lots) as Lots,
    priority: Number(row.priority),
    recipientProfileId: (row.recipient_profile_id as ProfileId | null) ?? undefined,
    expirationDate: (row.expiration_date as Instant | null) ?? undefined,
    version: BigInt(row.version as string),
  };
}
