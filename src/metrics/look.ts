import { readDueConversions } from "../conversions/due-conversions.ts";
import { readMarketQueues } from "../exchange/market-queues.ts";
import { readBacking } from "../ledger/backing.ts";
import { readArchiveFailing } from "../postgres/archive-failing.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Clock, Instant } from "../std/clock.ts";
import type { Seen } from "./database-watch.ts";

/** One statement after the other: watching takes one connection, and cheap ones. */
export async function lookAt(database: Queryable, clock: Clock, settlementDelayMs: number): Promise<Seen> {
  const clockSkewMs = await readClockSkew(database, clock);
  const backing = await readBacking(database);
  const due = await readDueConversions(database, settlementDelayMs);
  const markets = await readMarketQueues(database);
  return { backing, due, markets, clockSkewMs, archiveFailing: await readArchiveFailing(database) };
}

/** As if the database had read its clock half-way between question and answer. */
async function readClockSkew(database: Queryable, clock: Clock): Promise<number> {
  // The first statement may have to wait for a connection.
  await database.rows("select 1");
  const before = clock.now();
  const [row] = await database.rows<{ now: Instant }>("select date_trunc('milliseconds', clock_timestamp()) as now");
  return row === undefined ? 0 : row.now - (before + clock.now()) / 2;
}
