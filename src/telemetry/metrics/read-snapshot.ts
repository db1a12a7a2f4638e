import { readDueConversions } from "../../conversions/due-conversions.ts";
import { readMarketQueues } from "../../exchange/market-status/market-queues.ts";
import type { LedgerClock } from "../../ledger/ledger-clock.ts";
import { readOutstandingSupply } from "../../ledger/outstanding-supply.ts";
import type { Queryable } from "../../postgres/database.ts";
import { readArchiveFailing } from "../../postgres/wal-archiving-status.ts";
import type { DatabaseSnapshot } from "./database-watch.ts";

/** Sequential, so that monitoring never uses more than one connection. */
export async function readSnapshot(
  database: Queryable,
  clock: Pick<LedgerClock, "aheadMs">,
  settlementDelayMs: number,
): Promise<DatabaseSnapshot> {
  const backing = await readOutstandingSupply(database);
  const due = await readDueConversions(database, settlementDelayMs);
  const markets = await readMarketQueues(database);
  return { backing, due, markets, clockSkewMs: -clock.aheadMs, archiveFailing: await readArchiveFailing(database) };
}
