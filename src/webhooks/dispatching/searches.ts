/** Reads events for a webhook at a pace that leaves thread and database to others. */
import type { EventFilter, EventPage, Events } from "../../events/events.ts";
import { pause, restMs } from "../../std/pause.ts";

/** A search without a find is followed by a rest so many times longer: ten webhooks may wait for what never happens. */
const RESTS = 3;

/** A page, after the rest if nothing was found and there is more to be searched. */
export async function listAtPace(events: Pick<Events, "list">, filter: EventFilter): Promise<EventPage> {
  const startedMs = performance.now();
  const page = await events.list(filter);
  const tookMs = performance.now() - startedMs;
  if (page.events.length === 0 && !page.isLast) await pause(restMs(tookMs, RESTS));
  return page;
}
