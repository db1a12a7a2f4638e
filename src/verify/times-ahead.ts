/**
 * Stored times that are in the future, left by a wrong clock: the database's, or that of a node of an older version. They
 * break nothing, so they are a note for the operator and not a finding.
 */

import type { ExecutionId } from "../exchange/execution.ts";
import { executedAtOf } from "../exchange/execution-id.ts";
import type { Database } from "../postgres/database.ts";
import { formatInstant, type Instant } from "../std/clock.ts";
import { instantOf, type Uuid } from "../std/id.ts";

/** More than clocks may be ahead, so that a reported time is still in the future when the note is read. */
const ALLOWED_MS = 120_000;

/**
 * @returns one sentence each for accounts, for each kind of record and for each market with times that are ahead of the
 * database's clock
 */
export async function findTimesAhead(database: Database): Promise<string[]> {
  const [row] = await database.rows<{ now: Instant; count: number; latest: Instant | null }>(
    `select date_trunc('milliseconds', clock_timestamp()) as now, count(*)::int as count, max(at) as latest
       from account where at > clock_timestamp() + $1 * interval '1 millisecond'`,
    [ALLOWED_MS],
  );
  const markets = await database.rows<{ market: string; last: string }>(
    "select market, last_execution_id as last from market_head order by market",
  );
  const now = row?.now ?? (0 as Instant);
  const ahead = [
    ...(await newestRecords(database)).map(({ kind, id }) => ({ what: `${kind}s have`, at: instantOf(id) })),
    ...markets.map(({ market, last }) => ({
      what: `the market ${market} has`,
      at: executedAtOf(BigInt(last) as ExecutionId),
    })),
  ].filter(({ at }) => at > now + ALLOWED_MS);
  return [
    ...(row?.latest == null ? [] : [sentence(`${row.count} accounts have`, row.latest, now)]),
    ...ahead.map(({ what, at }) => sentence(what, at, now)),
  ];
}

/**
 * The record of each kind with the latest time in its id. One index probe per customer and kind.
 */
function newestRecords(database: Database): Promise<{ kind: string; id: Uuid }[]> {
  const newest = (kind: string, table: string) =>
    `(select '${kind}' as kind, newest.id
        from customer c
        cross join lateral (select id from ${table} where customer_id = c.id order by id desc limit 1) as newest
       order by newest.id desc limit 1)`;
  return database.rows(
    `${[newest("transfer", "transfer"), newest("conversion", "conversion"), newest("order", "orders")].join(" union all ")}
      order by kind`,
  );
}

const HOUR_MS = 3_600_000;

function sentence(what: string, latest: Instant, now: Instant): string {
  const hours = ((latest - now) / HOUR_MS).toFixed(1);
  return `${what} times in the future, up to ${formatInstant(latest)}, ${hours} h from now: a clock was wrong. Operation continues with these times; see "Times in the future" in docs/runbook.md`;
}
