/** The same transfers with one transaction each (`usual-way.mjs`), with the best pool size. */
import { closedLoop } from "../load.mjs";

const PATH = "/bench/usual-way";
const POOL_SIZES = [8, 16, 32, 64];
const TRIAL_SECONDS = 2;
const WARM_UP_SECONDS = 0.5;

export const usualWay = {
  names: {
    "usual-64": "the usual way, 64 connections",
    "usual-256": "the usual way, 256 connections",
    "usual-hot-256": "the usual way on one hot pair, 256 connections",
  },
  open: async (parties, ids) => {
    const uniform = (await parties.transfers())(PATH);
    const hot = parties.transfersOf((await parties.profiles()).slice(0, 2))(PATH);
    const loads = { "usual-64": [64, uniform], "usual-256": [256, uniform], "usual-hot-256": [256, hot] };
    const runs = {};
    for (const id of ids) runs[id] = await atItsBest(parties, ...loads[id]);
    return runs;
  },
};

/** The pool is opened, and has prepared its statements, before the clock runs. */
async function atItsBest(parties, connections, next) {
  const load = (seconds) => closedLoop(parties.url, { connections, seconds, next });
  const openPool = async (poolSize) => {
    await parties.service.ask("usualWay", { poolSize });
    await load(WARM_UP_SECONDS);
  };
  const best = await bestOf(parties.isShort ? [POOL_SIZES[1]] : POOL_SIZES, async (poolSize) => {
    await openPool(poolSize);
    return load(TRIAL_SECONDS);
  });
  return { prepare: () => openPool(best), run: async (seconds) => ({ ...(await load(seconds)), poolSize: best }) };
}

/** The choice that gives the most per second. */
export async function bestOf(choices, run) {
  if (choices.length === 1) return choices[0];
  const tried = [];
  for (const choice of choices) tried.push({ choice, ...(await run(choice)) });
  return tried.toSorted((a, b) => b.perSecond - a.perSecond)[0].choice;
}
