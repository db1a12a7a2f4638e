/**
 * Stored times that are in the future, left by a wrong clock: the database's, or that of a node of an older version. They
 * break nothing, so they are a note for the operator and not a finding.
 */

import type { ExecutionId } from "../exchange/execution.ts";
import { executedAtOf } from "../exchange/execution-id.ts";
import type { Database } from "../postgres/database.ts";
import { IS_BETWEEN_PLACES, rangesOfTable } from "../postgres/physical-order.ts";
import { formatInstant, type Instant } from "../std/clock.ts";
import { instantOf, type Uuid } from "../std/id.ts";

/** More than clocks may be ahead, so that a reported time is still in the future when the note is read. */
const ALLOWED_MS = 120_000;

/**
 * @returns one sentence each for accounts, for each kind of record and for each market with times that are ahead of the
 * database's clock
 */
export async function findTimesAhead(database: Database): Promise<string[]> {
  const accounts = await findAccountsAhead(database);
  const records = await findNewestRecords(database);
  const markets = await database.rows<{ market: string; last: string }>(
    "select market, last_execution_id as last from market_head order by market",
  );
  // Read last: what was written meanwhile is not ahead.
  const [row] = await database.rows<{ now: Instant }>("select date_trunc('milliseconds', clock_timestamp()) as now");
  const now = row?.now ?? (0 as Instant);
  const ahead = [
    ...[...records].sort().map(([kind, id]) => ({ what: `${kind}s have`, at: instantOf(id) })),
    ...markets.map(({ market, last }) => ({
      what: `the market ${market} has`,
      at: executedAtOf(BigInt(last) as ExecutionId),
    })),
  ].filter(({ at }) => at > now + ALLOWED_MS);
  return [
    ...(accounts.latest === undefined ? [] : [sentence(`${accounts.count} accounts have`, accounts.latest, now)]),
    ...ahead.map(({ what, at }) => sentence(what, at, now)),
  ];
}

/** An account that changes meanwhile may be counted twice, or not: a note need not be exact. */
async function findAccountsAhead(database: Database): Promise<{ count: number; latest: Instant | undefined }> {
  let [count, latest]: [number, Instant | undefined] = [0, undefined];
  for await (const places of rangesOfTable(database, "account")) {
    const [found] = await database.rows<{ count: number; latest: Instant | null }>(
      `select count(*)::int as count, max(at) as latest from account
        where ${IS_BETWEEN_PLACES} and at > clock_timestamp() + $3 * interval '1 millisecond'`,
      [...places, ALLOWED_MS],
    );
    if (found?.latest == null) continue;
    count += found.count;
    latest = Math.max(latest ?? found.latest, found.latest) as Instant;
  }
  return { count, latest };
}

const KINDS = { conversion: "conversion", order: "orders", transfer: "transfer" } as const;

/** Of each kind, the record with the latest time in its id. One index probe per customer and kind. */
async function findNewestRecords(database: Database): Promise<Map<string, Uuid>> {
  const newest = new Map<string, Uuid>();
  const probes = Object.entries(KINDS).map(
    ([kind, table]) => `(select id from ${table} where customer_id = page.id order by id desc limit 1) as "${kind}"`,
  );
  let after: Uuid | undefined = NO_ID;
  while (after !== undefined) {
    const customers: Record<string, Uuid | null>[] = await database.rows(
      `select page.id as customer, ${probes.join(", ")}
         from (select id from customer where id > $1 order by id limit $2) as page order by page.id`,
      [after, CUSTOMERS],
    );
    for (const kind of Object.keys(KINDS))
      for (const { [kind]: id } of customers) if (id != null && id > (newest.get(kind) ?? "")) newest.set(kind, id);
    after = customers.length < CUSTOMERS ? undefined : (customers.at(-1)?.customer ?? undefined);
  }
  return newest;
}

const NO_ID = "00000000-0000-0000-0000-000000000000" as Uuid;
/** Of a page. */
const CUSTOMERS = 1_000;

const HOUR_MS = 3_600_000;

function sentence(what: string, latest: Instant, now: Instant): string {
  const hours = ((latest - now) / HOUR_MS).toFixed(1);
  return `${what} times in the future, up to ${formatInstant(latest)}, ${hours} h from now: a clock was wrong. Operation continues with these times; see "Times in the future" in docs/runbook.md`;
}
