/**
 * What streams of events cost: memory of a thousand that wait, and how late a reader has events at a hundred a second.
 *
 *   node bench/events/event-streams.mjs [--streams 1000] [--seconds 20]
 *
 * A transfer's time is that of its request, some milliseconds before its commit: the lag is more than from commit to reader. Exit code 1 above 200 MB, a p50 of 30 ms or a p99 of 150 ms.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { prepare } from "../../scripts/prepare.mjs";
import { openLoop } from "../load.mjs";
import { Parties } from "../parties.mjs";
import { quantile } from "../rounds.mjs";
import { startService } from "../service.mjs";
import { openStream, untilPublished } from "./event-readers.mjs";

/** A client has no more. */
const STREAMS_OF_CLIENT = 125;
const OPENED_AT_ONCE = 25;
/** Each is two events. */
const TRANSFERS_PER_SECOND = 50;
const [MOST_MEGABYTES, MOST_P50_MS, MOST_P99_MS] = [200, 30, 150];

const { values } = parseArgs({
  options: { streams: { type: "string", default: "1000" }, seconds: { type: "string", default: "20" } },
});
const [streams, seconds] = [Number(values.streams), Number(values.seconds)];

await prepare({ tools: true });
const directory = await mkdtemp(join(tmpdir(), "parbook-streams-"));
const service = await startService(directory, {});
try {
  const next = (await new Parties(service).transfers())("/v2/transfer/platform");
  const load = () => openLoop(service.baseUrl, { connections: 16, seconds, rate: TRANSFERS_PER_SECOND, next });
  await load();
  await untilPublished(service);
  const reader = await openStream(service, { sampled: 1 });
  await load();
  await untilPublished(service);
  const [p50, p99] = [quantile(reader.lagsMs, 0.5), quantile(reader.lagsMs, 0.99)];
  console.log(`from a transfer's request to the reader: p50 ${p50} ms, p99 ${p99} ms (${reader.lagsMs.length} events)`);
  reader.close();
  const before = await service.ask("memory");
  const open = [];
  while (open.length < streams) {
    const customer = { headers: await headersOf(await service.ask("eventReader")) };
    for (let own = 0; own < STREAMS_OF_CLIENT && open.length < streams; own += OPENED_AT_ONCE)
      open.push(
        ...(await Promise.all(Array.from({ length: OPENED_AT_ONCE }, () => openStream(service, { customer })))),
      );
  }
  await pause(3_000);
  const after = await service.ask("memory");
  const megabytes = (figure) => (after[figure] - before[figure]) / 1e6;
  console.log(
    `${open.length} streams: ${megabytes("kept").toFixed(1)} MB in use more, ${megabytes("resident").toFixed(1)} MB resident`,
  );
  for (const { close } of open) close();
  const isMet =
    Math.max(megabytes("kept"), megabytes("resident")) <= MOST_MEGABYTES && p50 <= MOST_P50_MS && p99 <= MOST_P99_MS;
  if (!isMet) process.exitCode = 1;
} finally {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}

async function headersOf({ clientId, secret }) {
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id: clientId, client_secret: secret });
  const response = await fetch(`${service.authUrl}/oauth2/token`, { method: "POST", body: form });
  const { access_token: token } = await response.json();
  return { authorization: `Bearer ${token}` };
}
