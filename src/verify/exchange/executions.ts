/**
 * Executions come in pairs: the maker's with an even id, the taker's with the next, of the same market, amount and price
 * and of opposite sides. Each belongs to an order of its profile, whose market, side, customer and annotations it repeats,
 * and has that order's rates; a rebate never exceeds the commission that pays for it. Both are added in one batch and counted in their customers' volumes.
 */

import { EXECUTION_ANNOTATIONS } from "../../exchange/execution.ts";
import { ORDER_ANNOTATIONS } from "../../exchange/order.ts";
import { namesOf } from "../../ledger/columns.ts";
import { PAGE } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import { type Examination, readInAnyTime } from "../check.ts";

const EXECUTIONS = "executions";

const COPIES = Object.values(EXECUTION_ANNOTATIONS);
const COPIED = COPIES.map(({ from }) => ORDER_ANNOTATIONS[from]);

export const executionsExamination: Examination = {
  checks: [EXECUTIONS],
  reads: ["execution"],
  run: async (database, tally) => {
    let after: StoredExecution | undefined;
    do {
      const executions: StoredExecution[] = await readExecutions(database, after);
      tally(EXECUTIONS).examined(executions.length);
      tally(EXECUTIONS).read(executions.length);
      for (const execution of executions) {
        const record = `execution ${execution.profile_id}/${execution.id}`;
        for (const fault of faultsOf(execution)) tally(EXECUTIONS).broken(record, fault);
      }
      after = executions.length < PAGE ? undefined : executions.at(-1);
    } while (after !== undefined);
  },
};

interface StoredExecution {
  readonly profile_id: string;
  readonly id: string;
  readonly counterparts: number;
  /** Whether the counterpart has the same amount, price, time and batch, and the other side. */
  readonly fits: boolean | null;
  readonly order_fits: boolean;
  readonly has_no_order: boolean;
  readonly commission: string;
  readonly rebate: string;
  readonly commission_due: string | null;
  readonly rebate_due: string | null;
  /** Whether its customer has a volume row for its day and market. */
  readonly counted: boolean;
}

/**
 * In primary key order. The counterpart is found by market and id, because its profile is unknown: a maker's and a taker's
 * by an index of each, which only a statement that says which of them is sought can use.
 */
function readExecutions(database: Database, after: StoredExecution | undefined): Promise<StoredExecution[]> {
  return readInAnyTime<StoredExecution>(
    database,
    `with page as materialized (
       select profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate, ${namesOf(COPIES)}, executed_at, slot, batch
         from execution where (profile_id, id) > ($1, $2) order by profile_id, id limit $3)
     select e.profile_id, e.id, other.counterparts, other.fits,
            (o.market, o.side, o.customer_id, ${namesOf(COPIED, "o.")})
              is not distinct from (e.market, e.side, e.customer_id, ${namesOf(COPIES, "e.")}) as order_fits,
            o.id is null as has_no_order,
            trim_scale(e.commission)::text as commission, trim_scale(e.rebate)::text as rebate,
            trim_scale(case when e.id % 2 = 1 then e.amount * e.price * o.taker_rate else 0 end)::text as commission_due,
            trim_scale(case when e.id % 2 = 1 then 0
                            else least(e.amount * e.price * o.maker_rebate, other.commission) end)::text as rebate_due,
            exists (select from customer_volume t
                     where t.customer_id = e.customer_id and t.market = e.market
                       and t.day = (e.executed_at at time zone 'UTC')::date) as counted
       from page e
       left join orders o on o.profile_id = e.profile_id and o.id = e.order_id
      cross join lateral (
              select count(*)::integer as counterparts, min(x.commission) as commission,
                     bool_and(x.amount = e.amount and x.price = e.price and x.side <> e.side and
                              x.executed_at = e.executed_at and x.slot = e.slot and x.batch = e.batch) as fits
                from (select * from execution m
                       where (e.id & 1) = 1 and m.market = e.market and m.id = e.id - 1 and (m.id & 1) = 0
                       union all
                      select * from execution t
                       where (e.id & 1) = 0 and t.market = e.market and t.id = e.id + 1 and (t.id & 1) = 1) as x) as other
      order by e.profile_id, e.id`,
    [after?.profile_id ?? "00000000-0000-0000-0000-000000000000", after?.id ?? "0", PAGE],
  );
}

function* faultsOf(execution: StoredExecution): Iterable<string> {
  const { counterparts, fits, order_fits, has_no_order, commission, commission_due, rebate, rebate_due, counted } =
    execution;
  if (counterparts === 0) yield "has no counterpart";
  else if (counterparts > 1) yield `has ${counterparts} counterparts`;
  else if (fits !== true) yield "does not match its counterpart";
  if (!counted) yield "is not counted in its customer's volume";
  if (has_no_order) return yield "has no order";
  if (!order_fits) yield "differs from its order in market, side, customer or annotations";
  if (commission !== commission_due) yield `has a commission of ${commission}, but ${commission_due} is due`;
  if (rebate !== rebate_due) yield `has a rebate of ${rebate}, but ${rebate_due} is due`;
}
