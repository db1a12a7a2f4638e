/** The metrics of this process, put together and served where the operator wants them. */
import type { Config } from "../config/config.ts";
import type { Engines } from "../exchange/engine/engines.ts";
import { lookAt } from "../telemetry/metrics/look.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import { createMetricsServer } from "../telemetry/metrics/metrics-server.ts";
import { readLastVerify } from "../verify/last-verify.ts";
import { containBugs } from "../web/connections/contained.ts";
import type { Core } from "./core.ts";
import { listen, ownAddress } from "./listening.ts";
import { droppedLogLines } from "./logger.ts";
import { bugTo } from "./observers.ts";

export interface MetricsSources {
  readonly config: Config;
  readonly core: Core;
  readonly engines: Engines;
  /** In PEM, as it is in use. */
  readonly certificate: () => string | undefined;
}

/** Answers the address of /metrics, and how to stop serving it. */
export async function serveMetrics(
  metrics: Metrics,
  { config, core, engines, certificate }: MetricsSources,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { mode, dataDir, metricsHost: host, metricsPort = 0, settlementDelayMs } = config;
  const { lane, database, clock, log } = core;
  metrics.watch({
    lane,
    database,
    engines: config.roles.has("engine") ? engines : undefined,
    look: () => lookAt(database, clock, settlementDelayMs),
    machine: {
      mode,
      dataDir,
      certificate,
      embedded: config.databaseUrl === undefined,
      lastVerify: () => readLastVerify(dataDir),
      droppedLogLines,
    },
  });
  const server = createMetricsServer(
    () => metrics.text(),
    (error) => log.error({ error }, "the metrics could not be told"),
  );
  containBugs(server, bugTo(log, metrics));
  const settings = { host: "PARBOOK_METRICS_HOST", port: "PARBOOK_METRICS_PORT" };
  const port = await listen(server, { host, port: metricsPort, settings });
  return {
    url: `${ownAddress({ host, tlsCert: undefined }, port)}/metrics`,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
