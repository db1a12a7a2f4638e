/** The exchange's part of `known-statements.ts`: the statements of orders and engines. */
import { orderTable } from "../../../src/exchange/order.ts";
import { columnsOf } from "../../../src/ledger/tables.ts";
import { amountOf } from "../../../src/money/amount.ts";
import { COMMIT_MARKER } from "../../../src/postgres/durability.ts";
import { must } from "../../../src/std/assert.ts";
import { feeTiers } from "../fixtures.ts";
import { insertRow } from "./row-statements.ts";
import type { Run, Statement } from "./statement.ts";
import { keyOfRow, pick, type Row } from "./tables.ts";

const ORDER = columnsOf(orderTable);
const PENDING_COLUMNS =
  "id, profile_id, customer_id, side, type, time_in_force, base_amount, quote_amount, price, stop_price, expiration_date, recipient_profile_id, created_at, version";
/** The result of an outer join without a pending order. */
const NO_PENDING = Object.fromEntries(PENDING_COLUMNS.split(", ").map((name) => [name, null]));

const time = (value: unknown): number => (value instanceof Date ? value.getTime() : Number(value));

const inOrder = (a: Row, b: Row): number =>
  Number(a.created_at) - Number(b.created_at) || (String(a.id) < String(b.id) ? -1 : 1);

const cancelsOf = ({ tables }: Run, market: unknown): Row[] =>
  tables
    .rows("order_cancel")
    .filter((row) => row.market === market)
    .sort(
      (a, b) => Number(a.requested_at) - Number(b.requested_at) || (String(a.order_id) < String(b.order_id) ? -1 : 1),
    );

const pendingOf = ({ tables }: Run, market: unknown): Row[] =>
  tables
    .rows("pending_order")
    .filter((row) => row.market === market)
    .sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));

const bookedOf = ({ tables }: Run, market: unknown, status: string): Row[] =>
  tables.rows("booked_order").filter((row) => row.market === market && row.status === status);

/** The rows of these orders in `orders`. */
const wholeOrders = ({ tables }: Run, rows: readonly Row[]): Row[] =>
  rows.map((row) => must(tables.get("orders", keyOfRow("orders", row)), "a pending or booked order is an order"));

