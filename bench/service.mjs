/**
 * The service with its embedded PostgreSQL (fsync on) in its own process on loopback, and the demo's customers. With
 * few cores load and service share them, so ratios say more than absolute figures.
 */
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const MADE_AT_ONCE = 50;
const [MOST_TRIES, RETRY_MS] = [10, 100];

/** Starts the service on the data in a directory, which is made when it is not there; with settings of its own. */
export async function startService(directory, settings = {}) {
  const port = await freePort();
  const began = performance.now();
  const server = fork(new URL("server.mjs", import.meta.url), {
    // As ops/production and `npm start` do, unless this process was started otherwise.
    execArgv: ["--v8-pool-size=1", "--heap-growing-percent=100", ...process.execArgv, "--expose-gc"],
    env: {
      PATH: process.env.PATH,
      PARBOOK_DATA_DIR: directory,
      PARBOOK_PORT: String(port),
      PARBOOK_AUTH_PORT: "0",
      // No market maker: only the demo's customers trade.
      PARBOOK_SANDBOX_MAKER: "off",
      ...settings,
    },
  });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  const { baseUrl, authUrl } = await new Promise((resolve, reject) => {
    server.once("message", resolve);
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  const startMs = performance.now() - began;
  // Where this process listens: several that share a database have one base URL.
  const ownUrl = Object.assign(new URL(baseUrl), { port }).origin;
  const demo = JSON.parse(readFileSync(join(directory, "demo.json"), "utf8"));
  const customers = await Promise.all(demo.customers.map((customer) => customerOf(baseUrl, authUrl, customer)));
  const stop = async () => {
    if (server.exitCode === null) server.kill("SIGTERM");
    await ended;
  };
  const ask = asker(server);
  /** With the credentials of a new one, which has no profiles. */
  const addCustomer = async () => {
    const { clientId, secret } = await ask("anotherCustomer");
    const clients = [{ client_id: clientId, client_secret: secret }];
    return customerOf(baseUrl, authUrl, { clients, profiles: [{}] });
  };
  return { directory, pid: server.pid, baseUrl, ownUrl, authUrl, customers, startMs, ask, addCustomer, stop };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
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

/** A demo customer with its credentials. */
async function customerOf(baseUrl, authUrl, { id, clients, profiles }) {
  const { client_id, client_secret } = clients[0];
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
  const token = await (await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: form })).json();
  const headers = { authorization: `Bearer ${token.access_token}`, "content-type": "application/json" };
  const call = async (method, path, body) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    let answer;
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      answer = await fetch(`${baseUrl}${path}`, { method, headers, ...sent });
      // Shed by a busy machine: no effect.
      if (answer.status !== 503) break;
      await pause(tries * RETRY_MS);
    }
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const tokenRequest = {
    method: "POST",
    path: "/oauth2/token",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: String(form),
  };
  return { id, headers, call, tokenRequest, profileId: profiles[0].id };
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
    ids.push(...(await Promise.all(Array.from({ length: Math.min(MADE_AT_ONCE, count - ids.length) }, one))));
  }
  return ids;
}

const TICK_MICROS = 10_000;

/**
 * CPU time in microseconds that the database has used so far, all its processes together. Read from /proc, so there is
 * none to be had elsewhere: then undefined.
 */
export function databaseCpu(directory) {
  if (!existsSync("/proc/self/stat")) return undefined;
  const postmaster = Number(readFileSync(join(directory, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").trim().split(" ");
  const micros = children.filter(Boolean).reduce((sum, pid) => sum + processCpu(pid), 0);
  // Includes exited child processes.
  return micros + ticksOf(postmaster, [13, 14, 15, 16]) * TICK_MICROS;
}

/** CPU time in microseconds that the main thread of a process has used so far. Linux only. */
export function mainThreadCpu(pid) {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1_000;
}

/** CPU time in microseconds that a process has used so far, in steps of 10 ms. Linux only. */
export function processCpu(pid) {
  return ticksOf(pid, [13, 14]) * TICK_MICROS;
}

function ticksOf(pid, fields) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is a name in brackets, and may hold spaces.
    const rest = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields.reduce((sum, field) => sum + Number(rest[field - 2]), 0);
  } catch {
    return 0;
  }
}
