/**
 * Awaited: each profile counts the open orders and CREATED conversions of other profiles that will pay into it. They
 * change in one batch with the profile, and are compared in one statement.
 */

import { PAGE } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import type { Examination } from "../check.ts";

const AWAITED = "awaited";

export const incomingCountExamination: Examination = {
  checks: [AWAITED],
  run: async (database, tally) => {
    let after: string | undefined = "00000000-0000-0000-0000-000000000000";
    while (after !== undefined) {
      const profiles: CountedProfile[] = await countPage(database, after);
      tally(AWAITED).examined(profiles.length);
      for (const { id, awaited, found } of profiles) {
        if (awaited !== found)
          tally(AWAITED).broken(
            `profile ${id}`,
            `counts ${awaited} incoming orders and conversions, but there are ${found}`,
          );
      }
      after = profiles.length < PAGE ? undefined : profiles.at(-1)?.id;
    }
  },
};

interface CountedProfile {
  readonly id: string;
  readonly awaited: number;
  readonly found: number;
}

function countPage(database: Database, after: string): Promise<CountedProfile[]> {
  return database.rows<CountedProfile>(
    `with page as materialized (select id, awaited from profile where id > $1 order by id limit $2),
     paying as (
       select recipient_profile_id as id from orders
        where status in ('PENDING_SUBMISSION', 'SUBMITTED', 'OPEN') and recipient_profile_id <> profile_id
       union all
       select recipient_profile_id from conversion
        where status = 'CREATED' and recipient_profile_id <> profile_id),
     counted as (select id, count(*)::integer as found from paying where id in (select id from page) group by id)
     select page.id, page.awaited, coalesce(counted.found, 0) as found
       from page left join counted on counted.id = page.id order by page.id`,
    [after, PAGE],
  );
}
