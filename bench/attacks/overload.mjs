/**
 * Ten times the sustainable load for a minute: what is accepted, what is rejected and how fast, memory, correctness of
 * every response, and recovery time.
 *
 *   node bench/attacks/overload.mjs [--kind transfers|reads|tokens] [--seconds 60] [--factor 10] [--connections 1000] [--fresh]
 *
 * `--fresh` opens a connection for each request. The clients share the machine: on two cores they take about half of
 * it, and requests they cannot send are counted separately. CPU is that of the service process, in hundredths of one
 * core: if it is far below 100 during the overload, other processes had the machine, and the latencies are theirs.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { prepare } from "../../scripts/prepare.mjs";
import { openLoop } from "../open-loop.mjs";
import { printTable } from "../report/table.mjs";
import { quantile } from "../rounds.mjs";
import { makeProfiles, startService } from "../service.mjs";

const { values } = parseArgs({
  options: {
    kind: { type: "string", default: "transfers" },
    seconds: { type: "string", default: "60" },
    factor: { type: "string", default: "10" },
    connections: { type: "string", default: "1000" },
    fresh: { type: "boolean", default: false },
  },
});
const [seconds, factor, connections] = [values.seconds, values.factor, values.connections].map(Number);
const { kind, fresh } = values;
const CLOSED = Number.POSITIVE_INFINITY;
/** Before and after: a sustainable load. */
const EASY = 0.5;
const EASY_SECONDS = 5;

await prepare({ tools: true });
const directory = await mkdtemp(join(tmpdir(), "parbook-bench-"));
const service = await startService(directory);
try {
  await measure(service);
} finally {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}

async function measure({ baseUrl, authUrl, customers, ask }) {
  const run = `o-${randomUUID().slice(0, 8)}-`;
  const requests = await requestsOf(kind, customers, run);
  let first = 0;
  const load = async (options) => {
    const url = kind === "tokens" ? authUrl : baseUrl;
    const { serviceCpu } = await ask("used");
    const received = await openLoop({ url, first, requests, fresh, ...options });
    first += received.offered;
    return { ...received, cpu: ((await ask("used")).serviceCpu - serviceCpu) / 1e6 };
  };
  const closed = () => load({ perSecond: CLOSED, seconds: 4, connections: 64, fresh: false });
  await closed();
  const capacity = perSecond(await closed(), 4);
  const easy = () => load({ perSecond: EASY * capacity, seconds: EASY_SECONDS, connections });
  const before = await easy();
  const memory = { before: await residentOf(ask) };
  const watch = watchMemory(ask);
  const during = await load({ perSecond: factor * capacity, seconds, connections });
  memory.during = await watch.end();
  const back = await load({ perSecond: CLOSED, seconds: 5, connections: 64, fresh: false });
  const after = await easy();
  memory.after = await residentOf(ask);
  report({ capacity, before, during, after, memory, backMs: backAt(back, capacity) });
  if (kind !== "transfers") return;
  const accepted = [before, during, back, after].flatMap(({ numbers }) => numbers);
  console.log(await booksOf(ask, run, accepted));
}

async function requestsOf(kind, customers, run) {
  const ofEach = await Promise.all(
    customers.map(async (customer) => {
      const { headers } = customer;
      if (kind === "reads") return [{ method: "GET", path: "/v2/transfer/transfers?limit=20", headers }];
      if (kind === "tokens") return [customer.tokenRequest];
      const [from, to] = await makeProfiles(customer, 2, { USD: "1000000" });
      const what = { from_profile_id: from, to_profile_id: to, amount: "0.01", asset: "USD", ref_id: `${run}#` };
      return [{ method: "POST", path: "/v2/transfer/platform", headers, body: JSON.stringify(what) }];
    }),
  );
  return ofEach.flat();
}

async function residentOf(ask) {
  return (await ask("used")).resident;
}

function perSecond({ accepted }, over) {
  return accepted.length / over;
}

function watchMemory(ask) {
  let most = 0;
  const timer = setInterval(async () => {
    most = Math.max(most, await residentOf(ask));
  }, 500);
  return {
    end: async () => {
      clearInterval(timer);
      return Math.max(most, await residentOf(ask));
    },
  };
}

/** The start of the first quarter second with 80 % of the capacity. */
function backAt({ doneAt }, capacity) {
  const BUCKET_MS = 250;
  const buckets = new Map();
  for (const at of doneAt) buckets.set(Math.floor(at / BUCKET_MS), (buckets.get(Math.floor(at / BUCKET_MS)) ?? 0) + 1);
  const enough = (0.8 * capacity * BUCKET_MS) / 1_000;
  const good = [...buckets].filter(([, count]) => count >= enough).map(([bucket]) => bucket);
  return good.length === 0 ? undefined : Math.min(...good) * BUCKET_MS;
}

function report({ capacity, before, during, after, memory, backMs }) {
  const row = (name, received, over, bytes) => [
    name,
    received.offered / over,
    perSecond(received, over),
    received.rejected.length / over,
    received.unsent / over,
    ...[received.accepted, received.rejected].flatMap((latencies) => [
      quantile(latencies, 0.5),
      quantile(latencies, 0.99),
    ]),
    bytes / 2 ** 20,
    (100 * received.cpu) / over,
  ];
  console.log(
    `${kind}, ${factor} times the capacity of ${Math.round(capacity)} a second for ${seconds} s, ${connections} connections${fresh ? ", a new one for each request" : ""}`,
  );
  printTable(
    [
      "per second",
      "offered",
      "accepted",
      "rejected",
      "unsent",
      "p50 ms",
      "p99 ms",
      "503 p50",
      "503 p99",
      "RSS MiB",
      "CPU %",
    ],
    [
      row("before", before, EASY_SECONDS, memory.before),
      row("during", during, seconds, memory.during),
      row("after", after, EASY_SECONDS, memory.after),
    ],
  );
  const all = [before, during, after];
  const sum = (count) => all.reduce((total, received) => total + count(received), 0);
  console.log(
    `p99 of the accepted, during to before: ${(quantile(during.accepted, 0.99) / quantile(before.accepted, 0.99)).toFixed(1)}`,
  );
  console.log(`80 % of the capacity again after ${backMs === undefined ? "more than 5,000" : backMs} ms`);
  console.log(
    `wrong answers ${sum(({ wrong }) => wrong.length)}, unanswered ${sum(({ unanswered }) => unanswered)}, connections broken ${sum(({ broken }) => broken)}`,
  );
  for (const text of all.flatMap(({ wrong }) => wrong).slice(0, 3)) console.log(`  ${text}`);
}

/** Every transfer that was accepted is there once, and everything adds up. */
async function booksOf(ask, run, accepted) {
  const text = "select ref_id, count(*)::int as count from transfer where ref_id like $1 group by ref_id";
  const rows = await ask("rows", { text, values: [`${run}%`] });
  const booked = new Map(rows.map(({ ref_id, count }) => [ref_id, count]));
  const lost = accepted.filter((number) => !booked.has(`${run}${number}`)).length;
  const doubled = rows.filter(({ count }) => count !== 1).length;
  const more = booked.size - (accepted.length - lost);
  const verdict = (await ask("verify")) ? "everything is sound" : "SOMETHING IS OFF";
  return `accepted and lost ${lost}, booked twice ${doubled}, booked though not answered 200: ${more} (the warm-up's are among them); verify: ${verdict}`;
}
