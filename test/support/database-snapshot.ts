import type { DatabaseSnapshot } from "../../src/telemetry/metrics/database-watch.ts";

/** What metrics read of a database in which nothing waits or fails. */
export const QUIET: DatabaseSnapshot = {
  backing: [],
  due: { count: 0, lagMs: 0 },
  markets: [],
  eventLagMs: 0,
  webhooks: { lagMs: 0, failing: 0, failingMs: 0, open: { RETRYING: 0, BLOCKED: 0, UNDELIVERED: 0 } },
  clockSkewMs: 0,
  archiveFailing: undefined,
};
