/**
 * What a customer notices of another one who floods: the latency of one transfer after the other, alone and beside a
 * flood of another customer's transfers on many connections, in the same run.
 *
 *   node bench/neighbours.mjs [--connections 128] [--seconds 5] [--rounds 3]
 *
 * Rounds alternate; medians are printed. The flood's client shares the machine, and its cost is in the figures too; but
 * the quiet one measures on a thread of its own, or it would wait for the flood's client instead of the service.
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { load, makeProfiles, median, printTable, quantile, withService } from "./service.mjs";

const PATH = "/v2/transfer/platform";
const bodyOf = (what) => JSON.stringify({ ...what, ref_id: randomUUID() });

if (isMainThread) await measure();
else parentPort.postMessage(await oneAfterTheOther(workerData));

async function measure() {
  const { values } = parseArgs({
    options: {
      connections: { type: "string", default: "128" },
      seconds: { type: "string", default: "5" },
      rounds: { type: "string", default: "3" },
    },
  });
  const [connections, seconds, rounds] = [values.connections, values.seconds, values.rounds].map(Number);
  await withService(async ({ baseUrl, customers: [flooder, quiet] }) => {
    const [floods, asks] = [await transferOf(flooder), await transferOf(quiet)];
    const next = () => ({ path: PATH, headers: flooder.headers, body: bodyOf(floods) });
    const flood = () => load(baseUrl, { connections, seconds, next });
    const listen = () => onItsOwn({ url: `${baseUrl}${PATH}`, headers: quiet.headers, what: asks, seconds });
    const unshared = await flood();
    await listen();
    const results = [];
    for (let round = 0; round < rounds; round += 1) {
      const alone = await listen();
      const [{ perSecond }, beside] = await Promise.all([flood(), listen()]);
      results.push({ alone, beside, perSecond });
    }
    report(results, { connections, unshared: unshared.perSecond });
  });
}

async function transferOf(customer) {
  const [from, to] = await makeProfiles(customer, 2, { USD: "100000" });
  return { from_profile_id: from, to_profile_id: to, amount: "0.01", asset: "USD" };
}

function onItsOwn(data) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: data });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

async function oneAfterTheOther({ url, headers, what, seconds }) {
  const end = performance.now() + seconds * 1_000;
  const latencies = [];
  while (performance.now() < end) {
    const started = performance.now();
    const answer = await fetch(url, { method: "POST", headers, body: bodyOf(what) });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`the quiet customer was answered ${answer.status}`);
    latencies.push(performance.now() - started);
  }
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

function report(results, { connections, unshared }) {
  const row = (name, which) => [
    name,
    ...["p50", "p99"].map((figure) => median(results.map((one) => one[which][figure]))),
  ];
  const flooded = Math.round(median(results.map(({ perSecond }) => perSecond)));
  console.log(`a flood of ${flooded} transfers per second on ${connections} connections (first, alone: ${unshared})`);
  printTable(["the quiet one", "p50 ms", "p99 ms"], [row("alone", "alone"), row("beside the flood", "beside")]);
  const ratios = results.map(({ alone, beside }) => beside.p99 / alone.p99);
  console.log(`p99, beside to alone: median ${median(ratios).toFixed(1)}`);
}
