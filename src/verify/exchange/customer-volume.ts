/**
 * Customer volumes, which decide fee tiers: each equals the sum of the executions of its customer, day and market. A
 * volume and its executions change in one batch, so one statement sees them consistently. `executions.ts` checks that
 * every execution is counted.
 */

import { lowestId } from "../../exchange/execution-id.ts";
import type { Database } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import { type Examination, readInAnyTime } from "../check.ts";

const CUSTOMER_VOLUMES = "customer volumes";
/** Small, because a busy customer has very many executions in a day. */
const PAGE = 20;
const DAY_MS = 24 * 60 * 60_000;

interface CustomerDay {
  readonly customer_id: string;
  readonly day: string;
}

interface StoredDay extends CustomerDay {
  readonly market: string;
  readonly gross: string;
  readonly executed: string;
}

export const customerVolumeExamination: Examination = {
  checks: [CUSTOMER_VOLUMES],
  reads: ["customer_volume"],
  run: async (database, tally) => {
    let names: CustomerDay[] = [];
    do {
      names = await readCustomerDays(database, names.at(-1));
      const days = await readDays(database, names);
      tally(CUSTOMER_VOLUMES).examined(days.length);
      tally(CUSTOMER_VOLUMES).read(days.length);
      for (const { customer_id, day, market, gross, executed } of days) {
        const record = `customer volume ${customer_id}/${day}/${market}`;
        if (gross !== executed)
          tally(CUSTOMER_VOLUMES).broken(record, `is ${gross}, but its executions sum to ${executed}`);
      }
    } while (names.length === PAGE);
  },
};

function readCustomerDays(database: Database, after: CustomerDay | undefined): Promise<CustomerDay[]> {
  return database.rows<CustomerDay>(
    `select distinct customer_id, day from customer_volume where (customer_id, day) > ($1, $2)
      order by customer_id, day limit $3`,
    [after?.customer_id ?? "00000000-0000-0000-0000-000000000000", after?.day ?? "-infinity", PAGE],
  );
}

/** Execution ids encode times, so a day is one range of ids. */
function readDays(database: Database, names: readonly CustomerDay[]): Promise<StoredDay[]> {
  // A day that is no date, such as infinity, has no executions.
  const begins = names.map(({ day }) => (Date.parse(day) || Number.POSITIVE_INFINITY) as Instant);
  return readInAnyTime<StoredDay>(
    database,
    `with executed as materialized (
       select k.customer_id, k.day, e.market, e.gross
         from unnest($1::uuid[], $2::date[], $3::bigint[], $4::bigint[]) as k(customer_id, day, first, next)
        cross join lateral (
                select x.market, sum(x.amount * x.price) as gross from execution x
                 where x.customer_id = k.customer_id and x.id >= k.first and x.id < k.next group by x.market) e)
     select d.customer_id, d.day, d.market, trim_scale(d.gross)::text as gross,
            trim_scale(coalesce(e.gross, 0))::text as executed
       from unnest($1::uuid[], $2::date[]) as k(customer_id, day)
       join customer_volume d on d.customer_id = k.customer_id and d.day = k.day
       left join executed e on e.customer_id = d.customer_id and e.day = d.day and e.market = d.market
      order by d.customer_id, d.day, d.market`,
    [
      names.map((name) => name.customer_id),
      names.map((name) => name.day),
      begins.map((begin) => lowestId(begin)),
      begins.map((begin) => lowestId((begin + DAY_MS) as Instant)),
    ],
  );
}
