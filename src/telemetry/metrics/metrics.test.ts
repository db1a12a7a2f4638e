import { expect, test } from "vitest";
import { QUIET } from "../../../test/support/database-snapshot.ts";
import { Metrics } from "./metrics.ts";

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
    readSnapshot: async () => ({ ...QUIET, eventLagMs: 1_500 }),
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
