/**
 * Times in the books that have not come yet. A clock that was wrong has left them, one of a node of a former version or the
 * database's own. Nothing is broken by them, so they are a note and no finding; the operator is told what they do.
 */

import type { ExecutionId } from "../exchange/execution.ts";
import { executedAtOf } from "../exchange/execution-id.ts";
import type { Database } from "../postgres/database.ts";
import { formatInstant, type Instant } from "../std/clock.ts";
import { instantOf, type Uuid } from "../std/id.ts";

/** What clocks are allowed to be ahead, and some more: nobody is told of a time that has come before he has read of it. */
const ALLOWED_MS = 120_000;

/**
 * One sentence each for accounts, for each kind of record and for markets, when there are some that are ahead of the
 * database's clock.
 */
export async function noteTimesAhead(database: Database): Promise<string[]> {
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
 * Of each kind the record with the latest time in its id. Each customer's newest is found by the index on its ids, so this
 * costs a look-up for each customer, however many records there are.
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
  return `${what} times in the future, up to ${formatInstant(latest)}, ${hours} h from now: a clock was wrong. They go on, with those times; see "Times in the future" in docs/runbook.md`;
}
