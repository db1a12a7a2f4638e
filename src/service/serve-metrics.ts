/** Collects the metrics of this process and serves them. */

import type { Engines } from "../exchange/engine/engines.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import { createMetricsServer } from "../telemetry/metrics/metrics-server.ts";
import { readSnapshot } from "../telemetry/metrics/read-snapshot.ts";
import { readLastVerify } from "../verify/last-verify.ts";
import { containBugs } from "../web/connections/contain-bugs.ts";
import type { Config } from "./config/config.ts";
import type { Core } from "./core.ts";
import { listen, listenAddressOf, ownAddress } from "./listening.ts";
import { droppedLogLines } from "./logger.ts";
import { reportBug } from "./observers.ts";

export interface MetricsSources {
  readonly config: Config;
  readonly core: Core;
  readonly engines: Engines;
  /** The current certificate, in PEM. */
  readonly certificate: () => string | undefined;
}

/** @returns The URL of /metrics. */
export async function serveMetrics(
  metrics: Metrics,
  { config, core, engines, certificate }: MetricsSources,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { mode, dataDir, metricsHost: host, settlementDelayMs } = config;
  const { lane, database, clock, log } = core;
  metrics.watch({
    lane,
    database,
    engines: config.roles.has("engine") ? engines : undefined,
    readSnapshot: () => readSnapshot(database, clock, settlementDelayMs),
    machine: {
      mode,
      dataDir,
      certificate,
      embedded: config.databaseUrl === undefined,
      lastVerify: () => readLastVerify(config),
      droppedLogLines,
    },
  });
  const server = createMetricsServer(
    () => metrics.text(),
    (error) => log.error({ error }, "metrics could not be collected"),
  );
  containBugs(server, reportBug(log, metrics));
  const port = await listen(server, listenAddressOf(config, "metrics"));
  return {
    url: `${ownAddress({ host, tlsCert: undefined }, port)}/metrics`,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
