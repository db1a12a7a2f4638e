/**
 * Orders: each holds exactly what its remainder needs; its filled amounts equal the sums of its executions; while it is not
 * closed it has its row in a derived table; and the trading part of accounts equals the holds of open orders. All of these
 * change in one batch, so each statement sees them consistently. Amounts are computed in SQL: exactly, and independently of
 * the engine's arithmetic.
 */

import { PAGE } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import { type Examination, readInAnyTime } from "../check.ts";
import { holdsExamination } from "../ledger/holds.ts";
import { checkDerivedOrders, HAS_DERIVED_ROW, openOrders } from "./order-projections.ts";

const ORDERS = "orders";

export const ordersExamination: Examination = {
  checks: [ORDERS],
  reads: ["orders"],
  run: async (database, tally) => {
    let after: OrderSums | undefined;
    do {
      const orders: OrderSums[] = await readOrders(database, after);
      tally(ORDERS).examined(orders.length);
      tally(ORDERS).read(orders.length);
      for (const order of orders) {
        const record = `order ${order.profile_id}/${order.id}`;
        for (const fault of faultsOf(order)) tally(ORDERS).broken(record, fault);
      }
      after = orders.length < PAGE ? undefined : orders.at(-1);
    } while (after !== undefined);
    await checkDerivedOrders(database, tally(ORDERS));
  },
};

export const tradingExamination = holdsExamination({
  check: "trading",
  part: "trading",
  query: `select o.profile_id as owner_id, case o.side when 'BUY' then m.quote else m.base end as asset, o.held as amount
            from (${openOrders(["market", "side", "held"])}) as o join market m on m.code = o.market
           where o.held > 0`,
});

interface OrderSums {
  readonly profile_id: string;
  readonly id: string;
  readonly status: string;
  readonly held: string;
  readonly needed: string;
  readonly filled: string;
  readonly executed: string;
  readonly filled_gross: string;
  readonly executed_gross: string;
  readonly is_listed: boolean;
}

/** A sell holds its remaining base amount; a buy holds what its remainder may cost, commission included. */
function readOrders(database: Database, after: OrderSums | undefined): Promise<OrderSums[]> {
  return readInAnyTime<OrderSums>(
    database,
    `with page as materialized (
       select profile_id, id, status, side, base_amount, quote_amount, price, taker_rate, held, filled, filled_gross,
              ${HAS_DERIVED_ROW} as is_listed
         from orders o where (profile_id, id) > ($1, $2) order by profile_id, id limit $3)
     select profile_id, id, status, is_listed, trim_scale(held)::text as held, trim_scale(filled)::text as filled,
            trim_scale(filled_gross)::text as filled_gross,
            trim_scale(case
              when status in ('FILLED', 'CANCELLED', 'REJECTED', 'EXPIRED') then 0
              when side = 'SELL' then base_amount - filled
              when quote_amount is not null then (quote_amount - filled_gross) * (1 + taker_rate)
              else (base_amount - filled) * price * (1 + taker_rate)
            end)::text as needed,
            trim_scale(done.amount)::text as executed, trim_scale(done.gross)::text as executed_gross
       from page cross join lateral (
              select coalesce(sum(e.amount), 0) as amount, coalesce(sum(e.amount * e.price), 0) as gross
                from execution e where e.order_id = page.id and e.profile_id = page.profile_id) as done
      order by profile_id, id`,
    [after?.profile_id ?? NO_ID, after?.id ?? NO_ID, PAGE],
  );
}

const NO_ID = "00000000-0000-0000-0000-000000000000";

function* faultsOf(order: OrderSums): Iterable<string> {
  const { status, is_listed, held, needed, filled, executed, filled_gross, executed_gross } = order;
  if (held !== needed) yield `is ${status} and holds ${held}, but needs ${needed}`;
  if (filled !== executed) yield `has filled ${filled}, but its executions sum to ${executed}`;
  if (filled_gross !== executed_gross)
    yield `has filled ${filled_gross} gross, but its executions sum to ${executed_gross}`;
  if (!is_listed) yield `is ${status}, but has no row in the table of such orders`;
}
