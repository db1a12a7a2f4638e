import type { Registry } from "prom-client";
import type { MarketQueue } from "../../exchange/markets/market-queues.ts";
import type { DatabaseWatch, Seen } from "./database-watch.ts";
import { gauge, plainGauge, type Reading } from "./gauge.ts";

/** What is the same on every node, because it is read from the database. While that is away nothing is served but 0 for up. */
export function addBooks(registry: Registry, watch: DatabaseWatch): void {
  const plain = (name: string, help: string, read: (seen: Seen) => number | undefined) =>
    plainGauge(registry, name, help, () => (watch.seen === undefined ? undefined : read(watch.seen)));
  plainGauge(
    registry,
    "parbook_database_up",
    "1: the database has answered within half a second. 0: nothing is known of reserve, settlement and markets, and callers hear 503.",
    () => (watch.seen === undefined ? 0 : 1),
  );
  plain(
    "parbook_database_clock_skew_seconds",
    "The database's clock minus this machine's. Past PARBOOK_CLOCK_TOLERANCE_MS the node decides nothing: correct the one that is wrong.",
    (seen) => seen.clockSkewMs / 1_000,
  );
  plain(
    "parbook_wal_archive_failing",
    "1: the log of the database did not get into its archive when that was last tried. Not there: it keeps none.",
    (seen) => (seen.archiveFailing === undefined ? undefined : Number(seen.archiveFailing)),
  );
  plain("parbook_reserve_usd", "Dollars in the reserve.", (seen) => Number(seen.backing.reserve));
  plain(
    "parbook_reserve_minus_supply_usd",
    "The reserve minus all stablecoins that are out, computed exactly: 0, or the books are wrong. Stop, and run parbook verify.",
    (seen) => Number(seen.backing.gap),
  );
  gauge(
    registry,
    { name: "parbook_supply_usd", help: "What is out of each stablecoin, at par.", labels: ["asset"] },
    () => (watch.seen?.backing.supply ?? []).map(({ asset, amount }) => [{ asset }, Number(amount)]),
  );
  plain(
    "parbook_settlement_due_conversions",
    "Conversions whose time to be settled has come, counted to 10,000.",
    (seen) => seen.due.count,
  );
  plain(
    "parbook_settlement_lag_seconds",
    "For how long the oldest due conversion has been waiting. It grows when no node with the role worker runs.",
    (seen) => seen.due.lagMs / 1_000,
  );
  addMarkets(registry, watch);
}

function addMarkets(registry: Registry, watch: DatabaseWatch): void {
  const markets = (name: string, help: string, value: (queue: MarketQueue) => number) =>
    gauge(registry, { name, help, labels: ["market"] }, () =>
      (watch.seen?.markets ?? []).map((queue): Reading<"market"> => [{ market: queue.market }, value(queue)]),
    );
  markets(
    "parbook_market_order_lag_seconds",
    "For how long the oldest order of the market has been waiting for an engine, on whatever node.",
    (queue) => queue.orderLagMs / 1_000,
  );
  markets(
    "parbook_market_cancel_lag_seconds",
    "For how long the oldest cancel of the market has been waiting for an engine.",
    (queue) => queue.cancelLagMs / 1_000,
  );
  markets("parbook_market_open", "1: the market takes orders; 0: it was halted by the operator.", (queue) =>
    queue.status === "OPEN" ? 1 : 0,
  );
  markets(
    "parbook_market_served",
    "1: some node has the lease of the market's engine. 0 for longer than a lease (15 s): no node with the role engine runs.",
    (queue) => (queue.holder === undefined ? 0 : 1),
  );
  gauge(
    registry,
    {
      name: "parbook_market_engine_info",
      help: "Who has the lease of the market's engine: host, process and a number of its start; embedded for one on the embedded database.",
      labels: ["market", "holder"],
    },
    () =>
      (watch.seen?.markets ?? []).flatMap(({ market, holder }) =>
        holder === undefined ? [] : [[{ market, holder }, 1]],
      ),
  );
}
