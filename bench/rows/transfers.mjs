/** Durable platform transfers over HTTP, with token check, ref_id and metadata; and the empty route for comparison. */
import { closedLoop, openLoop } from "../load.mjs";

const PATH = "/v2/transfer/platform";
const CONNECTIONS = [1, 16, 64, 256];
/** In the open loop: more than are ever under way at once, unless the service stands still. */
const MOST_AT_ONCE = 256;
const CALM_PER_SECOND = 100;
/** The first requests of a process are slow ones. */
const WARM_UP_SECONDS = 2;

export const transfers = {
  names: {
    ...Object.fromEntries(CONNECTIONS.map((count) => [`transfers-${count}`, `transfers, ${count} connections`])),
    "transfers-half": "transfers, open loop, half of the most",
    "transfers-calm": `transfers, open loop, ${CALM_PER_SECOND} a second`,
  },
  open: async (parties) => {
    const next = (await parties.transfers())(PATH);
    const most = () => parties.once("most", () => mostPerSecond(parties, next));
    const open = (seconds, rate) => openLoop(parties.url, { connections: MOST_AT_ONCE, seconds, rate, next });
    await most();
    return {
      ...Object.fromEntries(
        CONNECTIONS.map((connections) => [
          `transfers-${connections}`,
          (seconds, requests) => closedLoop(parties.url, { connections, seconds, requests, next }),
        ]),
      ),
      "transfers-half": async (seconds) => open(seconds, Math.round((await most()) / 2)),
      "transfers-calm": (seconds) => open(seconds, CALM_PER_SECOND),
    };
  },
};

const ITEMS = 100;
/** As many as one customer has at a time. */
const BULKS = 4;

/** Counted in transfers. */
export const bulks = {
  names: {
    "bulk-100": `transfers, ${ITEMS} in a bulk, ${BULKS} connections`,
    "bulk-atomic-100": `transfers, ${ITEMS} in an atomic bulk, ${BULKS} connections`,
  },
  open: async (parties) => {
    const profiles = await parties.profiles();
    const run = (mode) => async (seconds, requests) => {
      const next = parties.bulksOf(profiles, mode, ITEMS);
      const load = { connections: BULKS, seconds, requests, next };
      const { answered, perSecond, loadCpu, ...times } = await closedLoop(parties.url, load);
      return { ...times, answered: answered * ITEMS, perSecond: perSecond * ITEMS, loadCpu: loadCpu / ITEMS };
    };
    return { "bulk-100": run("independent"), "bulk-atomic-100": run("atomic") };
  },
};

/** The second of two rounds, so that the first warms up. */
async function mostPerSecond({ url }, next) {
  const round = () => closedLoop(url, { connections: 64, seconds: WARM_UP_SECONDS, next });
  await round();
  return (await round()).perSecond;
}

export const empty = {
  names: Object.fromEntries([64, 256].map((count) => [`empty-${count}`, `empty POST route, ${count} connections`])),
  open: async (parties) => {
    const next = (await parties.transfers())("/bench/empty");
    const run = (connections) => (seconds, requests) =>
      closedLoop(parties.url, { connections, seconds, requests, next });
    return { "empty-64": run(64), "empty-256": run(256) };
  },
};

export const hotPair = {
  names: {
    "hot-64": "transfers of one hot pair, 64 connections",
    "hot-256": "transfers of one hot pair, 256 connections",
  },
  open: async (parties) => {
    const next = parties.transfersOf((await parties.profiles()).slice(0, 2))(PATH);
    const run = (connections) => (seconds) => closedLoop(parties.url, { connections, seconds, next });
    return { "hot-64": run(64), "hot-256": run(256) };
  },
};
