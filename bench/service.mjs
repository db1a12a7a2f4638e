/**
 * What the benchmarks have in common: the service with its embedded PostgreSQL (fsync on) in a process of its own on
 * loopback, load on it, and the figures. On few cores load and service share them, so ratios say more than figures.
 */
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import autocannon from "autocannon";
import { prepare } from "../scripts/prepare.mjs";

/** Starts the service on a database of its own, runs the work, and takes both away again. */
export async function withService(work) {
  await prepare({ tools: true });
  const directory = await mkdtemp(join(tmpdir(), "parbook-bench-"));
  const server = fork(new URL("server.mjs", import.meta.url), {
    execArgv: [...process.execArgv, "--expose-gc"],
    env: {
      PATH: process.env.PATH,
      PARBOOK_DATA_DIR: directory,
      PARBOOK_PORT: "0",
      PARBOOK_AUTH_PORT: "0",
      // What is measured is between the demo's customers alone.
      PARBOOK_SANDBOX_MAKER: "off",
    },
  });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  try {
    const { baseUrl, authUrl } = await new Promise((resolve, reject) => {
      server.once("message", resolve);
      server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    });
    const demo = JSON.parse(readFileSync(join(directory, "demo.json"), "utf8"));
    const customers = await Promise.all(demo.customers.map((customer) => customerOf(baseUrl, authUrl, customer)));
    return await work({ baseUrl, customers, ask: asker(server) });
  } finally {
    server.kill("SIGTERM");
    await ended;
    await rm(directory, { recursive: true, force: true });
  }
}

/** Asks the server's process: `ask("memory")`, `ask("rows", { text, values })`. */
function asker(server) {
  const waiting = new Map();
  server.on("message", ({ id, answer, error }) => {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error === undefined) resolve?.(answer);
    else reject?.(new Error(error));
  });
  return (name, question) =>
    new Promise((resolve, reject) => {
      const id = randomUUID();
      waiting.set(id, { resolve, reject });
      server.send({ id, ask: name, question });
    });
}

/** A customer of the demo, with what calling in his name takes. */
async function customerOf(baseUrl, authUrl, { id, clients, profiles }) {
  const { client_id, client_secret } = clients[0];
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
  const token = await (await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: form })).json();
  const headers = { authorization: `Bearer ${token.access_token}`, "content-type": "application/json" };
  const call = async (method, path, body) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${baseUrl}${path}`, { method, headers, ...sent });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  return { id, headers, call, profileId: profiles[0].id };
}

/** New profiles of the customer, with money in each: { USD: "100" }. */
export async function makeProfiles({ call }, count, balances) {
  const one = async () => {
    const { id } = await call("POST", "/v2/profiles", { nickname: `bench ${randomUUID()}` });
    for (const [asset, amount] of Object.entries(balances)) {
      await call("POST", `/v2/sandbox/profiles/${id}/deposit`, { asset, amount });
    }
    return id;
  };
  const ids = [];
  while (ids.length < count) {
    ids.push(...(await Promise.all(Array.from({ length: Math.min(50, count - ids.length) }, one))));
  }
  return ids;
}

/**
 * One round of load; `next` gives each request's path, headers and body. Any answer but 200 ends the run: it would be
 * measured for nothing.
 */
export async function load(baseUrl, { connections, seconds, next }) {
  const result = await autocannon({
    url: baseUrl,
    connections,
    duration: seconds,
    requests: [{ method: "POST", setupRequest: (request) => withOwnHeaders({ ...request, ...next() }) }],
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${result.non2xx} answers were not 200, ${result.errors} errors`);
  }
  return { perSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 };
}

// autocannon writes the length of the body into the headers that it is given.
const withOwnHeaders = (request) => ({ ...request, headers: { ...request.headers } });

export const median = (numbers) => quantile(numbers, 0.5);

export function quantile(numbers, part) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

/** Prints rows of texts and numbers in columns, the first to the left. */
export function printTable(header, rows) {
  const cells = [header, ...rows].map((row) => header.map((_, i) => shown(row[i])));
  const widths = header.map((_, i) => Math.max(...cells.map((row) => row[i].length)));
  const line = (row) => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("   ");
  console.log(["", ...cells.map(line), ""].join("\n"));
}

function shown(value) {
  if (typeof value !== "number") return value ?? "";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 10 ? 1 : 2);
}
