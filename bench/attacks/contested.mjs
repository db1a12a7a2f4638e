/**
 * How long others wait while one customer moves money among own profiles through all nodes that share a database, and trades on
 * a market with the same profiles: their rows are locked by one node after the other, and the market's rounds need them too.
 *
 *   node bench/attacks/contested.mjs [--seconds 15] [--profiles 12] [--moves 45] [--orders 9] [--nodes 3]
 *                                    [--commit 5] [--busy 0] [--kind moves]
 *
 * The database flushes its log so many ms after it could, as slow disks and a standby do (--commit), and so many programs compute
 * without a pause beside all (--busy). Others pay each other, and place orders on that market and on another one, and wait until
 * these are done. `--kind same` sends each order of the customer to all nodes at once, with the same ref_id; `--kind apart` gives
 * each node profiles of its own, which shows what the load costs that does not meet; `--kind markets` places its orders on twenty
 * other markets, in turn; `--kind bursts` sends 60 orders to each node at once every three seconds instead, which expire soon.
 */
import { spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { prepare } from "../../scripts/prepare.mjs";
import { openLoop } from "../open-loop.mjs";
import { printTable } from "../report/table.mjs";
import { quantile } from "../rounds.mjs";
import { makeProfiles, startService } from "../service.mjs";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "15" },
    profiles: { type: "string", default: "12" },
    moves: { type: "string", default: "45" },
    orders: { type: "string", default: "9" },
    nodes: { type: "string", default: "3" },
    commit: { type: "string", default: "5" },
    busy: { type: "string", default: "0" },
    kind: { type: "string", default: "moves" },
  },
});
const { seconds, profiles, moves, orders, nodes, commit, busy } = Object.fromEntries(
  Object.entries(values).map(([name, value]) => [name, Number(value)]),
);
const [MARKET, OTHER_MARKET] = ["ETHUSD", "XLMUSD"];
const MANY_MARKETS = "BTC LTC BCH LINK AAVE UNI ARB ENA MNT ONDO QNT SKY WIF WLD DOGE AVAX SUI POL BNB RENDER"
  .split(" ")
  .map((asset) => `${asset}USD`);
const WARM_UP_SECONDS = 3;
/** Orders at each node. */
const BURST = 60;
const BURST_EVERY_SECONDS = 3;
/** Of others, a second at each node. */
const EACH = 6;

await prepare({ tools: true });
const { reachEmbedded } = await import("../../dist/postgres/embedded/embedded.js");
const directory = await mkdtemp(join(tmpdir(), "parbook-contested-"));
const services = [];
const spinning = [];
try {
  const first = await open("1");
  const shared = { ...(await slowDatabaseOf(first)), PARBOOK_BASE_URL: first.baseUrl, PARBOOK_AUTH_URL: first.authUrl };
  for (let number = 2; number <= nodes; number += 1) await open(String(number), shared);
  const attacker = first.customers[0];
  const stranger = await first.addCustomer();
  const own = await makeProfiles(attacker, profiles, { USD: "100000" });
  const others = await makeProfiles(stranger, 2 * nodes, { USD: "100000" });
  for (let i = 0; i < busy; i += 1)
    spinning.push(
      spawn(process.execPath, [
        "-e",
        `const end = Date.now() + ${1_000 * (3 * seconds + 30)}; while (Date.now() < end);`,
      ]),
    );
  await load(stranger, others, WARM_UP_SECONDS);
  const before = await load(stranger, others);
  const [during] = await Promise.all([load(stranger, others), attack(attacker, own)]);
  const after = await load(stranger, others);
  printTable(
    ["others, ms", "before p50", "p99", "during p50", "p99", "after p50", "p99", "503s", "ratio of p50", "of p99"],
    Object.keys(before).map((kind) => {
      const [quiet, attacked, again] = [before, during, after].map((phase) => phase[kind].accepted);
      const calm = [...quiet, ...again];
      const figures = [quiet, attacked, again].flatMap((some) => [0.5, 0.99].map((part) => quantile(some, part)));
      const ratios = [0.5, 0.99].map((part) => quantile(attacked, part) / quantile(calm, part));
      const rounded = figures.map((ms) => Math.round(ms));
      return [kind, ...rounded, during[kind].rejected.length, ...ratios.map((ratio) => ratio.toFixed(1))];
    }),
  );
} finally {
  for (const program of spinning) program.kill();
  for (const service of services.toReversed()) await service.stop();
  await rm(directory, { recursive: true, force: true });
}

async function open(name, settings = {}) {
  const own = join(directory, name);
  await mkdir(own);
  if (services.length > 0) await copyFile(join(services[0].directory, "demo.json"), join(own, "demo.json"));
  const service = await startService(own, { PARBOOK_RATE_LIMITS: "off", ...settings });
  services.push(service);
  return service;
}

