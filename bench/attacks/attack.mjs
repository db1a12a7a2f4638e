/**
 * The effect of one hostile client on all others: many hostile connections of each kind from one address, in a separate
 * network namespace (loopback is exempt from the per-address limits) and on one core, one kind after another.
 *
 *   node bench/attacks/attack.mjs [--seconds 60] [--connections 500] [--kinds pong-flood,book] [--rates on|off] [--tls] [--wide] [--profile directory]
 *
 * "before" is the same load beside a busy core that asks nothing: what this machine's scheduler alone does to the others. The
 * kind "none" compares that with a quiet machine.
 *
 * Normal clients request /healthz 20 times, a list 50 times and an order 10 times a second. Goals: every /healthz
 * response within 250 ms, the p99 of the lists and of the orders at most three times that before, memory growth of at most 300
 * MB. "blocked" is the longest that the service's event loop was blocked: what is slower than that waited for a CPU of
 * this machine. "slow-groups" is only with --tls. With --wide the connections come from all over an IPv6 network of 48 bits.
 * Exit code 1 when a goal is missed. Needs Linux, root, `ip` and `taskset`, and `openssl` for TLS.
 */
import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { prepare } from "../../scripts/prepare.mjs";
import { openLoop } from "../open-loop.mjs";
import { printTable } from "../report/table.mjs";
import { quantile } from "../rounds.mjs";
import { makeProfiles, startService } from "../service.mjs";
import { makeNetwork, whyNoNetwork } from "./network.mjs";

const KINDS =
  "none,pong-flood,ping-flood,slow-header,slow-body,slow-pages,slow-feed,pipelining,tiny-pipelining,half-open,upgrade,churn,rejected,book,long-query,public-query,markets,all-feeds,joins,sweeps,waits,streams,old-streams,pages,balances,bodies,orders,small-changes,burst,mixed,empty-lines,endless-bodies,empty-parts,long-paths,filters,walks,fees,candles,deactivations,resets,held";
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    connections: { type: "string", default: "500" },
    kinds: { type: "string", default: KINDS },
    rates: { type: "string", default: "on" },
    levels: { type: "string", default: "10000" },
    tls: { type: "boolean", default: false },
    wide: { type: "boolean", default: false },
    profile: { type: "string" },
  },
});
const [seconds, connections, levels] = [values.seconds, values.connections, values.levels].map(Number);
const GOALS = { healthMs: 250, p99Ratio: 3, memoryMb: 300 };
const ATTACKERS_CORE = "1";
const WITHOUT_SECONDS = 30;
const QUIET_SECONDS = 5;
const TRANSFERS = 1_000;
const AT_ONCE = 64;
/** The profile whose orders change the book, and two of the attackers' customer: an empty one, and one with BTC. */
let trader;
let empty;
let seller;
let webhook;
const LARGEST = "\u{1F4B0}".repeat(50);

const why = whyNoNetwork();
if (why !== undefined) {
  console.log(`not run: ${why}`);
  process.exit(1);
}
await prepare({ tools: true });
const directory = await mkdtemp(join(tmpdir(), "parbook-bench-"));
const network = makeNetwork();
process.once("exit", network.remove);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
const settings = { PARBOOK_HOST: "::", ...(values.tls ? certificate(directory) : {}) };
let service = await startService(directory, { ...settings, PARBOOK_RATE_LIMITS: "off" });
try {
  // Filled without rate limits, which would make it take minutes.
  await fill(service);
  await service.stop();
  service = await startService(directory, { ...settings, PARBOOK_RATE_LIMITS: values.rates });
  const [api, auth] = [service.baseUrl, service.authUrl].map((url) => Number(new URL(url).port));
  const token = service.customers[0].headers.authorization.slice("Bearer ".length);
  const rows = [];
  for (const kind of values.kinds.split(",")) {
    rows.push(await attack(service, { kind, port: kind === "empty-parts" ? auth : api, authPort: auth, token }));
  }
  printTable(
    [
      "kind",
      "opened",
      "open at end",
      "/healthz max before",
      "/healthz max ms",
      "p99 before",
      "p99",
      "ratio",
      "orders before",
      "orders",
      "ratio",
      "503",
      "blocked ms",
      "memory MB",
      "CPU %",
      "",
    ],
    rows.map(shown),
  );
  if (rows.some(({ missed }) => missed.length > 0)) process.exitCode = 1;
} finally {
  await service.stop();
  network.remove();
  await rm(directory, { recursive: true, force: true });
}

