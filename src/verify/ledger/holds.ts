/**
 * Holds: the held part of each account equals the sum of the records' holds. A batch changes both together, so one
 * statement sees both before it or both after it.
 */

import { PAGE } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import { type Examination, readInAnyTime, type Tally } from "../check.ts";

export interface Holds {
  readonly check: string;
  readonly part: "trading" | "pending";
  /** SQL that selects owner_id, asset and amount of every current hold. */
  readonly query: string;
}

interface AccountHold {
  readonly owner_id: string;
  readonly asset: string;
  readonly kept: string;
  readonly needed: string;
}

export function holdsExamination(holds: Holds): Examination {
  return {
    checks: [holds.check],
    reads: ["account"],
    run: async (database, tally) => {
      await walkAccounts(database, holds, tally(holds.check));
      await reportMissingAccounts(database, holds, tally(holds.check));
    },
  };
}

async function walkAccounts(database: Database, { part, query }: Holds, tally: Tally): Promise<void> {
  let after: Pick<AccountHold, "owner_id" | "asset"> | undefined = {
    owner_id: "00000000-0000-0000-0000-000000000000",
    asset: "",
  };
  while (after !== undefined) {
    const accounts: AccountHold[] = await readInAnyTime<AccountHold>(
      database,
      `with page as materialized (
         select owner_id, asset, ${part} as kept from account
          where house is null and (owner_id, asset) > ($1, $2) order by owner_id, asset limit $3),
       needed as (
         select owner_id, asset, sum(amount) as needed from (${query}) as held
          where owner_id in (select owner_id from page) group by owner_id, asset)
       select page.owner_id, page.asset, trim_scale(kept)::text as kept, trim_scale(coalesce(needed, 0))::text as needed
         from page left join needed on needed.owner_id = page.owner_id and needed.asset = page.asset
        order by page.owner_id, page.asset`,
      [after.owner_id, after.asset, PAGE],
    );
    tally.examined(accounts.length);
    tally.read(accounts.length);
    for (const { owner_id, asset, kept, needed } of accounts) {
      if (kept !== needed) tally.broken(`account ${owner_id}/${asset}`, `has ${kept} ${part}, but ${needed} is held`);
    }
    after = accounts.length < PAGE ? undefined : accounts.at(-1);
  }
}

async function reportMissingAccounts(database: Database, { query, part }: Holds, tally: Tally): Promise<void> {
  const missing = await readInAnyTime<{ owner_id: string; asset: string }>(
    database,
    `select distinct owner_id, asset from (${query}) as held
      where not exists (select 1 from account a where a.owner_id = held.owner_id and a.asset = held.asset)
      order by owner_id, asset limit $1`,
    [PAGE],
  );
  for (const { owner_id, asset } of missing)
    tally.broken(`account ${owner_id}/${asset}`, `is missing, but has ${part} amounts`);
}
