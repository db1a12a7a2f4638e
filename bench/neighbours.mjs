/**
 * What a customer notices of another one who floods: the latency of one transfer after the other, alone and beside a
 * flood of another customer's transfers on many connections, in the same run.
 *
 *   node bench/neighbours.mjs [--connections 128] [--seconds 5] [--rounds 3]
 *
 * Rounds alternate; medians are printed. The flood's client shares the machine: its cost is in the figures too.
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { load, makeProfiles, median, printTable, quantile, withService } from "./service.mjs";

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "128" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
  },
});
const [connections, seconds, rounds] = [values.connections, values.seconds, values.rounds].map(Number);

await withService(async ({ baseUrl, customers: [flooder, quiet] }) => {
  const bodiesOf = async (customer) => {
    const [from, to] = await makeProfiles(customer, 2, { USD: "100000" });
    const what = { from_profile_id: from, to_profile_id: to, amount: "0.01", asset: "USD" };
    return () => JSON.stringify({ ...what, ref_id: randomUUID() });
  };
  const [floodBody, quietBody] = [await bodiesOf(flooder), await bodiesOf(quiet)];
  const next = () => ({ path: "/v2/transfer/platform", headers: flooder.headers, body: floodBody() });
  const flood = () => load(baseUrl, { connections, seconds, next });
  const transfer = async () => {
    const started = performance.now();
    const request = { method: "POST", headers: quiet.headers, body: quietBody() };
    const answer = await fetch(`${baseUrl}/v2/transfer/platform`, request);
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`the quiet customer was answered ${answer.status}`);
    return performance.now() - started;
  };
  const listen = async () => {
    const end = performance.now() + seconds * 1_000;
    const latencies = [];
    while (performance.now() < end) latencies.push(await transfer());
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
  };
  await flood();
  const results = [];
  for (let round = 0; round < rounds; round += 1) {
    const alone = await listen();
    const [{ perSecond }, beside] = await Promise.all([flood(), listen()]);
    results.push({ alone, beside, perSecond });
  }
  const row = (name, which) => [
    name,
    ...["p50", "p99"].map((figure) => median(results.map((one) => one[which][figure]))),
  ];
  const flooded = Math.round(median(results.map(({ perSecond }) => perSecond)));
  console.log(`a flood of ${flooded} transfers per second on ${connections} connections`);
  printTable(["the quiet one", "p50 ms", "p99 ms"], [row("alone", "alone"), row("beside the flood", "beside")]);
  const ratios = results.map(({ alone, beside }) => beside.p99 / alone.p99);
  console.log(`p99, beside to alone: median ${median(ratios).toFixed(1)}`);
});
