/**
 * How long others wait while one order on each of many markets meets hundreds of tiny resting orders at the same time.
 *
 *   node bench/attacks/sweeps.mjs [--markets 16] [--orders 600] [--own | --expiring]
 *
 * With --own the resting orders are the same customer's, and are cancelled instead of filled. With --expiring all of them expire
 * at the same moment. Others move money, and place orders on one of the markets and on another one, and wait until they are
 * done. "before" is the same load beside a busy core.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { prepare } from "../../scripts/prepare.mjs";
import { openLoop } from "../open-loop.mjs";
import { printTable } from "../report/table.mjs";
import { quantile } from "../rounds.mjs";
import { makeProfiles, startService } from "../service.mjs";

const { values } = parseArgs({
  options: {
    markets: { type: "string", default: "16" },
    orders: { type: "string", default: "600" },
    own: { type: "boolean", default: false },
    expiring: { type: "boolean", default: false },
  },
});
const [most, orders] = [values.markets, values.orders].map(Number);
const OTHER_MARKET = "XLMUSD";
const [PRICE, TINY, SOLD] = ["900", "0.00000005", "0.0001"];
const AT_ONCE = 64;
const BEFORE_SECONDS = 5;
/** How many a second are placed at least, and how many are done a second, about. */
const [PLACED, DONE] = [400, 4_000];

await prepare({ tools: true });
const directory = await mkdtemp(join(tmpdir(), "parbook-bench-"));
const service = await startService(directory, { PARBOOK_RATE_LIMITS: "off" });
try {
  const [one, other] = service.customers;
  const stranger = await service.addCustomer();
  const { markets } = await one.call("GET", "/v2/markets");
  const swept = markets
    .filter((each) => each.quote_asset === "USD" && each.market !== OTHER_MARKET)
    .filter(({ min_base_amount: least }) => Number(least) <= Number(TINY))
    .slice(0, most);
  const money = { USD: "100000000", ...Object.fromEntries(swept.map(({ base_asset }) => [base_asset, "1000"])) };
  const [maker] = await makeProfiles(other, 1, money);
  const [taker] = values.own ? [maker] : await makeProfiles(one, 1, money);
  const [from, to] = await makeProfiles(stranger, 2, { ...money, USD: "1000000" });
  const place = (customer, profile, terms) =>
    customer.call("POST", `/v2/profiles/${profile}/orders`, { type: "LIMIT", price: PRICE, ...terms });
  const bids = Array.from({ length: orders }, () => swept).flat();
  const placedMs = 15_000 + (1_000 * bids.length) / PLACED;
  const expiresMs = Date.now() + placedMs + 1_000 * BEFORE_SECONDS;
  const time = values.expiring ? { time_in_force: "GTT", expiration_date: new Date(expiresMs).toISOString() } : {};
  for (let i = 0; i < bids.length; i += AT_ONCE)
    await Promise.all(
      bids
        .slice(i, i + AT_ONCE)
        .map(({ market }) => place(other, maker, { side: "BUY", market, base_amount: TINY, ...time })),
    );
  const others = (seconds) => load(stranger, { from, to, seconds, sweptMarket: swept[0].market });

  const busy = spawn(process.execPath, [
    "-e",
    `const end = Date.now() + ${BEFORE_SECONDS * 1_000}; while (Date.now() < end);`,
  ]);
  const before = await others(BEFORE_SECONDS);
  busy.kill();
  if (values.expiring) await pause(expiresMs - Date.now());
  const sweeps = values.expiring ? untilExpired() : sweep();
  // As long as they take about, which is known only afterwards.
  const during = await others(Math.max(1, bids.length / DONE));
  console.log(await sweeps);

  async function sweep() {
    const startedMs = performance.now();
    const ended = await Promise.all(
      swept.map(({ market }) =>
        place(values.own ? other : one, taker, {
          ...{ side: "SELL", market, time_in_force: "IOC", base_amount: SOLD, await_fill_millis: 10_000 },
        }),
      ),
    );
    return `${ended.length} orders met ${orders} each, in ${Math.round(performance.now() - startedMs)} ms`;
  }

  async function untilExpired() {
    const path = `/v2/profiles/${maker}/orders?status=OPEN&limit=1`;
    const isOpen = async () => (await other.call("GET", path)).items.length > 0;
    while (await isOpen()) await pause(100);
    return `${bids.length} orders on ${swept.length} markets expired, in ${Date.now() - expiresMs} ms`;
  }
  printTable(
    ["others", "before p50", "p99", "max", "during p50", "p99", "max", "ratio of p99"],
    Object.keys(before).map((kind) => {
      const [quiet, swept] = [before[kind], during[kind]].map(({ accepted }) => accepted);
      const row = (latencies) => [0.5, 0.99, 1].map((share) => quantile(latencies, share));
      return [kind, ...row(quiet), ...row(swept), quantile(swept, 0.99) / quantile(quiet, 0.99)];
    }),
  );
} finally {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}

async function load({ headers }, { from, to, seconds, sweptMarket }) {
  const post = (path, body) => ({ method: "POST", path, headers, body: JSON.stringify(body) });
  const order = {
    side: "BUY",
    market: OTHER_MARKET,
    type: "LIMIT",
    time_in_force: "IOC",
    price: "1",
    base_amount: "1",
  };
  const requests = {
    transfers: post("/v2/transfer/internal", {
      from_profile_id: from,
      to_profile_id: to,
      amount: "0.01",
      asset: "USD",
    }),
    "orders elsewhere": post(`/v2/profiles/${from}/orders`, { ...order, await_fill_millis: 10_000 }),
    "orders there": post(`/v2/profiles/${from}/orders`, {
      ...{ ...order, market: sweptMarket, base_amount: SOLD, await_fill_millis: 10_000 },
    }),
    // They come to what has expired, and close it.
    ...(values.expiring && {
      "sales there": post(`/v2/profiles/${from}/orders`, {
        ...{ ...order, side: "SELL", price: PRICE, market: sweptMarket, base_amount: SOLD, await_fill_millis: 10_000 },
      }),
    }),
  };
  const received = await Promise.all(
    Object.values(requests).map((request) =>
      openLoop({ url: service.baseUrl, perSecond: 40, seconds, connections: 40, requests: [request] }),
    ),
  );
  for (const { wrong } of received) if (wrong.length > 0) console.log(wrong[0]);
  return Object.fromEntries(Object.keys(requests).map((kind, place) => [kind, received[place]]));
}
