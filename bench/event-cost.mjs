/**
 * What events cost transfers: the rate without a publisher, with one to which nobody listens, and with one reader of a stream
 * of everything; and how late that reader has them.
 *
 *   node bench/event-cost.mjs [--rounds 5] [--seconds 4] [--connections 64]
 *
 * Two services, one of them without the role worker, each with its own embedded PostgreSQL. The three take turns, every other
 * round backwards, so that other load on the machine affects all of them. All transfers are of one customer, between a
 * thousand profiles: two events each. Exit code 1 if it costs more than 10 %, 20 % with a reader, or p99 is above a second.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { prepare } from "../scripts/prepare.mjs";
import { closedLoop } from "./load.mjs";
import { Parties } from "./parties.mjs";
import { startService } from "./service.mjs";
import { printTable } from "./table.mjs";

const PATH = "/v2/transfer/platform";
/** Of the reader's events, each so-manyeth is looked at for its time. */
const SAMPLED = 20;
const WARM_UP_SECONDS = 3;
const MOST_BEHIND_MS = 60_000;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "4" },
    connections: { type: "string", default: "64" },
  },
});
const [rounds, seconds, connections] = ["rounds", "seconds", "connections"].map((name) => Number(values[name]));

/** Reads a stream of all events from now on. */
async function openReader({ baseUrl, customers: [customer] }) {
  const reader = { events: 0, lagsMs: [] };
  const request = get(`${baseUrl}/v2/events/stream`, { headers: customer.headers });
  const [response] = await new Promise((resolve, reject) => {
    request.once("response", (...given) => resolve(given)).once("error", reject);
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
      if (reader.events % SAMPLED !== 0) continue;
      reader.lagsMs.push(Date.now() - Date.parse(JSON.parse(message.slice(at + 7)).object.created_at));
    }
  });
  return { report: () => reader, close: () => request.destroy() };
}

/** Until all events of the round are published, so that none are left to the next one. */
async function untilPublished(service) {
  const text = `select count(*) as behind from batch b
                  left join (select slots, heads from event_cut order by cut desc limit 1) c on true
                 where b.n > coalesce(c.heads[array_position(c.slots, b.slot)], -1)`;
  for (const end = performance.now() + MOST_BEHIND_MS; performance.now() < end; await pause(50)) {
    const [{ behind }] = await service.ask("rows", { text });
    if (Number(behind) === 0) return;
  }
  throw new Error("the publisher has not caught up");
}

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
const median = (numbers) =>
  percentile(
    numbers.toSorted((a, b) => a - b),
    0.5,
  );

await prepare({ tools: true });
const directory = await mkdtemp(join(tmpdir(), "parbook-events-"));
const services = [];
try {
  const open = async (name, roles) => {
    const service = await startService(join(directory, name), { PARBOOK_ROLES: roles });
    services.push(service);
    const next = (await new Parties(service).transfers())(PATH);
    return { service, run: (time) => closedLoop(service.baseUrl, { connections, seconds: time, next }) };
  };
  const without = await open("without", "api,auth,engine");
  const published = await open("with", "api,auth,engine,worker");
  for (const { run } of [without, published]) await run(WARM_UP_SECONDS);
  const lagsMs = [];
  let missed = 0;
  const rows = {
    "without a publisher": async () => (await without.run(seconds)).perSecond,
    "nobody listens": async () => {
      const { perSecond } = await published.run(seconds);
      await untilPublished(published.service);
      return perSecond;
    },
    "one reader of everything": async () => {
      await untilPublished(published.service);
      const reader = await openReader(published.service);
      const { perSecond } = await published.run(seconds);
      await untilPublished(published.service);
      const expected = Math.floor(perSecond * seconds * 2 * 0.99);
      for (const end = performance.now() + MOST_BEHIND_MS; reader.report().events < expected; await pause(50)) {
        if (performance.now() > end) break;
      }
      missed += Math.max(0, expected - reader.report().events);
      lagsMs.push(...reader.report().lagsMs);
      reader.close();
      return perSecond;
    },
  };
  const measured = Object.fromEntries(Object.keys(rows).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const names = Object.keys(rows);
    for (const name of round % 2 === 0 ? names : names.toReversed()) measured[name].push(await rows[name]());
  }
  const [base = 0, ...costs] = Object.values(measured).map(median);
  const shares = costs.map((rate) => 1 - rate / base);
  const sorted = lagsMs.toSorted((a, b) => a - b);
  const [p50, p99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)];
  printTable(
    ["", "transfers/s", "cost"],
    Object.keys(rows).map((name, at) => [
      name,
      Math.round([base, ...costs][at]).toString(),
      at === 0 ? "" : `${(shares[at - 1] * 100).toFixed(1)} %`,
    ]),
  );
  console.log(
    `from a transfer's request to the reader: p50 ${p50} ms, p99 ${p99} ms (${sorted.length} samples); missed ${missed}`,
  );
  if (shares[0] > 0.1 || shares[1] > 0.2 || p99 > 1_000 || missed > 0) process.exitCode = 1;
} finally {
  for (const service of services) await service.stop();
  await rm(directory, { recursive: true, force: true });
}