/** A page of 1,000 transfers at their largest, and a deep book. */
async function fill({ customers }) {
  const [one, other] = customers;
  const [from, to] = await makeProfiles(one, 2, { USD: "1000000" });
  [empty] = await makeProfiles(one, 1, {});
  webhook = (await one.call("POST", "/v2/webhooks", { name: "attack", url: "http://127.0.0.1:1/", types: ["*"] })).id;
  const metadata = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`${i}${LARGEST}`.slice(0, 99), LARGEST]));
  await inGroups(TRANSFERS, (i) => {
    const what = { from_profile_id: from, to_profile_id: to, amount: "0.01", asset: "USD", ref_id: randomUUID() };
    return one.call("POST", "/v2/transfer/platform", { ...what, ref_id: `${i}-${what.ref_id}`, metadata });
  });
  const [buyer] = await makeProfiles(other, 1, { USD: "1000000000" });
  trader = buyer;
  // Of another customer: one may have 20,000 open orders on a market, and the trader places more.
  [seller] = await makeProfiles(one, 1, { BTC: "100000" });
  await inGroups(levels, (i) => placeOrder(other, buyer, { side: "BUY", price: String(20_000 - i) }));
  await inGroups(levels, (i) => placeOrder(one, seller, { side: "SELL", price: String(30_000 + i) }));
  if (values.kinds.split(",").includes("joins")) await deepenOtherMarkets(other);
}

/** Seven more books, of bids with as many levels. */
async function deepenOtherMarkets(customer) {
  const [bidder] = await makeProfiles(customer, 1, { USD: "1000000000" });
  for (const market of ["ETHUSD", "BCHUSD", "LTCUSD", "LINKUSD", "AAVEUSD", "UNIUSD", "AVAXUSD"]) {
    const bid = { market, side: "BUY", base_amount: "1" };
    await inGroups(levels, (i) => placeOrder(customer, bidder, { ...bid, price: String(1 + i) }));
  }
}

/** A self-signed certificate for this run. */
function certificate(directory) {
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(directory, name));
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert];
  execFileSync("openssl", ["req", "-x509", "-subj", "/CN=localhost", "-days", "1", ...made], { stdio: "ignore" });
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  return { PARBOOK_TLS_CERT: cert, PARBOOK_TLS_KEY: key };
}

function placeOrder(customer, profile_id, terms) {
  const order = { market: "BTCUSD", type: "LIMIT", time_in_force: "GTC", base_amount: "0.001", ...terms };
  return customer.call("POST", `/v2/profiles/${profile_id}/orders`, order);
}

async function inGroups(count, act) {
  for (let i = 0; i < count; i += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - i) }, (_, at) => act(i + at)));
  }
}

