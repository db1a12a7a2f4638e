/**
 * Orders placed per second through HTTP, durable, half of them matching, beside an empty POST route of the same server
 * in the same run; and how long it takes from sending an order until its fill is visible.
 *
 *   node bench/orders.mjs [--connections 64] [--seconds 5] [--rounds 5] [--profiles 200] [--markets 1]
 *
 * One customer sells, another one buys as much at the same price: what they place alternates. Orders are answered when
 * they are durable, not when they are matched, so each round waits until nothing is open any more; "and matched" counts
 * that time as well. Rounds alternate; medians are printed.
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { load, makeProfiles, median, printTable, quantile, withService } from "./service.mjs";

const MARKETS = ["ETHUSD", "BTCUSD", "LTCUSD", "LINKUSD", "AAVEUSD", "UNIUSD", "BCHUSD", "ARBUSD"];
const PRICE = "100";
const AMOUNT = "0.1";

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "64" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "5" },
    profiles: { type: "string", default: "200" },
    markets: { type: "string", default: "1" },
  },
});
const [connections, seconds, rounds, profileCount] = [
  values.connections,
  values.seconds,
  values.rounds,
  values.profiles,
].map(Number);
const markets = MARKETS.slice(0, Number(values.markets));

report(await withService(run));

async function run({ baseUrl, customers, ask }) {
  const bases = Object.fromEntries(markets.map((market) => [market.slice(0, -3), "1000000"]));
  const sides = [
    { side: "SELL", customer: customers[0], profiles: await makeProfiles(customers[0], profileCount / 2, bases) },
    {
      side: "BUY",
      customer: customers[1],
      profiles: await makeProfiles(customers[1], profileCount / 2, { USD: "1000000" }),
    },
  ];
  const place = orderMaker(sides);
  const empty = () => load(baseUrl, { connections, seconds, next: () => ({ ...place(), path: "/bench/empty" }) });
  const orders = async () => {
    const started = performance.now();
    const result = await load(baseUrl, { connections, seconds, next: () => place() });
    const loaded = performance.now() - started;
    await untilMatched(ask);
    return { ...result, matchedPerSecond: (result.perSecond * loaded) / (performance.now() - started) };
  };
  await orders();
  const results = [];
  for (let round = 0; round < rounds; round += 1) results.push([await orders(), await empty()]);
  await offerMoreThanIsBought(sides[0], ask);
  const alone = await fillTimes(sides[1], 300);
  const busy = await fillTimesUnderLoad(baseUrl, sides[1], place);
  return { results, alone, busy };
}

/** Sells and buys in turn, over profiles and markets. */
function orderMaker(sides) {
  let made = 0;
  return () => {
    const { side, customer, profiles } = sides[made % 2];
    const pair = Math.floor(made / 2);
    made += 1;
    const market = markets[pair % markets.length];
    const order = { side, market, type: "LIMIT", base_amount: AMOUNT, price: PRICE, ref_id: randomUUID() };
    return {
      path: `/v2/profiles/${profiles[pair % profiles.length]}/orders`,
      headers: customer.headers,
      body: JSON.stringify(order),
    };
  };
}

/** Until every sell has met its buy, but for the few whose other half was cut off with the end of the load. */
async function untilMatched(ask) {
  for (;;) {
    const [{ waiting }] = await ask("rows", {
      text: "select count(*) as waiting from orders where status = 'PENDING_SUBMISSION'",
    });
    if (Number(waiting) === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Rounds end with a few orders whose other half was cut off. From here on a buy always finds a sell, so that what is
 * measured is the time that it takes, and not the time until somebody sells.
 */
async function offerMoreThanIsBought({ customer, profiles: [profileId] }, ask) {
  const [{ wanted }] = await ask("rows", {
    text: "select coalesce(sum(base_amount - filled), 0) as wanted from orders where status = 'OPEN' and side = 'BUY'",
  });
  const amount = String(Math.ceil(Number(wanted) + 1_000));
  const order = { side: "SELL", market: markets[0], type: "LIMIT", base_amount: amount, price: PRICE };
  await customer.call("POST", `/v2/profiles/${profileId}/orders`, order);
}

/** One after the other, in milliseconds. */
async function fillTimes(buyer, count) {
  const times = [];
  for (let done = 0; done < count; done += 1) times.push(await timeToFill(buyer));
  return times;
}

/** The answer to a buy that waits for its fill. */
async function timeToFill({ customer, profiles: [profileId] }) {
  const order = { side: "BUY", market: markets[0], type: "LIMIT", base_amount: AMOUNT, price: PRICE };
  const started = performance.now();
  const answer = await customer.call("POST", `/v2/profiles/${profileId}/orders`, {
    ...order,
    await_fill_millis: 10_000,
  });
  if (answer.status !== "FILLED") throw new Error(`an order was not filled: ${JSON.stringify(answer)}`);
  return performance.now() - started;
}

async function fillTimesUnderLoad(baseUrl, buyer, place) {
  const times = [];
  let isOver = false;
  const loading = load(baseUrl, { connections, seconds, next: () => place() }).finally(() => {
    isOver = true;
  });
  while (!isOver) times.push(await timeToFill(buyer));
  await loading;
  return times;
}

function report({ results, alone, busy }) {
  const row = (name, which) => [
    name,
    ...["perSecond", "p50", "p99"].map((figure) => median(results.map((round) => round[which][figure]))),
  ];
  const ratios = results.map(([orders, empty]) => orders.perSecond / empty.perSecond);
  const matched = median(results.map(([orders]) => orders.matchedPerSecond));
  console.log(
    `Orders over HTTP: ${connections} connections, ${profileCount} profiles, markets: ${markets.length}, median of ${rounds} rounds of ${seconds} s`,
  );
  printTable(
    ["", "per second", "p50 ms", "p99 ms"],
    [
      row("orders placed, durable, half of them matching", 0),
      ["the same, and matched", matched],
      row("empty POST route", 1),
      ["from create to FILLED, alone", undefined, median(alone), quantile(alone, 0.99)],
      [`from create to FILLED, beside ${connections} connections`, undefined, median(busy), quantile(busy, 0.99)],
    ],
  );
  console.log(
    `orders : empty POST, round by round: median ${median(ratios).toFixed(2)}, ${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}`,
  );
}