export const exchangeStatements: Readonly<Record<string, Statement>> = {
  // exchange/market-status/markets.ts, exchange/customer-fees/store.ts, catalogue/fee-schedule/store.ts
  "select last_price from market_head where market = $1": ({ tables }, [market]) => {
    const row = tables.get("market_head", String(market));
    return row === undefined ? [] : [pick(row, "last_price")];
  },
  "select market, sum(gross) as gross from customer_volume where customer_id = $1 and day >= $2 group by market": (
    { tables },
    [customer, since],
  ) => {
    const sums = new Map<unknown, bigint>();
    for (const row of tables.rows("customer_volume")) {
      if (row.customer_id !== customer || String(row.day) < String(since)) continue;
      sums.set(row.market, (sums.get(row.market) ?? 0n) + amountOf(String(row.gross)));
    }
    return [...sums].map(([market, sum]) => ({ market, gross: decimal(sum) }));
  },
  // Nobody has an agreement.
  [`select t.market, t.minimum_gross, t.taker_rate, t.maker_rebate, a.taker_rate as agreed_taker_rate,
            a.maker_rebate as agreed_maker_rebate
       from fee_tier t left join fee_agreement a on a.market = t.market and a.customer_id = $1
      where $2::text is null or t.market = $2
      order by t.market, t.minimum_gross`]: (_, [, asked]) =>
    feeTiers
      .filter(({ market }) => asked === null || market === asked)
      .map(({ market, tier }) => ({ market, ...tier, agreed_taker_rate: null, agreed_maker_rebate: null })),

  // exchange/orders/store.ts
  [`with found as (
      select market, status, closed_at from orders where profile_id = $1 and id = $2 and customer_id = $3),
    asked as (
      insert into order_cancel (profile_id, order_id, market, requested_at, caller)
      select $1, $2, market, $4, $5 from found where closed_at is null
          on conflict do nothing
      returning 1)
    select status, case when closed_at is null then market end as market,
           case when not exists (select from asked) then ${COMMIT_MARKER} end as committed_behind
      from found`]: async (run, [profile, id, customer, at, caller]) => {
    const order = run.tables.get("orders", `${profile}/${id}`);
    if (order === undefined || order.customer_id !== customer) return [];
    const { status, market, closed_at } = order;
    const behind = async (answered: unknown) => {
      await run.writeMessage();
      return [{ status, market: answered, committed_behind: true }];
    };
    if (closed_at !== null) return behind(null);
    const request = { profile_id: profile, order_id: id, market, requested_at: time(at) };
    const isNew = await insertRow(run, "order_cancel", { ...request, caller: JSON.parse(String(caller)) }, true);
    return isNew ? [{ status, market, committed_behind: null }] : behind(market);
  },

  // exchange/engine/store.ts
  [`select m.status, exists (select from order_cancel where market = $1) as has_cancels, o.*
      from market m
      left join (select ${PENDING_COLUMNS}
                   from (select profile_id, id from pending_order
                           where market = $1 order by id limit $2) p join orders using (profile_id, id)) o on true
     where m.code = $1
     order by o.created_at, o.id`]: (run, [market, limit]) => {
    const row = run.tables.get("market", String(market));
    if (row === undefined) return [];
    const pending = wholeOrders(run, pendingOf(run, market).slice(0, Number(limit))).sort(inOrder);
    const found = pending.length === 0 ? [NO_PENDING] : pending.map((order) => pick(order, PENDING_COLUMNS));
    const has_cancels = cancelsOf(run, market).length > 0;
    return found.map((order) => ({ ...order, status: row.status, has_cancels }));
  },
  [`select c.profile_id, c.order_id, c.requested_at, c.caller, o.status
      from order_cancel c left join orders o on o.profile_id = c.profile_id and o.id = c.order_id
     where c.market = $1
     order by c.requested_at, c.order_id limit $2`]: (run, [market, limit]) =>
    cancelsOf(run, market)
      .slice(0, Number(limit))
      .map((row) => ({
        ...pick(row, "profile_id, order_id, requested_at, caller"),
        status: run.tables.get("orders", `${row.profile_id}/${row.order_id}`)?.status ?? null,
      })),
  [`delete from order_cancel c using unnest($1::uuid[], $2::uuid[]) as k(profile_id, order_id)
     where c.profile_id = k.profile_id and c.order_id = k.order_id`]: async (run, [profiles, orders]) => {
    const keys = (profiles as string[]).map((profile, i) => `${profile}/${(orders as string[])[i]}`);
    for (const key of keys.filter((key) => run.tables.get("order_cancel", key) !== undefined)) {
      await run.lock("order_cancel", key, "exclusive");
      const row = run.tables.get("order_cancel", key);
      if (row !== undefined) run.remove("order_cancel", row);
    }
    return [];
  },
  [`select k.market, least(o.created_at, c.requested_at) as since
      from unnest($1::text[]) as k(market)
      left join lateral (select created_at from pending_order
                           where market = k.market order by id limit 1) o on true
      left join lateral (select requested_at from order_cancel
                          where market = k.market order by requested_at limit 1) c on true
     where o.created_at is not null or c.requested_at is not null`]: (run, [markets]) =>
    (markets as string[]).flatMap((market) => {
      const [order] = pendingOf(run, market);
      const [cancel] = cancelsOf(run, market);
      const times = [order?.created_at, cancel?.requested_at].filter((at) => at !== undefined).map(Number);
      return times.length === 0 ? [] : [{ market, since: Math.min(...times) }];
    }),
  "set local work_mem = '64MB'": () => [],
  [`declare pages no scroll cursor for
      select id, profile_id, customer_id, side, trim_scale(price * 10::numeric ^ $2::integer) as price,
             trim_scale((base_amount - filled) * 10::numeric ^ $3::integer) as lots, priority,
             recipient_profile_id, expiration_date, version
        from booked_order where market = $1 and status = 'OPEN' order by priority`]: (
    run,
    [market, priceDecimals, baseDecimals],
  ) => {
    const open = bookedOf(run, market, "OPEN").sort((a, b) => Number(a.priority) - Number(b.priority));
    const rows = open.map((row) => ({
      ...pick(row, "id, profile_id, customer_id, side, priority, recipient_profile_id, expiration_date, version"),
      price: decimal(amountOf(String(row.price)) * 10n ** BigInt(String(priceDecimals))),
      lots: decimal(
        (amountOf(String(row.base_amount)) - amountOf(String(row.filled))) * 10n ** BigInt(String(baseDecimals)),
      ),
    }));
    run.declare(rows);
    return [];
  },
  [`declare pages no scroll cursor for
      select ${columnsOf(orderTable, "o.")}
        from booked_order b join orders o on o.profile_id = b.profile_id and o.id = b.id
     where b.market = $1 and b.status = 'SUBMITTED'`]: (run, [market]) => {
    run.declare(wholeOrders(run, bookedOf(run, market, "SUBMITTED")).map((row) => pick(row, ORDER)));
    return [];
  },
  "fetch 5000 from pages": (run) => run.fetch(),
};

/** Units of 10^-18 as PostgreSQL prints a number. */
function decimal(units: bigint): string {
  const digits = units.toString().padStart(19, "0");
  return `${digits.slice(0, -18)}.${digits.slice(-18)}`.replace(/\.?0+$/, "");
}
