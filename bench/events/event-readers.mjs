/** Readers of event streams, for the measurements of events. */
import { get } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

/** Of a reader's events, each so-manyeth is looked at for its time. */
const SAMPLED = 20;
const MOST_BEHIND_MS = 60_000;

/**
 * Reads a stream of all events of a customer from now on. `lagsMs`: from a transfer's request, a little before its commit,
 * until its event is here.
 */
export async function openStream({ baseUrl, customers }, { customer = customers[0], sampled = SAMPLED } = {}) {
  const reader = { events: 0, lagsMs: [], close: () => request.destroy() };
  const request = get(`${baseUrl}/v2/events/stream`, { headers: customer.headers });
  const response = await new Promise((resolve, reject) => {
    request.once("response", resolve).once("error", reject);
  });
  if (response.statusCode !== 200) throw new Error(`the stream was answered with ${response.statusCode}`);
  let text = "";
  response.setEncoding("latin1").on("data", (part) => {
    const messages = (text + part).split("\n\n");
    text = messages.pop();
    for (const message of messages) {
      const at = message.indexOf("\ndata: ");
      if (at === -1) continue;
      reader.events += 1;
      if (reader.events % sampled !== 0) continue;
      reader.lagsMs.push(Date.now() - Date.parse(JSON.parse(message.slice(at + 7)).object.created_at));
    }
  });
  return reader;
}

/** Until all events are published, so that none are left to the next round. */
export async function untilPublished(service) {
  // Cheap, because its CPU counts.
  const text = `select bool_or((select max(n) from batch where batch.slot = head.slot) > head.n) as behind
                  from (select slots, heads from event_cut order by cut desc limit 1) last,
                       unnest(last.slots, last.heads) as head(slot, n)`;
  for (const end = performance.now() + MOST_BEHIND_MS; performance.now() < end; await pause(50)) {
    const [{ behind }] = await service.ask("rows", { text });
    if (behind === false) return;
  }
  throw new Error("the publisher has not caught up");
}
