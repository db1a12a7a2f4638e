import type { MarketCode } from "../../catalogue/market.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import {
  allOf,
  annotationConditions,
  byId,
  type Filter,
  idBounds,
  joined,
  type ListOptions,
  listOf,
  type Sql,
  sql,
  textOf,
} from "../../customers/list-queries.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import type { Caller } from "../../ledger/caller.ts";
import { columnsOf, type SqlRecord } from "../../ledger/tables.ts";
import { type Queryable, sqlTime } from "../../postgres/database.ts";
import { COMMIT_MARKER } from "../../postgres/durability.ts";
import type { Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import { ORDER_ANNOTATIONS, type Order, type OrderId, type OrderStatus, orderTable } from "../order.ts";

const COLUMNS = columnsOf(orderTable);

export async function findOrder(
  database: Queryable,
  customerId: CustomerId,
  profileId: ProfileId,
  id: OrderId,
): Promise<Order | undefined> {
  const [row] = await database.rows<SqlRecord>(
    `select ${COLUMNS} from orders where profile_id = $1 and id = $2 and customer_id = $3`,
    [profileId, id, customerId],
    "once",
  );
  return row && orderTable.read(row);
}

/** Finds an order without its profile, such as by ref_id. The result is durable. */
export async function findOrderOfCustomer(
  database: Queryable,
  customerId: CustomerId,
  id: OrderId,
): Promise<Order | undefined> {
  const [row] = await database.rows<SqlRecord>(
    `select ${COLUMNS}, ${COMMIT_MARKER} as committed_behind from orders where customer_id = $1 and id = $2`,
    [customerId, id],
  );
  return row && orderTable.read(row);
}

/** The closed ones of these orders, durably. */
export async function listClosed(
  database: Queryable,
  orders: readonly Pick<Order, "profileId" | "id">[],
): Promise<Order[]> {
  const rows = await database.rows<SqlRecord>(
    `select ${COLUMNS}, ${COMMIT_MARKER} as committed_behind from orders
      where (profile_id, id) in (select * from unnest($1::uuid[], $2::uuid[])) and closed_at is not null`,
    [orders.map((order) => order.profileId), orders.map((order) => order.id)],
  );
  return rows.map(orderTable.read);
}

const CONDITIONS = {
  profileId: (id: string) => sql`profile_id = ${id}`,
  ids: (ids: readonly string[]) => sql`id = any(${ids})`,
  market: (market: string) => sql`market = ${market}`,
  status: statusCondition,
  refIds: (refIds: readonly string[]) => sql`ref_id = any(${refIds})`,
  ...annotationConditions(ORDER_ANNOTATIONS),
  ...idBounds,
};

/**
 * Open orders are few among all that a customer ever had, so they are found by the tables that hold no others. An array
 * makes PostgreSQL begin there, whatever it believes about the size of these tables. Those that are named are found by name.
 */
function statusCondition(status: OrderStatus, customerId: CustomerId, filter: OpenFilter): Sql {
  if (filter.ids !== undefined || filter.refIds !== undefined) return sql`status = ${status}`;
  switch (status) {
    case "PENDING_SUBMISSION":
      return sql`status = ${status} and id = any(array(select id from pending_order where customer_id = ${customerId}))`;
    case "SUBMITTED":
    case "OPEN":
      return sql`status = ${status} and id = any(array(${bookedIds(status, customerId, filter)}))`;
    default:
      return sql`status = ${status}`;
  }
}

/** The part of a filter that booked_order can answer, or that makes it superfluous. */
interface OpenFilter extends ListOptions {
  readonly ids?: readonly string[];
  readonly refIds?: readonly string[];
  readonly profileId?: string;
  readonly market?: string;
  readonly from?: Uuid;
  readonly before?: Uuid;
}

const IN_BOOKED_ORDER: ReadonlySet<string> = new Set([
  ...["customerId", "status", "profileId", "market", "from", "before"],
  ...["after", "order", "limit"],
]);

/** A page of them; all of them if the list filters by what booked_order does not have. */
function bookedIds(status: OrderStatus, customerId: CustomerId, filter: OpenFilter): Sql {
  const { profileId, market, from, before, after, order, limit } = filter;
  const where = [sql`customer_id = ${customerId}`, sql`status = ${status}`];
  if (profileId !== undefined) where.push(CONDITIONS.profileId(profileId));
  if (market !== undefined) where.push(CONDITIONS.market(market));
  if (from !== undefined) where.push(CONDITIONS.from(from));
  if (before !== undefined) where.push(CONDITIONS.before(before));
  if (after !== undefined) where.push(sql`id ${textOf(order === "ASC" ? ">" : "<")} ${after}`);
  const found = sql`select id from booked_order where ${joined(where, " and ")}`;
  const isAll = Object.entries(filter).some(([name, value]) => value !== undefined && !IN_BOOKED_ORDER.has(name));
  return isAll ? found : sql`${found} order by id ${textOf(order)} limit ${limit}`;
}

export type OrderFilter = Filter<typeof CONDITIONS>;

export const listOrders = listOf({ table: allOf(orderTable), sortKey: byId, conditions: CONDITIONS });

interface CancelInput {
  readonly customerId: CustomerId;
  readonly profileId: ProfileId;
  readonly id: OrderId;
  readonly caller: Caller;
  readonly now: Instant;
}

/** The order's status, and its market if the order is open, whose engine must then be notified. */
export interface CancelRequested {
  readonly status: OrderStatus;
  readonly market: MarketCode | undefined;
}

/**
 * Stores a request to cancel an order, unless the order is closed. One statement checks the order and stores the request.
 * If a fill commits concurrently, the engine finds the order closed. The result is durable, also when the request existed
 * or the order is closed. @returns undefined when there is no such order
 */
export async function requestCancel(
  database: Queryable,
  { customerId, profileId, id, caller, now }: CancelInput,
): Promise<CancelRequested | undefined> {
  const [row] = await database.rows<{ status: OrderStatus; market: MarketCode | null }>(
    `with found as (
       select market, status, closed_at from orders where profile_id = $1 and id = $2 and customer_id = $3),
     asked as (
       insert into order_cancel (profile_id, order_id, market, requested_at, caller)
       select $1, $2, market, $4, $5 from found where closed_at is null
           on conflict do nothing
       returning 1)
     select status, case when closed_at is null then market end as market,
            case when not exists (select from asked) then ${COMMIT_MARKER} end as committed_behind
       from found`,
    [profileId, id, customerId, sqlTime(now), JSON.stringify(caller)],
  );
  return row && { status: row.status, market: row.market ?? undefined };
}
