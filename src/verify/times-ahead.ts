/**
 * Times in the books that have not come yet. A clock that was wrong has left them, one of a node of a former version or the
 * database's own. Nothing is broken by them, so they are a note and no finding; the operator is told what they do.
 */

import type { ExecutionId } from "../exchange/execution.ts";
import { executedAtOf } from "../exchange/execution-id.ts";
import type { Database } from "../postgres/database.ts";
import { formatInstant, type Instant } from "../std/clock.ts";

/** What clocks are allowed to be ahead, and some more: nobody is told of a time that has come before he has read of it. */
const ALLOWED_MS = 120_000;

/** One sentence each for accounts and for markets, when there are some that are ahead of the database's clock. */
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
  const ahead = markets
    .map(({ market, last }) => ({ market, at: executedAtOf(BigInt(last) as ExecutionId) }))
    .filter(({ at }) => at > now + ALLOWED_MS);
  return [
    ...(row?.latest == null ? [] : [sentence(`${row.count} accounts have`, row.latest, now)]),
    ...ahead.map(({ market, at }) => sentence(`the market ${market} has`, at, now)),
  ];
}

const HOUR_MS = 3_600_000;

function sentence(what: string, latest: Instant, now: Instant): string {
  const hours = ((latest - now) / HOUR_MS).toFixed(1);
  return `${what} times in the future, up to ${formatInstant(latest)}, ${hours} h from now: a clock was wrong. They go on, with those times; see "Times in the future" in docs/runbook.md`;
}