async function attack({ baseUrl, customers, ask }, { kind, port, authPort, token }) {
  const before = await without(baseUrl, customers, kind);
  await ask("memory");
  const idle = (await ask("used")).resident;
  const { serviceCpu } = await ask("used");
  await ask("blocked");
  const attackers = attackFor({
    kind,
    host: values.wide ? network.ours6 : network.ours,
    wide6: values.wide ? network.wide6 : undefined,
    port,
    ...(kind === "held" ? { otherPort: authPort, connections: 2 * connections } : { connections }),
    seconds,
    token,
    tls: values.tls,
    profile: empty,
    seller,
    webhook,
  });
  const memory = watchMemory(ask);
  if (values.profile !== undefined) await ask("profile", {});
  const [during, received] = await Promise.all([others(baseUrl, customers, seconds), attackers]).finally(memory.stop);
  const blocked = await ask("blocked");
  if (values.profile !== undefined) await ask("profile", { file: join(values.profile, `${kind}.cpuprofile`) });
  const cpu = ((await ask("used")).serviceCpu - serviceCpu) / 1e4 / seconds;
  const grown = (memory.most() - idle) / 1e6;
  const [healthBefore, healthMs] = [before, during].map(({ health }) =>
    Math.max(...health.accepted, health.unanswered > 0 ? Infinity : 0),
  );
  const [p99Before, p99] = [before, during].map(({ lists }) => quantile(lists.accepted, 0.99));
  const [ordersBefore, orders] = [before, during].map(({ orders }) => quantile(orders.accepted, 0.99));
  const missed = [
    ...(healthMs > GOALS.healthMs ? ["/healthz"] : []),
    ...(p99 > GOALS.p99Ratio * p99Before ? ["p99"] : []),
    ...(orders > GOALS.p99Ratio * ordersBefore ? ["p99 of orders"] : []),
    ...(grown > GOALS.memoryMb ? ["memory"] : []),
  ];
  const result = {
    kind,
    ...received,
    healthBefore,
    healthMs,
    p99Before,
    p99,
    ordersBefore,
    orders,
    rejected: during.lists.rejected.length,
    blocked,
    grown,
    cpu,
    missed,
  };
  console.log(JSON.stringify(result));
  // Let the effects fade before the next attack.
  await pause(QUIET_SECONDS * 1_000);
  return result;
}

function shown({ missed, ...of }) {
  const verdict = missed.length === 0 ? "" : `MISSED: ${missed.join(", ")}`;
  const others = [of.healthBefore, of.healthMs, of.p99Before, of.p99, of.p99 / of.p99Before];
  const trade = [of.ordersBefore, of.orders, of.orders / of.ordersBefore];
  return [of.kind, of.opened, of.atEnd, ...others, ...trade, of.rejected, of.blocked, of.grown, of.cpu, verdict];
}

/**
 * The same load without the attackers. They take one of this machine's processors, so it is kept busy for that as well; only
 * the control is compared with a quiet machine.
 */
async function without(baseUrl, customers, kind) {
  if (kind === "none") return await others(baseUrl, customers, WITHOUT_SECONDS);
  const [before] = await Promise.all([
    others(baseUrl, customers, WITHOUT_SECONDS),
    attackFor({ kind: "none", seconds: WITHOUT_SECONDS }),
  ]);
  return before;
}

async function others(url, customers, forSeconds) {
  // The attackers use the first customer's token.
  const [, ...bystanders] = customers;
  const { headers } = bystanders[0];
  const order = JSON.stringify({
    ...{ side: "BUY", market: "BTCUSD", type: "LIMIT", time_in_force: "GTC", base_amount: "0.001" },
    price: "19999",
  });
  const lists = bystanders.map(({ headers }) => ({ method: "GET", path: "/v2/profiles?limit=10", headers }));
  const health = { method: "GET", path: "/healthz" };
  const path = `/v2/profiles/${trader}/orders`;
  const [received, listed, traded] = await Promise.all([
    openLoop({ url, perSecond: 20, seconds: forSeconds, connections: 4, requests: [health] }),
    openLoop({ url, perSecond: 50, seconds: forSeconds, connections: 20, requests: lists }),
    openLoop({
      url,
      perSecond: 10,
      seconds: forSeconds,
      connections: 10,
      requests: [{ method: "POST", path, headers, body: order }],
    }),
  ]);
  if (traded.wrong.length > 0) console.log(traded.wrong[0]);
  return { health: received, lists: listed, orders: traded };
}

function attackFor(options) {
  const file = fileURLToPath(new URL("attackers.mjs", import.meta.url));
  const words = network.command("taskset", "-c", ATTACKERS_CORE, process.execPath, file, JSON.stringify(options));
  const child = spawn(words[0], words.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => (code === 0 ? resolve(JSON.parse(text)) : reject(new Error(`attackers: ${code}`))));
  });
}

function watchMemory(ask) {
  let most = 0;
  const timer = setInterval(async () => {
    most = Math.max(most, (await ask("used")).resident);
  }, 250);
  return { most: () => most, stop: () => clearInterval(timer) };
}
