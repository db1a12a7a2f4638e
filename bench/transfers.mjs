/**
 * Durable platform transfers per second through HTTP, beside an empty POST route of the same server in the same run.
 *
 *   node bench/transfers.mjs [--connections 64] [--seconds 5] [--rounds 5] [--profiles 1000]
 *
 * The service and its embedded PostgreSQL (fsync on) run in a process of their own on loopback, the load in this one:
 * on few cores they share them, so the ratio says more than the figures. Rounds alternate; medians are printed.
 */
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import { prepare } from "../scripts/prepare.mjs";

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "64" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "5" },
    profiles: { type: "string", default: "1000" },
  },
});
const [connections, seconds, rounds, profileCount] = [
  values.connections,
  values.seconds,
  values.rounds,
  values.profiles,
].map(Number);

await prepare({ tools: true });
const directory = await mkdtemp(join(tmpdir(), "parbook-bench-"));
const server = fork(new URL("server.mjs", import.meta.url), {
  env: { PATH: process.env.PATH, PARBOOK_DATA_DIR: directory, PARBOOK_PORT: "0", PARBOOK_AUTH_PORT: "0" },
});
try {
  const { baseUrl, authUrl } = await new Promise((resolve, reject) => {
    server.once("message", resolve);
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  const demo = JSON.parse(readFileSync(join(directory, "demo.json"), "utf8"));
  const token = await tokenOf(authUrl, demo.customers[0].clients[0]);
  const profiles = await makeProfiles(baseUrl, token, demo.customers[0].profiles[0].id);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const pick = () => profiles[Math.floor(Math.random() * profiles.length)];
  const body = () => {
    const from = pick();
    let to = pick();
    while (to === from) to = pick();
    return JSON.stringify({
      from_profile_id: from,
      to_profile_id: to,
      amount: "0.01",
      asset: "USD",
      ref_id: randomUUID(),
      metadata: { purpose: "bench" },
    });
  };
  const transfers = () => load(`${baseUrl}/v2/transfer/platform`, headers, body);
  const empty = () => load(`${baseUrl}/bench/empty`, headers, body);
  await transfers();
  const results = { transfers: [], empty: [] };
  for (let round = 0; round < rounds; round += 1) {
    results.transfers.push(await transfers());
    results.empty.push(await empty());
  }
  report(results);
} finally {
  await new Promise((resolve) => {
    server.once("exit", resolve);
    server.kill("SIGTERM");
  });
  await rm(directory, { recursive: true, force: true });
}

async function tokenOf(authUrl, { client_id, client_secret }) {
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
  const answer = await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: form });
  return (await answer.json()).access_token;
}

/** Profiles with money in each. */
async function makeProfiles(baseUrl, token, treasury) {
  const ids = [];
  const post = async (path, body) => {
    const answer = await fetch(`${baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const one = async (number) => {
    const { id } = await post("/v2/profiles", { nickname: `bench ${number} ${randomUUID()}` });
    await post(`/v2/sandbox/profiles/${id}/deposit`, { asset: "USD", amount: "100000" });
    ids.push(id);
  };
  for (let done = 0; done < profileCount; done += 50) {
    await Promise.all(Array.from({ length: Math.min(50, profileCount - done) }, (_, i) => one(done + i)));
  }
  return ids.length > 1 ? ids : [treasury, ...ids];
}

/** One round: requests per second and latencies. Any answer but 200 ends the run: it would be measured for nothing. */
async function load(url, headers, body) {
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: [{ method: "POST", headers, setupRequest: (request) => ({ ...request, body: body() }) }],
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${url}: ${result.non2xx} answers were not 200, ${result.errors} errors`);
  }
  return { perSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 };
}

function report(results) {
  const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
  const row = (name, rows) =>
    [
      name.padEnd(20),
      median(rows.map((r) => r.perSecond))
        .toFixed(0)
        .padStart(10),
      median(rows.map((r) => r.p50))
        .toFixed(0)
        .padStart(8),
      median(rows.map((r) => r.p99))
        .toFixed(0)
        .padStart(8),
    ].join("");
  console.log(`${connections} connections, ${profileCount} profiles, median of ${rounds} rounds of ${seconds} s`);
  console.log(`${"".padEnd(20)}${"per second".padStart(10)}${"p50 ms".padStart(8)}${"p99 ms".padStart(8)}`);
  console.log(row("transfers, durable", results.transfers));
  console.log(row("empty POST route", results.empty));
  const ratios = results.transfers.map((r, i) => r.perSecond / results.empty[i].perSecond);
  console.log(
    `ratio, round by round: median ${median(ratios).toFixed(2)}, ${ratios.map((r) => r.toFixed(2)).join(" ")}`,
  );
}
