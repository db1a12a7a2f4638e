import type { Registry } from "prom-client";
import type { EngineLag } from "../../exchange/market-status/engine-lag.ts";
import type { OutstandingSupply } from "../../ledger/outstanding-supply.ts";
import type { DeliveryLag } from "../../webhooks/delivery-lag.ts";
import type { DatabaseSnapshot, DatabaseWatch } from "./database-watch.ts";
import { gauge, plainGauge, type Sample } from "./gauge.ts";

/** Metrics read from the database, equal on every node. While it is unreachable, only parbook_database_up (0) is exported. */
export function addDatabaseMetrics(registry: Registry, watch: DatabaseWatch): void {
  const plain = (name: string, help: string, read: (snapshot: DatabaseSnapshot) => number | undefined) =>
    plainGauge(registry, name, help, () => (watch.snapshot === undefined ? undefined : read(watch.snapshot)));
  plainGauge(
    registry,
    "parbook_database_up",
    "1: the database responded within half a second. 0: reserve, settlement and market metrics are missing, and callers get 503.",
    () => (watch.snapshot === undefined ? 0 : 1),
  );
  plain(
    "parbook_database_clock_skew_seconds",
    "The database's clock minus this machine's. Beyond PARBOOK_CLOCK_TOLERANCE_MS the node suspends commands: correct the wrong clock.",
    (snapshot) => snapshot.clockSkewMs / 1_000,
  );
  plain(
    "parbook_wal_archive_failing",
    "1: the last attempt to archive WAL failed, or segments wait and none was archived for 15 minutes. Missing: no WAL archive is configured.",
    (snapshot) => (snapshot.archiveFailing === undefined ? undefined : Number(snapshot.archiveFailing)),
  );
  const coins = (name: string, help: string, value: (coin: OutstandingSupply) => string) =>
    gauge(registry, { name, help, labels: ["asset"] }, () =>
      (watch.snapshot?.backing ?? []).map((coin): Sample<"asset"> => [{ asset: coin.coin }, Number(value(coin))]),
    );
  coins("parbook_reserve_usd", "US dollars in the reserve of each stablecoin.", ({ reserve }) => reserve);
  coins("parbook_supply_usd", "Outstanding supply of each stablecoin, at par.", ({ supply }) => supply);
  coins(
    "parbook_reserve_minus_supply_usd",
    "The reserve of each stablecoin minus its outstanding supply, computed exactly. Anything but 0 means that the ledger is wrong: stop, and run parbook verify.",
    ({ gap }) => gap,
  );
  plain(
    "parbook_settlement_due_conversions",
    "Conversions due for settlement, counted up to 10,000.",
    (snapshot) => snapshot.due.count,
  );
  plain(
    "parbook_settlement_lag_seconds",
    "How long the oldest due conversion has been waiting. It grows when no node with the role worker runs.",
    (snapshot) => snapshot.due.lagMs / 1_000,
  );
  plain(
    "parbook_event_lag_seconds",
    "How long the oldest change that is no event yet has been waiting. It grows when no node with the role worker runs.",
    (snapshot) => snapshot.eventLagMs / 1_000,
  );
  addWebhooks(registry, watch);
  addMarkets(registry, watch);
}

function addWebhooks(registry: Registry, watch: DatabaseWatch): void {
  const plain = (name: string, help: string, read: (lag: DeliveryLag) => number) =>
    plainGauge(registry, name, help, () => (watch.snapshot === undefined ? undefined : read(watch.snapshot.webhooks)));
  plain(
    "parbook_webhook_lag_seconds",
    "How long the oldest event that was not posted yet has waited, of the webhooks whose receivers accept. It grows when no node with the role worker runs, or customers have set few deliveries a second.",
    ({ lagMs }) => lagMs / 1_000,
  );
  plain(
    "parbook_webhooks_failing",
    "Active webhooks whose receivers have accepted nothing since they began to fail.",
    ({ failing }) => failing,
  );
  plain(
    "parbook_webhook_failing_seconds",
    "For how long the receiver that has failed longest has accepted nothing. After five days its webhook is disabled, a strict one after three.",
    ({ failingMs }) => failingMs / 1_000,
  );
  gauge(
    registry,
    {
      name: "parbook_webhook_open_deliveries",
      help: "Deliveries that were not accepted, counted up to 100,000, by status: RETRYING, BLOCKED (by an earlier event of the object), UNDELIVERED (given up).",
      labels: ["status"],
    },
    () => Object.entries(watch.snapshot?.webhooks.open ?? {}).map(([status, count]) => [{ status }, count]),
  );
}

function addMarkets(registry: Registry, watch: DatabaseWatch): void {
  const markets = (name: string, help: string, value: (queue: EngineLag) => number) =>
    gauge(registry, { name, help, labels: ["market"] }, () =>
      (watch.snapshot?.markets ?? []).map((queue): Sample<"market"> => [{ market: queue.market }, value(queue)]),
    );
  markets(
    "parbook_market_order_lag_seconds",
    "How long the oldest pending order of the market has been waiting for an engine, on any node.",
    (queue) => queue.orderLagMs / 1_000,
  );
  markets(
    "parbook_market_cancel_lag_seconds",
    "How long the oldest pending cancel of the market has been waiting for an engine.",
    (queue) => queue.cancelLagMs / 1_000,
  );
  markets("parbook_market_open", "1: the market accepts orders; 0: halted by the operator.", (queue) =>
    queue.status === "OPEN" ? 1 : 0,
  );
  markets(
    "parbook_market_served",
    "1: a node holds the lease of the market's engine. 0 for longer than a lease (15 s): no node with the role engine runs.",
    (queue) => (queue.holder === undefined ? 0 : 1),
  );
  gauge(
    registry,
    {
      name: "parbook_market_engine_info",
      help: "The holder of the lease of the market's engine: host, process id and a random suffix; embedded with the embedded database.",
      labels: ["market", "holder"],
    },
    () =>
      (watch.snapshot?.markets ?? []).flatMap(({ market, holder }) =>
        holder === undefined ? [] : [[{ market, holder }, 1]],
      ),
  );
}
