/**
 * The effect of one customer's flood on another: its sequential transfers, alone and beside the flood, measured on a
 * separate thread so that the flood's client does not distort them.
 */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { transferBodies } from "../bodies.mjs";
import { closedLoop, requestTo } from "../load.mjs";
import { makeProfiles } from "../service.mjs";

const PATH = "/v2/transfer/platform";
const FLOOD = 128;

export const quiet = {
  names: {
    "quiet-alone": "a quiet customer's transfers, one by one",
    "quiet-beside": `the same beside another customer's flood on ${FLOOD} connections`,
  },
  open: async (parties) => {
    const [, { headers, ...customer }] = parties.service.customers;
    const profiles = await makeProfiles(customer, 2, { USD: "100000" });
    const flooding = (await parties.transfers())(PATH);
    const alone = (seconds) => onItsOwn({ url: parties.url, headers, profiles, seconds });
    const flood = (seconds) => closedLoop(parties.url, { connections: FLOOD, seconds, next: flooding });
    return {
      "quiet-alone": alone,
      "quiet-beside": async (seconds) => {
        const [own, flooded] = await Promise.all([alone(seconds), flood(seconds)]);
        // What it has cost was spent on both.
        return { ...own, answered: own.answered + flooded.answered };
      },
    };
  },
};

if (!isMainThread) parentPort.postMessage(await oneByOne(workerData));

function onItsOwn(data) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: data });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

function oneByOne({ url, headers, profiles, seconds }) {
  const bodies = transferBodies(profiles);
  const request = requestTo(url, "POST", PATH, headers);
  return closedLoop(url, { connections: 1, seconds, next: () => request(bodies()) });
}
