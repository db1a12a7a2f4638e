/** Who looks on: the operator's metrics and traces, each only where it was asked for. */
import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import type { ApiOptions } from "../http/server.ts";
import { Metrics } from "../telemetry/metrics/metrics.ts";
import type { ServerName } from "../telemetry/metrics/requests.ts";
import { Traces } from "../telemetry/traces/traces.ts";
import type { LaneWatching } from "./core.ts";

export interface Observers {
  readonly metrics: Metrics | undefined;
  readonly traces: Traces | undefined;
}

export function observersOf({ metricsPort }: Config): Observers {
  return { metrics: metricsPort === undefined ? undefined : new Metrics(), traces: Traces.find() };
}

export function watchingLane({ metrics, traces }: Observers): LaneWatching {
  const ledger = metrics?.ledger;
  return {
    onCommitted: (batch) => {
      ledger?.committed(batch);
      traces?.lane.onCommitted(batch);
    },
    onExecute: traces?.lane.onExecute,
    onEvent: ledger?.told,
  };
}

export function watchingServer(name: ServerName, { metrics, traces }: Observers): ApiOptions["observe"] {
  return (server) => {
    metrics?.requests.watch(name, server);
    traces?.watch(server);
  };
}

/** What is done about a bug that a connection met, beside ending that connection. */
export const bugTo =
  (log: Logger, metrics: Metrics | undefined) =>
  (error: unknown): void => {
    log.error({ error }, "a connection met a bug, and was ended");
    metrics?.requests.connectionBug();
  };
