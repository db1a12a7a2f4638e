/**
 * What an hour of steady load leaves behind: sizes of tables and indexes, dead rows, WAL, memory and lags, every five minutes,
 * and a table of all tables at the end.
 *
 *   node bench/soak.mjs [--minutes 60] [--every 5] [--transfers 300] [--orders 20] [--conversions 5] [--withdrawals 2]
 *
 * Rates are per second, in an open loop: what finds no free connection is counted as not sent. Half of the orders match.
 * Withdrawals are requested, approved, sent, and completed or, one in four, failed. Exit code 1 if a response was wrong or
 * verify finds something.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { prepare } from "../scripts/prepare.mjs";
import { openLoop } from "./open-loop.mjs";
import { printTable } from "./report/table.mjs";
import { quantile } from "./rounds.mjs";
import { makeProfiles, startService } from "./service.mjs";

const OPTIONS = { minutes: "60", every: "5", transfers: "300", orders: "20", conversions: "5", withdrawals: "2" };
const { values } = parseArgs({
  options: Object.fromEntries(
    Object.entries(OPTIONS).map(([name, value]) => [name, { type: "string", default: value }]),
  ),
});
const { minutes, every, ...rates } = Object.fromEntries(
  Object.entries(values).map(([name, value]) => [name, Number(value)]),
);

const PROFILES = 1_000;
const TRADERS = 100;
const CONNECTIONS = 64;
const MARKET = "ETHUSD";
const MB = 1e6;

const TABLES = `
  select c.relname as name, pg_table_size(c.oid)::float8 as heap, pg_indexes_size(c.oid)::float8 as indexes,
         s.n_live_tup::float8 as rows, s.n_dead_tup::float8 as dead, s.n_tup_upd::float8 as updated,
         s.n_tup_hot_upd::float8 as hot, s.autovacuum_count::int as vacuums
    from pg_class c join pg_stat_user_tables s on s.relid = c.oid
   where c.relnamespace = 'public'::regnamespace order by pg_total_relation_size(c.oid) desc`;

const WAITING = `
  select (select count(*) from pending_order)::int as orders,
         (select count(*) from conversion where status = 'CREATED')::int as conversions,
         (select count(*) from external_transfer where status in ('requested', 'approved', 'sent'))::int as withdrawals`;

await prepare({ tools: true });
const { readEventLag } = await import("../dist/events/event-lag.js");
const directory = await mkdtemp(join(tmpdir(), "parbook-soak-"));
const service = await startService(directory);
try {
  process.exitCode = (await soak(service)) ? 0 : 1;
} finally {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}

/** @returns whether nothing was wrong */
async function soak({ ask, ...service }) {
  const run = randomUUID().slice(0, 8);
  const parties = await makeParties(service);
  const loads = Object.entries(requestsOf(parties, run)).map(([name, requests]) => ({ name, requests, first: 0 }));
  const before = await look(ask);
  const lines = [];
  let wrong = [];
  const withdrawn = { taken: 0, failed: 0 };
  for (let minute = 0; minute < minutes; minute += every) {
    const seconds = Math.min(every, minutes - minute) * 60;
    const wanted = { kind: "withdrawals", customerId: parties.customer.id, profiles: parties.profiles };
    const [, ...received] = await Promise.all([
      eachSecond(seconds, async (number) => {
        const count = rates.withdrawals;
        const tag = `${run}-${minute}-${number}`;
        const isTaken = await ask("fill", { ...wanted, count, tag }).then(
          () => true,
          () => false,
        );
        withdrawn[isTaken ? "taken" : "failed"] += count;
      }),
      ...loads.map((load) => sendFor(load, service.baseUrl, seconds)),
    ]);
    wrong = [...wrong, ...received.flatMap((one) => one.wrong)];
    const line = { minute: minute + seconds / 60, received, withdrawn: { ...withdrawn }, now: await look(ask) };
    lines.push(line);
    console.log(shownLine(line, before));
  }
  report(lines, before);
  const sound = await ask("verify");
  console.log(
    `wrong responses: ${wrong.length} ${wrong.slice(0, 3).join(" ")}\nverify: ${sound ? "sound" : "NOT SOUND"}`,
  );
  return sound && wrong.length === 0;
}

async function makeParties({ customers: [customer, buyer] }) {
  return {
    ...{ customer, buyer },
    profiles: await makeProfiles(customer, PROFILES, { USD: "100000" }),
    sellers: await makeProfiles(customer, TRADERS, { ETH: "1000000" }),
    buyers: await makeProfiles(buyer, TRADERS, { USD: "100000000" }),
  };
}

