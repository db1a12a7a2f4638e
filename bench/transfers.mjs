/**
 * Durable platform transfers per second through HTTP, beside an empty POST route of the same server in the same run.
 *
 *   node bench/transfers.mjs [--connections 64] [--seconds 5] [--rounds 5] [--profiles 1000]
 *
 * Rounds alternate; medians are printed.
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { load, makeProfiles, median, printTable, withService } from "./service.mjs";

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "64" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "5" },
    profiles: { type: "string", default: "1000" },
  },
});
const [connections, seconds, rounds] = [values.connections, values.seconds, values.rounds].map(Number);

await withService(async ({ baseUrl, customers: [customer] }) => {
  const profiles = await makeProfiles(customer, Math.max(2, Number(values.profiles)), { USD: "100000" });
  const bodies = transfersBetween(profiles);
  const to = (path) => () => ({ path, headers: customer.headers, body: bodies() });
  const transfers = () => load(baseUrl, { connections, seconds, next: to("/v2/transfer/platform") });
  const empty = () => load(baseUrl, { connections, seconds, next: to("/bench/empty") });
  await transfers();
  const results = [];
  for (let round = 0; round < rounds; round += 1) results.push([await transfers(), await empty()]);
  report(results);
});

function transfersBetween(profiles) {
  const pick = () => profiles[Math.floor(Math.random() * profiles.length)];
  return () => {
    const from = pick();
    let to = pick();
    while (to === from) to = pick();
    const what = { amount: "0.01", asset: "USD", ref_id: randomUUID(), metadata: { purpose: "bench" } };
    return JSON.stringify({ from_profile_id: from, to_profile_id: to, ...what });
  };
}

function report(results) {
  const row = (name, which) => [
    name,
    ...["perSecond", "p50", "p99"].map((figure) => median(results.map((round) => round[which][figure]))),
  ];
  const ratios = results.map(([transfers, empty]) => transfers.perSecond / empty.perSecond);
  console.log(`${connections} connections, ${values.profiles} profiles, median of ${rounds} rounds of ${seconds} s`);
  printTable(["", "per second", "p50 ms", "p99 ms"], [row("transfers, durable", 0), row("empty POST route", 1)]);
  console.log(
    `ratio, round by round: median ${median(ratios).toFixed(2)}, ${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}`,
  );
}