/** The settings by which another process reaches the database of the first, whose commits take longer from now on. */
async function slowDatabaseOf(service) {
  const reached = await reachEmbedded(service.directory);
  const client = new pg.Client(reached.connection("postgres", "postgres"));
  await client.connect();
  await client.query(`alter system set commit_delay = ${1_000 * commit}`);
  await client.query("alter system set commit_siblings = 0");
  await client.query("select pg_reload_conf()");
  await client.end();
  const url = (user) => {
    const { host, port, database } = reached.connection("parbook", user);
    return `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  };
  return { PARBOOK_DATABASE_URL: url("parbook"), PARBOOK_MIGRATE_URL: url("postgres") };
}

function post({ headers }, path, body) {
  return { method: "POST", path, headers, body: JSON.stringify(body) };
}

/** Too low to meet others: it is cancelled at once. */
function order(customer, profile, market, more = {}) {
  const terms = { side: "BUY", market, type: "LIMIT", time_in_force: "IOC", price: "1", base_amount: "1" };
  return post(customer, `/v2/profiles/${profile}/orders`, { ...terms, await_fill_millis: 10_000, ...more });
}

/** At all nodes together. */
async function atAll(perSecond, requestsOf, forSeconds = seconds) {
  const received = await Promise.all(
    services.map(({ ownUrl }, place) =>
      openLoop({ url: ownUrl, perSecond, seconds: forSeconds, connections: 200, requests: requestsOf(place) }),
    ),
  );
  for (const { wrong } of received) if (wrong.length > 0) console.log(wrong[0]);
  return {
    accepted: received.flatMap(({ accepted }) => accepted),
    rejected: received.flatMap(({ rejected }) => rejected),
  };
}

async function load(stranger, own, forSeconds = seconds) {
  const pair = (place) => [own[2 * place], own[2 * place + 1]];
  const payment = (place) => {
    const [from, to] = pair(place);
    return [
      post(stranger, "/v2/transfer/internal", {
        from_profile_id: from,
        to_profile_id: to,
        amount: "0.01",
        asset: "USD",
      }),
    ];
  };
  const [payments, there, elsewhere] = await Promise.all([
    atAll(EACH, payment, forSeconds),
    atAll(EACH, (place) => [order(stranger, pair(place)[0], MARKET)], forSeconds),
    atAll(EACH, (place) => [order(stranger, pair(place)[1], OTHER_MARKET)], forSeconds),
  ]);
  return { payments, "orders there": there, "orders elsewhere": elsewhere };
}

/** Each node begins with another one. */
function ofNode(requests, place) {
  if (values.kind !== "apart") return [...requests.slice(place), ...requests.slice(0, place)];
  const share = Math.floor(requests.length / nodes);
  return requests.slice(place * share, (place + 1) * share);
}

/** With one of the customer's profiles as recipient; one of three rests. */
function onManyMarkets(attacker, own) {
  const of = (i) => own[i % own.length];
  return Array.from({ length: MANY_MARKETS.length * own.length }, (_, i) => {
    const more = { await_fill_millis: 0, base_amount: "0.00000001", recipient_profile_id: of(5 * i + 1) };
    const rests = i % 3 === 0 ? { time_in_force: "GTC" } : {};
    return order(attacker, of(7 * i), MANY_MARKETS[i % MANY_MARKETS.length], { ...more, ...rests });
  });
}

/** What it has waited to send: orders at all nodes at once, on four markets, that expire soon after. @returns the responses' statuses */
function burst(attacker, own) {
  const markets = MANY_MARKETS.slice(1, 5);
  const of = (i) => own[i % own.length];
  const orders = Array.from({ length: BURST * nodes }, (_, i) => {
    const terms = { time_in_force: "GTT", base_amount: "0.01", expiration_date: String(Date.now() + 1_000 + 5 * i) };
    const more = { await_fill_millis: 9_000, recipient_profile_id: of(i + 7) };
    return order(attacker, of(i), markets[i % markets.length], { ...terms, ...more });
  });
  return Promise.all(
    orders.map(async ({ path, ...request }, i) => {
      const response = await fetch(`${services[i % nodes].ownUrl}${path}`, request);
      await response.arrayBuffer();
      return response.status;
    }),
  );
}

async function attackInBursts(attacker, own) {
  const all = [];
  for (let second = 0; second + BURST_EVERY_SECONDS <= seconds; second += BURST_EVERY_SECONDS) {
    all.push(burst(attacker, own));
    await pause(1_000 * BURST_EVERY_SECONDS);
  }
  const statuses = (await Promise.all(all)).flat();
  const counts = [...new Set(statuses)].map((one) => `${statuses.filter((status) => status === one).length} of ${one}`);
  console.log(`the customer's orders: ${counts.join(", ")}`);
}

async function attack(attacker, own) {
  if (values.kind === "bursts") return attackInBursts(attacker, own);
  const requests = own.map((from, i) => {
    const share = values.kind === "apart" ? Math.floor(own.length / nodes) : own.length;
    const to = own[i - (i % share) + (((i % share) + 1 + (i % (share - 1))) % share)];
    return post(attacker, "/v2/transfer/internal", {
      from_profile_id: from,
      to_profile_id: to,
      amount: "0.01",
      asset: "USD",
    });
  });
  const trades =
    values.kind === "markets"
      ? onManyMarkets(attacker, own)
      : own.map((profile) => order(attacker, profile, MARKET, values.kind === "same" ? { ref_id: "same #" } : {}));
  const [moved, traded] = await Promise.all([
    atAll(moves / nodes, (place) => ofNode(requests, place)),
    atAll(values.kind === "same" ? orders : orders / nodes, (place) => ofNode(trades, place)),
  ]);
  const counts = [moved, traded].map(({ accepted, rejected }) => `${accepted.length} (503: ${rejected.length})`);
  console.log(`the customer's moves ${counts[0]}, orders ${counts[1]}`);
}
