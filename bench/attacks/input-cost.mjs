/**
 * What hostile inputs of some KB cost the service's one thread: CPU time for each request, beside a normal read and a
 * normal write. Waiting for a core does not count, so the figures hold on a busy machine too. Needs Linux.
 *
 *   node bench/attacks/input-cost.mjs [--ms 250] [--only multipart] [--all]
 *
 * First with rates that nobody exceeds, then past the rates of address and client ("over rate"). "counted" is how many
 * requests the rate limit counts it as. A request may cost 3 ms, and as much as 10 normal reads, for each that it counts
 * as; exit code 1 if one costs more. Prints the 40 most expensive; all with `--all`. Takes three minutes.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { prepare } from "../../scripts/prepare.mjs";
import { Caller } from "../one-caller.mjs";
import { printTable } from "../report/table.mjs";
import { mainThreadCpu, makeProfiles, startService } from "../service.mjs";
import { get, hostileInputs, post } from "./hostile-inputs.mjs";

const { values } = parseArgs({
  options: {
    ms: { type: "string", default: "250" },
    only: { type: "string", default: "" },
    all: { type: "boolean", default: false },
  },
});
const ROUND_MS = Number(values.ms);
const [MOST_MICROS, MOST_RATIO] = [3_000, 10];
const [FEWEST, SHOWN, CALLERS] = [40, 40, 4];
const GENEROUS = "token=100000,order_book=100000,recent_executions=100000,rest=100000";
/** The fewest tokens that a bucket can hold are three, and starting takes one for each customer. */
const USED_UP = "token=0.05,rest=0.05";
/** So many that the code is compiled when the first input is measured. */
const USES_UP = 300;

await prepare({ tools: true });
const directory = await mkdtemp(join(tmpdir(), "parbook-bench-"));
const rows = [];
try {
  for (const [rates, isOver] of [
    [GENEROUS, false],
    [USED_UP, true],
  ]) {
    const service = await startService(directory, { PARBOOK_RATE_LIMITS: rates });
    try {
      rows.push(...(await measureAll(service, isOver)));
    } finally {
      await service.stop();
    }
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
const read = rows.find(({ name }) => name === "NORMAL read").micros;
const judged = rows.map((row) => ({ ...row, ratio: row.micros / read, isTooMuch: isTooMuch(row, read) }));
judged.sort((a, b) => b.micros / Math.max(b.counted, 1) - a.micros / Math.max(a.counted, 1));
const isShown = ({ name, isTooMuch }, at) => values.all || at < SHOWN || isTooMuch || name.startsWith("NORMAL");
printTable(
  ["input", "status", "KB", "requests", "us each", "us per KB", "x normal read", "counted", ""],
  judged
    .filter(isShown)
    .map(({ name, status, kb, requests, micros, ratio, counted, isTooMuch }) => [
      ...[name, status, kb, requests, micros, micros / kb, ratio, counted],
      isTooMuch ? "TOO MUCH" : "",
    ]),
);
console.log(`${judged.length} inputs, ${judged.filter((row) => row.isTooMuch).length} of them cost too much`);
if (judged.some((row) => row.isTooMuch)) process.exitCode = 1;

function isTooMuch({ micros, counted }, normal) {
  return micros / Math.max(counted, 1) > Math.min(MOST_MICROS, MOST_RATIO * normal);
}

async function measureAll(service, isOver) {
  const [customer] = service.customers;
  const token = customer.headers.authorization.slice("Bearer ".length);
  const { kid } = JSON.parse(Buffer.from(token.split(".")[0], "base64url"));
  const { profileId } = customer;
  const otherId = isOver ? profileId : (await makeProfiles(customer, 1, {}))[0];
  const normal = isOver ? [] : normalInputs({ token, profileId, otherId, tokenRequest: customer.tokenRequest });
  const hostile = hostileInputs({ token, kid, profileId, otherId }).filter(({ name }) => name.includes(values.only));
  const [api, auth] = [service.baseUrl, service.authUrl].map((url) => Number(new URL(url).port));
  const measured = [];
  if (isOver) await useUp({ api, auth, token });
  for (const input of [...normal, ...hostile]) {
    const port = input.server === "api" ? api : auth;
    const prefix = input.name.startsWith("NORMAL") ? "" : `${input.server}${isOver ? ", over rate" : ""}: `;
    measured.push({ ...(await measure(service, port, input)), name: prefix + input.name });
  }
  return measured;
}

function normalInputs({ token, profileId, otherId, tokenRequest }) {
  const known = `Authorization: Bearer ${token}\r\n`;
  const json = `${known}Content-Type: application/json\r\n`;
  let sent = 0;
  const transfer = () => {
    sent += 1;
    const ids = { from_profile_id: profileId, to_profile_id: otherId, ref_id: `cost-${process.pid}-${sent}` };
    return post("/v2/transfer/internal", JSON.stringify({ ...ids, amount: "0.01", asset: "USD" }), json);
  };
  const { path, body } = tokenRequest;
  const form = "Content-Type: application/x-www-form-urlencoded\r\n";
  return [
    { server: "api", name: "NORMAL read", bytes: get("/v2/profiles?limit=10", known) },
    { server: "api", name: "NORMAL write", bytes: transfer },
    { server: "auth", name: "NORMAL token request", bytes: post(path, body, form) },
    { server: "api", name: "NORMAL 404", bytes: get("/nowhere") },
  ];
}

async function useUp({ api, auth, token }) {
  const caller = new Caller();
  for (let i = 0; i < USES_UP; i += 1) {
    await caller.send(api, get("/v2/profiles", `Authorization: Bearer ${token}\r\n`));
    await caller.send(api, get("/v2/profiles"));
    await caller.send(auth, post("/oauth2/token", "", ""));
    await caller.send(auth, get("/nowhere"));
  }
  caller.close();
}

async function measure({ pid }, port, { name, bytes, frames }) {
  const callers = Array.from({ length: CALLERS }, () => new Caller());
  const next = () => (typeof bytes === "function" ? bytes() : bytes);
  await Promise.all(callers.map((caller) => caller.send(port, next(), frames)));
  const statuses = new Set();
  let [requests, counted] = [0, Number.POSITIVE_INFINITY];
  const before = mainThreadCpu(pid);
  const until = performance.now() + ROUND_MS;
  const sendAll = async (caller) => {
    for (let sent = 0; sent < FEWEST / CALLERS || performance.now() < until; sent += 1) {
      const { status, count } = await caller.send(port, next(), frames);
      statuses.add(status);
      counted = Math.min(counted, count);
      requests += 1;
    }
  };
  await Promise.all(callers.map(sendAll));
  const micros = (mainThreadCpu(pid) - before) / requests;
  for (const caller of callers) caller.close();
  const kb = (Buffer.byteLength(next()) + (frames?.length ?? 0)) / 1_024;
  return { name, status: [...statuses].join(" "), kb, requests, micros, counted };
}
