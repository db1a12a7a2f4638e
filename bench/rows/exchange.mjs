/** Conversions, orders, and reads of their results. */
import { conversionBodies } from "../bodies.mjs";
import { closedLoop, requestTo } from "../load.mjs";
import { makeProfiles } from "../service.mjs";

const CONNECTIONS = 64;
const PAGE = 100;
const PAGES = 50;
const LEAST_EXECUTIONS = 1_000;

export const conversions = {
  names: { "conversions-64": "conversions, created and settled, 64 connections" },
  open: async (parties) => {
    const [customer] = parties.service.customers;
    const bodies = conversionBodies(await makeProfiles(customer, 100, { USD: "100000" }));
    const request = requestTo(parties.url, "POST", "/v2/conversion/stablecoins", customer.headers);
    const load = { connections: CONNECTIONS, next: () => request(bodies()) };
    return {
      "conversions-64": (seconds) => whole(closedLoop(parties.url, { ...load, seconds }), () => parties.untilSettled()),
    };
  },
};

export const orders = {
  names: {
    "orders-64": "orders placed, half of them matching, 64 connections",
    "empty-order-64": "empty POST route with an order's body, 64 connections",
  },
  open: async (parties) => {
    const requests = await parties.orders();
    const [placing, idle] = [requests(), requests(() => "/bench/empty")];
    const load = (seconds, next, requests) =>
      closedLoop(parties.url, { connections: CONNECTIONS, seconds, requests, next });
    await whole(load(1, placing), () => parties.untilMatched());
    return {
      "orders-64": (seconds, requests) => whole(load(seconds, placing, requests), () => parties.untilMatched()),
      "empty-order-64": (seconds) => load(seconds, idle),
    };
  },
};

/** Orders are answered when they are durable, not when they are matched: `wholePerSecond` counts that time as well. */
async function whole(loading, untilDone) {
  const result = await loading;
  const began = performance.now();
  await untilDone();
  const seconds = result.seconds + (performance.now() - began) / 1_000;
  return { ...result, wholePerSecond: result.answered / seconds };
}

export const reads = {
  names: {
    "get-order-64": "get order, 64 connections",
    "executions-64": `a page of ${PAGE} executions, 64 connections`,
  },
  open: async (parties) => {
    const [customer] = parties.service.customers;
    await someOrders(parties);
    const text = "select profile_id, id from orders where customer_id = $1 order by id desc limit 1000";
    const known = await parties.service.ask("rows", { text, values: [customer.id] });
    const paths = known.map(({ profile_id, id }) => `/v2/profiles/${profile_id}/orders/${id}`);
    return {
      "get-order-64": readingOf(parties, customer, paths),
      "executions-64": readingOf(parties, customer, await pagesOf(customer)),
    };
  },
};

/** Orders and executions to read, whatever ran before. */
async function someOrders(parties) {
  const [{ id }] = parties.service.customers;
  const text = "select count(*) as count from (select 1 from execution where customer_id = $1 limit $2)";
  const next = (await parties.orders())();
  for (;;) {
    const [{ count }] = await parties.service.ask("rows", { text, values: [id, LEAST_EXECUTIONS] });
    if (Number(count) >= LEAST_EXECUTIONS) return;
    await closedLoop(parties.url, { connections: CONNECTIONS, seconds: 1, next });
    await parties.untilMatched();
  }
}

function readingOf({ url }, customer, paths) {
  const texts = paths.map((path) => requestTo(url, "GET", path, { authorization: customer.headers.authorization })());
  const next = () => texts[Math.floor(Math.random() * texts.length)];
  return (seconds, requests) => closedLoop(url, { connections: CONNECTIONS, seconds, requests, next });
}

async function pagesOf({ call }) {
  const paths = [];
  for (let cursor = ""; paths.length < PAGES; ) {
    const path = `/v2/executions?limit=${PAGE}&page_cursor=${encodeURIComponent(cursor)}`;
    const page = await call("GET", path);
    if (page.items.length === PAGE) paths.push(path);
    cursor = page.next_page_cursor;
    if (cursor === "") break;
  }
  return paths;
}