/** `#` stands for the number of the request. */
function requestsOf({ customer, buyer, profiles, sellers, buyers }, run) {
  const post = ({ headers }, path, body) => ({ method: "POST", path, headers, body: JSON.stringify(body) });
  const other = (at, by) => profiles[(at + by) % profiles.length];
  return {
    transfers: profiles.map((from, at) => {
      const sides = { from_profile_id: from, to_profile_id: other(at, 1 + ((at * 7) % (profiles.length - 1))) };
      const body = { ...sides, amount: "0.01", asset: "USD", ref_id: `${run}-t#`, metadata: { purpose: "soak" } };
      return post(customer, "/v2/transfer/platform", body);
    }),
    orders: sellers.flatMap((seller, at) => {
      const order = { market: MARKET, type: "LIMIT", base_amount: "0.1", price: "100", ref_id: `${run}-o#` };
      return [
        post(customer, `/v2/profiles/${seller}/orders`, { ...order, side: "SELL" }),
        post(buyer, `/v2/profiles/${buyers[at]}/orders`, { ...order, side: "BUY" }),
      ];
    }),
    conversions: profiles.map((profile) => {
      const assets = { source_asset: "USD", target_asset: "PYUSD" };
      return post(customer, "/v2/conversion/stablecoins", {
        ...{ profile_id: profile, amount: "0.01", ...assets, ref_id: `${run}-c#` },
      });
    }),
  };
}

async function sendFor(load, url, seconds) {
  const { name, requests, first } = load;
  const received = await openLoop({ url, first, requests, seconds, perSecond: rates[name], connections: CONNECTIONS });
  load.first += received.offered;
  return { name, ...received };
}

/** Those that take longer than a second run beside the next. */
async function eachSecond(seconds, work) {
  const end = performance.now() + seconds * 1_000;
  const running = [];
  for (let number = 0; performance.now() < end; number += 1) {
    running.push(work(number));
    await pause(1_000);
  }
  await Promise.all(running);
}

async function look(ask) {
  const rows = (text, values) => ask("rows", { text, values });
  const [{ resident, kept }, { wal }] = [await ask("memory"), await ask("used")];
  const [waiting] = await rows(WAITING);
  return { tables: await rows(TABLES), waiting, resident, kept, wal, eventLagMs: await readEventLag({ rows }) };
}

function sumOf(tables, figure) {
  return tables.reduce((sum, table) => sum + table[figure], 0);
}

function shownLine({ minute, received, withdrawn, now }, before) {
  const sent = received.map(({ name, accepted, rejected, unsent, unanswered, broken }) => {
    const lost = rejected.length + unsent + unanswered + broken;
    const times = [0.5, 0.99].map((part) => Math.round(quantile(accepted, part))).join("/");
    return `${name} ${accepted.length} (p50/p99 ${times} ms${lost === 0 ? "" : `, ${lost} not sent or rejected`})`;
  });
  const { orders, conversions, withdrawals } = now.waiting;
  return [
    `minute ${minute}: ${sent.join(", ")}, withdrawals ${withdrawn.taken} so far, ${withdrawn.failed} not finished`,
    `  heap ${megabytes(sumOf(now.tables, "heap"))}, indexes ${megabytes(sumOf(now.tables, "indexes"))}, dead rows ${sumOf(now.tables, "dead")}, WAL ${megabytes(now.wal - before.wal)}`,
    `  memory ${megabytes(now.resident)}, kept ${megabytes(now.kept)}; event lag ${Math.round(now.eventLagMs)} ms, waiting: ${orders} orders, ${conversions} conversions, ${withdrawals} withdrawals`,
  ].join("\n");
}

function megabytes(bytes) {
  return `${(bytes / MB).toFixed(1)} MB`;
}

function report(lines, before) {
  const { now } = lines.at(-1);
  const was = new Map(before.tables.map((table) => [table.name, table]));
  const rows = now.tables
    .filter(({ heap, indexes, updated }) => heap + indexes > MB || updated > 1_000)
    .map(({ name, heap, indexes, rows, dead, updated, hot, vacuums }) => {
      const grown = rows - was.get(name).rows;
      const each = grown > 0 ? (heap + indexes - was.get(name).heap - was.get(name).indexes) / grown : Number.NaN;
      const isHot = updated === 0 ? "" : `${Math.round((100 * hot) / updated)} %`;
      return [name, rows, heap / MB, indexes / MB, each, String(dead), isHot, String(vacuums)];
    });
  printTable(["table", "rows", "heap MB", "indexes MB", "bytes/new row", "dead rows", "heap-only", "vacuums"], rows);
  const transfers = lines.flatMap(({ received }) => received).filter(({ name }) => name === "transfers");
  const accepted = transfers.reduce((sum, one) => sum + one.accepted.length, 0);
  console.log(`transfers: ${accepted} in ${lines.at(-1).minute} minutes; WAL ${megabytes(now.wal - before.wal)}`);
}
