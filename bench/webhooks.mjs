/**
 * Webhooks on loopback: deliveries a second, CPU of service and database for each, how late a receiver has an event at a light
 * load, and the same beside receivers of another customer that never answer; and how long the API takes meanwhile.
 *
 *   node bench/webhooks.mjs [--transfers 250] [--seconds 8] [--profile deliveries.cpuprofile]
 *
 * Thirty webhooks of six customers, each with 100 deliveries a second, the most that there is: 2,500 are possible. The load of
 * the receivers is in this process, on the same cores, so CPU of a delivery says more than deliveries a second. Exit code 1 if
 * the p99 beside dead receivers is more than twice as late, and more than 50 ms later: below that it is noise.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { prepare } from "../scripts/prepare.mjs";
import { printTable } from "./report/table.mjs";
import { quantile } from "./rounds.mjs";
import { databaseCpu, makeProfiles, startService } from "./service.mjs";

const { values } = parseArgs({
  options: {
    transfers: { type: "string", default: "250" },
    seconds: { type: "string", default: "8" },
    profile: { type: "string" },
  },
});
const [transfers, seconds] = [Number(values.transfers), Number(values.seconds)];
const PER_CUSTOMER = 10;
const BUSY_CUSTOMERS = 6;
const WEBHOOKS_OF_BUSY = 5;
const LIGHT_PER_SECOND = 20;
const SEEN_WITHIN_MS = 2_000;
const PATIENCE_MS = 60_000;

/** When each event arrived, by the ref_id of its transfer; and how many posts in all. */
const arrived = new Map();
let posts = 0;
const receiver = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  // It never answers.
  if (request.url === "/dead") return;
  posts += 1;
  response.writeHead(204).end();
  const refId = request.url === "/timed" ? JSON.parse(body).data?.ref_id : undefined;
  if (refId !== undefined && !arrived.has(refId)) arrived.set(refId, performance.now());
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const urlOf = (path) => `http://127.0.0.1:${receiver.address().port}/${path}`;

await prepare({ tools: true });
const directory = await mkdtemp(join(tmpdir(), "parbook-webhooks-"));
const service = await startService(directory, { PARBOOK_RATE_LIMITS: "off" });
try {
  const rate = await throughput();
  const light = await latencies("light");
  await addWebhooks(service.customers[1], "dead", PER_CUSTOMER);
  await someTransfers(service.customers[1], 50);
  const beside = await latencies("beside dead receivers");
  report(rate, light, beside);
} finally {
  await service.stop();
  receiver.closeAllConnections();
  receiver.close();
  await rm(directory, { recursive: true, force: true });
}

/** All events of many webhooks at once, until the last is delivered. */
async function throughput() {
  const customers = [...service.customers];
  while (customers.length < BUSY_CUSTOMERS) customers.push(await service.addCustomer());
  const made = [];
  for (const customer of customers) made.push(...(await addWebhooks(customer, "fast", WEBHOOKS_OF_BUSY)));
  // What delivers looks for new webhooks once a second.
  await pause(SEEN_WITHIN_MS);
  if (values.profile !== undefined) await service.ask("profile", {});
  const before = await used();
  const startedMs = performance.now();
  const api = apiLatencies();
  await Promise.all(customers.map((customer) => someTransfers(customer, transfers)));
  // Two events of each, to each webhook of the customer, and those of its new profiles.
  const wanted = 2 * transfers * made.length;
  const isDone = await waitUntil(() => posts >= wanted);
  const tookMs = performance.now() - startedMs;
  const after = await used();
  if (values.profile !== undefined) await service.ask("profile", { file: values.profile });
  const apiMs = await api.end();
  for (const { customer, id } of made) await customer.call("DELETE", `/v2/webhooks/${id}`);
  return {
    perSecond: (posts / tookMs) * 1_000,
    service: (after.serviceCpu - before.serviceCpu) / posts,
    database: (after.databaseCpu - before.databaseCpu) / posts,
    apiP50: quantile(apiMs, 0.5),
    apiP99: quantile(apiMs, 0.99),
    missing: isDone ? 0 : wanted - posts,
  };
}

/** Of one request after another, by a customer without webhooks. */
function apiLatencies() {
  const taken = [];
  let isOver = false;
  const asking = (async () => {
    const customer = await service.addCustomer();
    while (!isOver) {
      const beganMs = performance.now();
      await customer.call("GET", "/v2/profiles");
      taken.push(performance.now() - beganMs);
      await pause(10);
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await asking;
      return taken;
    },
  };
}

/** From the answer to a transfer to its first event at the receiver. */
async function latencies(name) {
  const [customer] = service.customers;
  const [hook] = await addWebhooks(customer, "timed", 1, "FULL");
  const [from, to] = await makeProfiles(customer, 2, { USD: "1000" });
  // What delivers looks for new webhooks once a second.
  await pause(SEEN_WITHIN_MS);
  const answered = new Map();
  for (let sent = 0; sent < seconds * LIGHT_PER_SECOND; sent += 1) {
    const refId = randomUUID();
    await customer.call("POST", "/v2/transfer/internal", transfer(from, to, refId));
    answered.set(refId, performance.now());
    await pause(1_000 / LIGHT_PER_SECOND);
  }
  await waitUntil(() => [...answered.keys()].every((refId) => arrived.has(refId)));
  await customer.call("DELETE", `/v2/webhooks/${hook.id}`);
  const lags = [...answered].flatMap(([refId, at]) => (arrived.has(refId) ? [arrived.get(refId) - at] : []));
  return { name, missing: answered.size - lags.length, p50: quantile(lags, 0.5), p99: quantile(lags, 0.99) };
}

async function addWebhooks(customer, path, count, body = "THIN") {
  const made = [];
  for (let i = 0; i < count; i += 1) {
    const settings = { url: urlOf(path), types: ["transfer.*"], body, deliveries_per_second: 100 };
    const { id } = await customer.call("POST", "/v2/webhooks", { name: randomUUID(), ...settings });
    made.push({ customer, id });
  }
  return made;
}

async function someTransfers(customer, count) {
  const [from, to] = await makeProfiles(customer, 2, { USD: "100000" });
  for (let sent = 0; sent < count; sent += 10)
    await Promise.all(
      Array.from({ length: 10 }, () =>
        customer.call("POST", "/v2/transfer/internal", transfer(from, to, randomUUID())),
      ),
    );
}

function transfer(from, to, refId) {
  return { from_profile_id: from, to_profile_id: to, asset: "USD", amount: "1", ref_id: refId };
}

async function used() {
  return { ...(await service.ask("used")), databaseCpu: databaseCpu(service.directory) ?? 0 };
}

async function waitUntil(holds) {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await pause(20)) if (holds()) return true;
  return false;
}

function report(rate, light, beside) {
  printTable(
    ["deliveries/s", "CPU of a delivery, us: service", "database", "API meanwhile, ms: p50", "p99", "missing"],
    [
      [
        ...[rate.perSecond, rate.service, rate.database, rate.apiP50, rate.apiP99].map((figure) => figure.toFixed(0)),
        String(rate.missing),
      ],
    ],
  );
  printTable(
    ["from a transfer's answer to the receiver", "p50, ms", "p99, ms", "missing"],
    [light, beside].map(({ name, p50, p99, missing }) => [name, p50.toFixed(1), p99.toFixed(1), String(missing)]),
  );
  const isSlowed = beside.p99 > 2 * light.p99 && beside.p99 > light.p99 + 50;
  if (isSlowed || rate.missing + light.missing + beside.missing > 0) process.exitCode = 1;
}
