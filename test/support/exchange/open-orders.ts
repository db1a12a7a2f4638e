import { orderTable } from "../../../src/exchange/order.ts";
import { namesOf } from "../../../src/ledger/columns.ts";
import type { Queryable } from "../../../src/postgres/database.ts";

const STATUSES: Readonly<Record<string, string>> = {
  pending_order: "{PENDING_SUBMISSION}",
  booked_order: "{OPEN,SUBMITTED}",
};

/** Adds to the tables that follow from `orders` what a test has inserted into it without a lane. */
export async function copyOpenOrders(owner: Queryable): Promise<void> {
  for (const { name, columns } of orderTable.projections) {
    const names = namesOf(columns);
    await owner.rows(
      `insert into ${name} (${names}) select ${names} from orders where status = any($1::order_status[])
       on conflict do nothing`,
      [STATUSES[name]],
    );
  }
}
