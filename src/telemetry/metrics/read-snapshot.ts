import { readSettlementBacklog } from "../../conversions/settlement-backlog.ts";
import { readEventLag } from "../../events/event-lag.ts";
import { readEngineLags } from "../../exchange/market-status/engine-lag.ts";
import type { DatabaseComparedClock } from "../../ledger/compared-clock.ts";
import { readOutstandingSupply } from "../../ledger/outstanding-supply.ts";
import type { Queryable } from "../../postgres/database.ts";
import { readArchiveFailing } from "../../postgres/wal-archiving-status.ts";
import { readDeliveryLag } from "../../webhooks/delivery-lag.ts";
import type { DatabaseSnapshot } from "./database-watch.ts";

/** Sequential, so that monitoring never uses more than one connection. */
export async function readSnapshot(
  database: Queryable,
  clock: Pick<DatabaseComparedClock, "aheadMs">,
  settlementDelayMs: number,
): Promise<DatabaseSnapshot> {
  const backing = await readOutstandingSupply(database);
  const due = await readSettlementBacklog(database, settlementDelayMs);
  const markets = await readEngineLags(database);
  const eventLagMs = await readEventLag(database);
  const webhooks = await readDeliveryLag(database);
  return {
    backing,
    due,
    markets,
    eventLagMs,
    webhooks,
    clockSkewMs: -clock.aheadMs,
    archiveFailing: await readArchiveFailing(database),
  };
}
