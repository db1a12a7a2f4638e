/**
 * Incoming counts: each profile counts the open orders and CREATED conversions of other profiles that will pay into it. They
 * change in one batch with the profile, and are compared in one statement.
 */

import { PAGE } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import type { Examination } from "../check.ts";

const INCOMING_COUNTS = "incoming counts";

export const incomingCountExamination: Examination = {
  checks: [INCOMING_COUNTS],
  reads: ["profile"],
  run: async (database, tally) => {
    let after: string | undefined = "00000000-0000-0000-0000-000000000000";
    while (after !== undefined) {
      const profiles: CountedProfile[] = await countPage(database, after);
      tally(INCOMING_COUNTS).examined(profiles.length);
      tally(INCOMING_COUNTS).read(profiles.length);
      for (const { id, incoming_count, found } of profiles) {
        if (incoming_count !== found)
          tally(INCOMING_COUNTS).broken(
            `profile ${id}`,
            `counts ${incoming_count} incoming orders and conversions, but there are ${found}`,
          );
      }
      after = profiles.length < PAGE ? undefined : profiles.at(-1)?.id;
    }
  },
};

interface CountedProfile {
  readonly id: string;
  readonly incoming_count: number;
  readonly found: number;
}

function countPage(database: Database, after: string): Promise<CountedProfile[]> {
  return database.rows<CountedProfile>(
    `with page as materialized (select id, incoming_count from profile where id > $1 order by id limit $2),
     paying as (
       select recipient_profile_id as id from orders
        where status in ('PENDING_SUBMISSION', 'SUBMITTED', 'OPEN') and recipient_profile_id <> profile_id
       union all
       select recipient_profile_id from conversion
        where status = 'CREATED' and recipient_profile_id <> profile_id),
     counted as (select id, count(*)::integer as found from paying where id in (select id from page) group by id)
     select page.id, page.incoming_count, coalesce(counted.found, 0) as found
       from page left join counted on counted.id = page.id order by page.id`,
    [after, PAGE],
  );
}
