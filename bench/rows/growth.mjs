/**
 * A large database: a million profiles, ten million transfers and five million executions, created once and kept.
 * Completed steps are recorded beside it, so an interrupted filling continues.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { refId } from "../bodies.mjs";
import { closedLoop } from "../load.mjs";
import { Parties } from "../parties.mjs";
import { startService } from "../service.mjs";

const MARKET = "ETHUSD";
/** How many there are to be, and how many are made in one step. */
const WANTED = [
  { kind: "profiles", most: 1_000_000, step: 50_000 },
  { kind: "transfers", most: 10_000_000, step: 250_000 },
  { kind: "executions", most: 5_000_000, step: 100_000 },
];

export const growth = {
  names: { "million-256": "transfers over 1,000,000 profiles, 256 connections" },
  open: async (parties) => {
    const next = parties.transfersOf(await profilesOf(parties.service))("/v2/transfer/platform");
    return { "million-256": (seconds) => closedLoop(parties.url, { connections: 256, seconds, next }) };
  },
};

/** Starts a second service on the grown database, fills it where something of these kinds is missing, and does the work beside it. */
export async function withGrown(path, { divisor, kinds }, work) {
  const directory = resolve(path);
  mkdirSync(directory, { recursive: true });
  const service = await startService(directory);
  try {
    for (const { kind, most, step } of WANTED) {
      if (kinds?.includes(kind) === false) continue;
      const wanted = Math.ceil(most / divisor);
      let there = sizes(directory)[kind]?.made ?? 0;
      if (there >= wanted) continue;
      const more = await makerOf(kind, service, wanted);
      for (; there < wanted; there += step) {
        console.log(`${kind}: ${there.toLocaleString("en")} of ${wanted.toLocaleString("en")}`);
        await noting(service, kind, more(there, Math.min(step, wanted - there)));
      }
    }
    await work(new Parties(service), sizes(directory));
  } finally {
    await service.stop();
  }
}

/** What to ask for so many more of a kind, when so many are there of those that are wanted. */
async function makerOf(kind, service, wanted) {
  const [seller, buyer] = service.customers;
  const [customerId, profileId] = [seller.id, seller.profileId];
  if (kind === "profiles") return (_there, count) => ({ customerId, count, amount: "1000", tag: refId() });
  if (kind === "transfers") {
    // Each step is among profiles of its own, which are remembered: among all of them it would take ten times as long.
    const all = await profilesOf(service);
    const upTo = (made) => Math.floor((all.length * made) / wanted);
    const some = (there, count) => all.slice(upTo(there), upTo(there + count));
    return (there, count) => ({ customerId, profiles: some(there, count), count, tag: refId() });
  }
  for (const [customer, asset] of [
    [seller, "ETH"],
    [buyer, "USD"],
  ]) {
    await customer.call("POST", `/v2/sandbox/profiles/${customer.profileId}/deposit`, { asset, amount: "1000000" });
  }
  const sides = { seller: { customerId, profileId }, buyer: { customerId: buyer.id, profileId: buyer.profileId } };
  return (_there, count) => ({ ...sides, market: MARKET, count });
}

/** What the database and its log have grown by is kept beside them. */
async function noting(service, kind, wanted) {
  const size = "select pg_database_size(current_database())::text as size";
  const before = { ...(await one(service, size)), ...(await service.ask("used")) };
  await service.ask("fill", { kind, ...wanted });
  const after = { ...(await one(service, size)), ...(await service.ask("used")) };
  const known = sizes(service.directory);
  const of = known[kind] ?? { made: 0, bytes: 0, wal: 0 };
  known[kind] = {
    made: of.made + wanted.count,
    bytes: of.bytes + Number(after.size) - Number(before.size),
    wal: of.wal + after.wal - before.wal,
  };
  writeFileSync(sizesFile(service.directory), `${JSON.stringify(known)}\n`);
}

const sizesFile = (directory) => join(directory, "filled.json");

function sizes(directory) {
  try {
    return JSON.parse(readFileSync(sizesFile(directory), "utf8"));
  } catch {
    return {};
  }
}

async function profilesOf(service) {
  const text = "select id from profile where customer_id = $1 and nickname like 'bench %' and status = 'ACTIVE'";
  const rows = await service.ask("rows", { text, values: [service.customers[0].id] });
  return rows.map(({ id }) => id);
}

const one = async (service, text) => (await service.ask("rows", { text }))[0];
