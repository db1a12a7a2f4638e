/** Publishing events step by step, for tests that decide when. */
import { createEvents, type Events } from "../../src/events/events.ts";
import { CutMaker, EVENTS_LEASE } from "../../src/events/publishing/publisher.ts";
import { Retention, type RetentionOptions } from "../../src/events/publishing/retention.ts";
import { RecentTransfers } from "../../src/events/recent-transfers.ts";
import type { Cut } from "../../src/events/store.ts";
import type { Database } from "../../src/postgres/database.ts";
import { type Lease, takeLease } from "../../src/postgres/leases.ts";
import { must } from "../../src/std/assert.ts";
import { type Clock, systemClock } from "../../src/std/clock.ts";
import { createTransfers } from "../../src/transfers/transfers.ts";
import { untilNextMillisecond } from "./until.ts";

/** Opens a publisher that makes a cut when it is asked. It takes the lease from another of the same name. */
export async function openMaker(
  database: Database,
  holder = "test",
  clock: Clock = systemClock,
): Promise<() => Promise<Cut | "lost" | undefined>> {
  const lease: Lease = must(await takeLease(database.commits, EVENTS_LEASE, holder, 60_000), "the lease is free");
  const maker = new CutMaker({ database, clock, clockToleranceMs: 2_000 });
  await maker.open();
  return () => maker.next(lease);
}

/** Publishes what is new, in one cut. */
export async function publishOnce(database: Database): Promise<void> {
  const next = await openMaker(database);
  // By its time events are listed and removed.
  await untilNextMillisecond();
  if ((await next()) === "lost") throw new Error("another publisher is at work");
}

/** The catalogue of a process that knows all markets. */
export const ALL_MARKETS = { learnMarkets: async () => undefined };

/** Of a process that has published nothing, and read nothing yet. */
export function eventsOf(database: Database): Events {
  const transfers = createTransfers({ database } as never);
  return createEvents({ database, catalogue: ALL_MARKETS, transfers, recentTransfers: new RecentTransfers() });
}

/** Removes what is too old by a clock that is right, for so many hours. */
export async function removeOldEvents(
  database: Database,
  options: Pick<RetentionOptions, "clock" | "keptMs">,
  hours = 1,
): Promise<void> {
  let elapsed = 0;
  const retention = new Retention({ database, ...options, elapsedMs: () => elapsed });
  for (; elapsed <= hours * 3_600_000; elapsed += 3_600_000) await retention.run();
}
