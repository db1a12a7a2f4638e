/**
 * Incoming counts: each profile counts the open orders and CREATED conversions of other profiles that will pay into it. They
 * change in one batch with the profile, and are compared in one statement: all at once, because no index finds what will pay
 * into the profiles of a page.
 */

import { PAGE } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import { type Examination, readInAnyTime } from "../check.ts";
import { openOrders } from "../exchange/order-projections.ts";

const INCOMING_COUNTS = "incoming counts";

export const incomingCountExamination: Examination = {
  checks: [INCOMING_COUNTS],
  reads: ["profile"],
  run: async (database, tally) => {
    const profiles = await countProfiles(database);
    tally(INCOMING_COUNTS).examined(profiles);
    tally(INCOMING_COUNTS).read(profiles);
    for (const { id, incoming_count, found } of await findWrongCounts(database))
      tally(INCOMING_COUNTS).broken(
        `profile ${id}`,
        `counts ${incoming_count} incoming orders and conversions, but there are ${found}`,
      );
  },
};

async function countProfiles(database: Database): Promise<number> {
  const [row] = await readInAnyTime<{ count: number }>(database, "select count(*)::integer as count from profile");
  return row?.count ?? 0;
}

interface WrongCount {
  readonly id: string;
  readonly incoming_count: number;
  readonly found: number;
}

/** The first ones. */
function findWrongCounts(database: Database): Promise<WrongCount[]> {
  return readInAnyTime<WrongCount>(
    database,
    `with paying as (
       select recipient_profile_id as id from (${openOrders(["recipient_profile_id"])}) as o
        where recipient_profile_id <> profile_id
       union all
       select recipient_profile_id from conversion
        where status = 'CREATED' and recipient_profile_id <> profile_id),
     counted as (select id, count(*)::integer as found from paying group by id)
     select p.id, p.incoming_count, coalesce(c.found, 0) as found
       from profile p left join counted c on c.id = p.id
      where p.incoming_count <> coalesce(c.found, 0) order by p.id limit $1`,
    [PAGE],
  );
}
