import { expect, test } from "vitest";
import type { DatabaseSnapshot } from "./database-watch.ts";
import { Metrics } from "./metrics.ts";

const SNAPSHOT: DatabaseSnapshot = {
  backing: [],
  due: { count: 0, lagMs: 0 },
  markets: [],
  eventLagMs: 1_500,
  webhooks: { lagMs: 0, failing: 0, failingMs: 0, open: { RETRYING: 0, BLOCKED: 0, UNDELIVERED: 0 } },
  clockSkewMs: 0,
  archiveFailing: undefined,
};

test("before the core is there its metrics are missing, and then the first scrape has what the database knows", async () => {
  const metrics = new Metrics();
  expect(await metrics.text()).not.toMatch(/^parbook_(database_up|lane_slot)/m);
  metrics.watch({
    lane: {
      report: () => ({
        depth: 0,
        toLock: 0,
        inFlight: 0,
        slot: 1,
        state: "running",
        databaseAway: false,
        clockFault: undefined,
      }),
    },
    database: { report: () => ({ open: 0, idle: 0, waiting: 0 }) },
    engines: undefined,
    readSnapshot: async () => SNAPSHOT,
    machine: {
      ...{ mode: "sandbox", embedded: true, dataDir: "/nowhere", certificate: () => undefined },
      ...{ lastVerify: async () => undefined, droppedLogLines: () => 0 },
    },
  });
  const lines = (await metrics.text()).split("\n");
  for (const line of ["parbook_database_up 1", "parbook_event_lag_seconds 1.5", "parbook_lane_slot 1"]) {
    expect(lines).toContain(line);
  }
});
