/** Metrics, traces and the request log, each undefined unless configured. */
import type { Logger } from "pino";
import type { ApiOptions } from "../api/server.ts";
import { Metrics } from "../telemetry/metrics/metrics.ts";
import type { ServerName } from "../telemetry/metrics/requests.ts";
import { Traces } from "../telemetry/traces/traces.ts";
import type { Config } from "./config/config.ts";
import type { LaneObserver } from "./core.ts";
import { createRequestLog, type RequestLog, type RequestLogForm } from "./request-log.ts";

export interface Observers {
  readonly metrics: Metrics | undefined;
  readonly traces: Traces | undefined;
  readonly requestLog: RequestLog | undefined;
}

export function observersOf({ metricsPort }: Config, log: Logger, requestLog: RequestLogForm | undefined): Observers {
  return {
    metrics: metricsPort === undefined ? undefined : new Metrics(),
    traces: Traces.find(),
    requestLog: requestLog && createRequestLog(log, requestLog),
  };
}

export function laneObserver({ metrics, traces }: Observers): LaneObserver {
  const ledger = metrics?.ledger;
  return {
    onCommitted: (batch) => {
      ledger?.onCommitted(batch);
      traces?.lane.onCommitted(batch);
    },
    onExecute: traces?.lane.onExecute,
    onEvent: ledger?.onLaneEvent,
  };
}

export function serverObserver(name: ServerName, { metrics, traces, requestLog }: Observers): ApiOptions["observe"] {
  return (server) => {
    metrics?.requests.watch(name, server);
    traces?.watch(server);
    requestLog?.(server);
  };
}

/** Reports an uncaught error of a connection, which is closed. */
export const reportBug =
  (log: Logger, metrics: Metrics | undefined) =>
  (error: unknown): void => {
    log.error({ error }, "uncaught error on a connection; connection closed");
    metrics?.requests.connectionBug();
  };
