/**
 * The proxies whose configurations are in ops/proxies, as Debian has them, in front of both servers: feeds work, the
 * caller's address is the right one, and what is hidden from one of the two is carried out by neither.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { must } from "../../src/std/assert.ts";
import { parseNetwork } from "../../src/std/network.ts";
import { answersIn } from "../fuzz/raw-answers.ts";
import { sequenceOf } from "../fuzz/raw-sequences.ts";
import { API, AUTH, type NotingServers, startNotingServers } from "../fuzz/recording-servers.ts";
import { FeedClient } from "../support/exchange/feed-client.ts";
import { seeded } from "../support/random.ts";
import { required } from "../support/required.ts";
import { until } from "../support/until.ts";
import { PROXIES, type ProxyProgram, type RunningProxy, startProxy } from "./running-proxy.ts";

const SEQUENCES = Number(process.env.PARBOOK_FUZZ_SEQUENCES ?? 400);
const SEED = Number(process.env.PARBOOK_FUZZ_SEED ?? 1);
const AT_ONCE = 32;
/** Some proxies wait for the rest of what cannot be read; nobody waits for them here. */
const LIMIT_MS = 300;
/** A request that is sound is answered, on a busy machine too. */
const ANSWER_LIMIT_MS = 10_000;
/** The proxy calls from 127.0.0.1, so that its callers can be distinguished from it. */
const CALLER = "127.0.0.2";
const STRANGER = "127.0.0.3";
/** More than an address may hold in any of ops/proxies. */
const FEEDS_OF_STRANGER = 600;
const TRUSTED = [must(parseNetwork("127.0.0.1"), "a network")];

let servers: NotingServers | undefined;
let running: RunningProxy | undefined;
let sockets: WebSocket[] = [];
afterEach(async () => {
  for (const socket of sockets) socket.terminate();
  sockets = [];
  await running?.stop();
  running = undefined;
  await servers?.close();
  servers = undefined;
});

test("trying the Caddyfile with `tls internal` installs no authority on the machine", (context) => {
  required(context, existsSync("/usr/bin/caddy") ? undefined : "caddy is not installed");
  const config = fileURLToPath(new URL("../../ops/proxies/Caddyfile", import.meta.url));
  const adapted = execFileSync("/usr/bin/caddy", ["adapt", "--config", config], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  expect(JSON.parse(`${adapted}`).apps.pki).toEqual({ certificate_authorities: { local: { install_trust: false } } });
});

for (const [name, proxy] of Object.entries(PROXIES)) {
  test(
    `behind ${name} nothing hides, addresses are right and feeds work`,
    async (context) => {
      required(context, existsSync(proxy.program) ? undefined : `${name} is not installed`);
      const started = await startNotingServers(TRUSTED);
      servers = started;
      const front = await start(proxy, started);

      const reader = await new FeedClient(front.api, "/marketdata/BTCUSD").opened();
      started.feed.knowBook("BTCUSD", { version: 7n, bids: [], asks: [] });
      await until("the book has come", () => reader.messages.length === 1);
      await reader.close();

      const ask = (...headers: string[]) =>
        send(
          front.api,
          [Buffer.from(["GET /address HTTP/1.1", "Host: a", ...headers, "", ""].join("\r\n"))],
          ANSWER_LIMIT_MS,
        );
      for (const said of [
        [],
        ["X-Forwarded-For: 203.0.113.9"],
        new Array<string>(2).fill("X-Forwarded-For: 203.0.113.9"),
      ]) {
        expect(await ask("Connection: close", ...said), name).toContain(`{"ip":"${CALLER}"}`);
      }
      for (const headers of [new Array<string>(1_100).fill("M: b"), new Array<string>(120).fill("M: b")]) {
        const received = await ask("Connection: close", "X-Forwarded-For: 203.0.113.9", ...headers);
        // Some proxies have a bound of their own, or hand on one header for many.
        expect(received.includes('{"ip"') ? received : `{"ip":"${CALLER}"}`, name).toContain(`{"ip":"${CALLER}"}`);
      }

      const connect = [Buffer.from("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n")];
      for (const url of [front.api, front.auth])
        expect(await send(url, connect, ANSWER_LIMIT_MS), name).not.toMatch(/ 50\d /);

      expect(await Promise.all([front.api, front.auth].map(speaksHttp2)), name).toEqual([false, false]);

      const answered = await sendSequences(front);
      expect(answered.filter((id) => id.includes("h"))).toEqual([]);
      expect(started.ran.filter((id) => id.includes("h"))).toEqual([]);
      expect(new Set(started.ran).size).toBe(started.ran.length);
      // What is sound gets through, or the run would prove little.
      expect(started.ran.length).toBeGreaterThan(SEQUENCES / 20);
    },
    60_000 + 50 * SEQUENCES,
  );
}

for (const [name, proxy] of Object.entries(PROXIES)) {
  test(`while no node is ready, ${name} answers as a node would`, async (context) => {
    required(context, existsSync(proxy.program) ? undefined : `${name} is not installed`);
    const started = await startNotingServers(TRUSTED);
    servers = started;
    const front = await start(proxy, started);
    servers = undefined;
    await started.close();

    const received = async (url: string) => {
      const answer = await fetch(url, { method: "POST", body: "{}" });
      const of = (header: string) => answer.headers.get(header);
      const headers = [of("content-type"), of("retry-after"), of("cache-control")];
      return { status: answer.status, headers, id: of("x-request-id"), body: await answer.json() };
    };
    const [api, auth] = await Promise.all([
      received(`${front.api}/v2/profiles`),
      received(`${front.auth}/oauth2/token`),
    ]);
    expect(api.id).toMatch(/^[0-9a-f-]{32,36}$/);
    expect(api).toEqual({
      status: 503,
      headers: ["application/problem+json", "5", "no-store"],
      id: api.id,
      body: {
        type: "about:blank",
        title: "Service Unavailable",
        status: 503,
        detail: "no node is ready: if this was a write, look whether it was done before you repeat it",
        meta: {},
        request_id: api.id,
      },
    });
    expect(auth).toEqual({
      status: 503,
      headers: ["application/json", "5", "no-store"],
      id: null,
      body: { error: "temporarily_unavailable", error_description: "no node is ready" },
    });
  });
}

test("behind haproxy a node that is not ready finishes what it has, and one that stands still does not", {
  timeout: 60_000,
}, async (context) => {
  required(context, existsSync(PROXIES.haproxy.program) ? undefined : "haproxy is not installed");
  let state: "ready" | "not ready" | "still" = "ready";
  const held: ServerResponse[] = [];
  const node = createServer((request, response) => {
    if (state === "still" || request.url === "/held") held.push(response);
    else response.writeHead(state === "ready" ? 200 : 503).end();
  });
  await once(node.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
  const adapt: ProxyProgram["adapt"] = (config, ports) =>
    PROXIES.haproxy.adapt(config.replace("timeout check 3s", "timeout check 300ms"), ports);
  const front = await start({ ...PROXIES.haproxy, adapt }, { apiUrl: url, authUrl: url });
  // Each on a connection of its own: one that it has kept haproxy closes without a response.
  const receivedOnBoth = (path: string) =>
    Promise.all(
      [front.api, front.auth].map(async (url) => {
        const [response] = (await once(get(`${url}${path}`, { agent: false }), "response")) as [IncomingMessage];
        return [response.statusCode, `${Buffer.concat(await response.toArray())}`];
      }),
    );
  const whoIsHeld = receivedOnBoth("/held");
  await until("the node has both", () => held.length === 2);

  state = "not ready";
  const noNode = [503, expect.stringContaining("no node is ready")];
  await until("haproxy has noticed", async () => (await receivedOnBoth("/")).every(([, said]) => said !== ""));
  expect(await receivedOnBoth("/")).toEqual([noNode, noNode]);
  for (const response of held.splice(0)) response.end("finished");
  expect(await whoIsHeld).toEqual(new Array(2).fill([200, "finished"]));

  state = "ready";
  await until("it is used again", async () => (await receivedOnBoth("/")).every(([status]) => status === 200));
  state = "still";
  const noResponse = [502, expect.stringContaining("no response from a node")];
  expect(await receivedOnBoth("/")).toEqual([noResponse, noResponse]);
  node.closeAllConnections();
  node.close();
});

test("no proxy without a bound on key updates offers TLS 1.3", async () => {
  const read = (name: string) => readFile(new URL(`../../ops/proxies/${name}`, import.meta.url), "utf8");
  const binds = (await read("haproxy.cfg")).match(/bind .* ssl .*/g);
  expect(binds?.map((bind) => bind.includes(" ssl-max-ver TLSv1.2"))).toEqual([true, true, true, true]);
  expect((await read("nginx.conf")).match(/ssl_protocols .*;/g)).toEqual(["ssl_protocols TLSv1.2;"]);
});

for (const name of ["haproxy", "nginx"] as const) {
  const proxy = PROXIES[name];
  test(`behind ${name} one address can hold some feeds, and another is served`, async (context) => {
    required(context, existsSync(proxy.program) ? undefined : `${name} is not installed`);
    const started = await startNotingServers(TRUSTED);
    servers = started;
    const front = await start(proxy, started);

    const outcomes = await Promise.all(
      Array.from({ length: FEEDS_OF_STRANGER }, () => feedOutcome(front.api, STRANGER)),
    );
    const opened = outcomes.filter((outcome) => outcome === "open").length;
    const rejections = new Set(outcomes.filter((outcome) => outcome !== "open"));
    expect([...rejections]).toEqual([name === "nginx" ? "429 application/problem+json" : "reset"]);
    expect(opened).toBeGreaterThan(100);
    expect(opened).toBeLessThan(FEEDS_OF_STRANGER);

    const served = await Promise.all(Array.from({ length: 20 }, () => feedOutcome(front.api, CALLER)));
    expect(served).toEqual(new Array(20).fill("open"));
    const responses = await Promise.all(
      [`${front.api}/slow`, `${front.auth}/healthz`].map((url) =>
        send(url, [Buffer.from(`GET ${new URL(url).pathname} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)]),
      ),
    );
    expect(responses.map((response) => response.slice(0, 15))).toEqual(["HTTP/1.1 200 OK", "HTTP/1.1 200 OK"]);
  });
}

test("haproxy takes callers with IPv6 too, where an operator lets it", async (context) => {
  const haproxy = PROXIES.haproxy;
  required(context, existsSync(haproxy.program) ? undefined : "haproxy is not installed");
  const started = await startNotingServers(TRUSTED);
  servers = started;
  const adapt: ProxyProgram["adapt"] = (config, ports) =>
    haproxy.adapt(
      config
        .replace(/# bind :::443 v6only ssl .*/, `bind [::1]:${ports.api} v6only`)
        .replace(/# bind :::8443 v6only ssl .*/, `bind [::1]:${ports.auth} v6only`),
      ports,
    );
  const front = await start({ ...haproxy, adapt }, started);
  for (const url of [`${front.api}/slow`, `${front.auth}/healthz`])
    for (const host of ["127.0.0.1", "[::1]"])
      expect((await fetch(url.replace("127.0.0.1", host))).status, `${url} of ${host}`).toBe(200);
});

test("behind haproxy addresses that hold half of a frontend do not take the other half", async (context) => {
  const haproxy = PROXIES.haproxy;
  required(context, existsSync(haproxy.program) ? undefined : "haproxy is not installed");
  const text = await readFile(new URL("../../ops/proxies/haproxy.cfg", import.meta.url), "utf8");
  const rooms = [...text.matchAll(/maxconn (\d+)[\s\S]*?fe_conn gt (\d+) }/g)].map(([, room, half]) =>
    [room, half].map(Number),
  );
  expect(rooms).toEqual([
    [18_000, 9_000],
    [6_000, 3_000],
  ]);

  const started = await startNotingServers(TRUSTED);
  servers = started;
  const adapt: ProxyProgram["adapt"] = (config, ports) =>
    haproxy.adapt(config, ports).replace("fe_conn gt 9000", "fe_conn gt 100");
  const front = await start({ ...haproxy, adapt }, started);
  const openedBy = async (address: string, count: number): Promise<number> => {
    const outcomes = await Promise.all(Array.from({ length: count }, () => feedOutcome(front.api, address)));
    return outcomes.filter((outcome) => outcome === "open").length;
  };
  // The connections by which the start was noticed may still be open.
  expect(await openedBy(STRANGER, 150)).toBeGreaterThan(90);
  const other = await openedBy("127.0.0.4", 80);
  expect(other).toBeGreaterThan(40);
  expect(other).toBeLessThanOrEqual(51);
  expect(await openedBy(CALLER, 20)).toBe(20);
});

async function start(
  proxy: ProxyProgram,
  behind: { readonly apiUrl: string; readonly authUrl: string },
): Promise<RunningProxy> {
  running = await startProxy(proxy, behind);
  return running;
}

/** "open", how the handshake was rejected, or "reset". The feed stays open. */
function feedOutcome(url: string, localAddress: string): Promise<string> {
  const webSocket = new WebSocket(`${url.replace(/^http/, "ws")}/marketdata/BTCUSD`, { localAddress });
  sockets.push(webSocket);
  return new Promise((resolve) => {
    webSocket.once("open", () => resolve("open"));
    webSocket.once("unexpected-response", (_request, response) => {
      resolve(`${response.statusCode} ${response.headers["content-type"]}`);
      webSocket.terminate();
    });
    webSocket.on("error", () => resolve("reset"));
  });
}

/** Whether a server answers a caller that begins with HTTP/2. */
async function speaksHttp2(url: string): Promise<boolean> {
  const session = connectHttp2(url);
  const ended = new Promise<boolean>((resolve) =>
    session.once("error", () => resolve(false)).once("close", () => resolve(false)),
  );
  const request = session.request({ ":path": "/healthz" }).on("error", () => undefined);
  const answered = new Promise<boolean>((resolve) => request.once("response", () => resolve(true)));
  const speaks = await Promise.race([ended, answered]);
  session.destroy();
  return speaks;
}

/** The ids of all answers. */
async function sendSequences(front: { api: string; auth: string }): Promise<string[]> {
  const ids: string[] = [];
  let next = SEED;
  const work = async (): Promise<void> => {
    for (let seed = next++; seed < SEED + SEQUENCES; seed = next++) {
      const isApi = seed % 3 > 0;
      const { packets } = sequenceOf(seeded(seed), { ...(isApi ? API : AUTH), tag: String(seed) });
      const { answers } = answersIn(await send(isApi ? front.api : front.auth, packets));
      for (const { id } of answers) if (id !== undefined) ids.push(id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return ids;
}

async function send(url: string, packets: readonly Buffer[], limitMs = LIMIT_MS): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: CALLER, noDelay: true });
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
  });
  socket.on("error", () => undefined).setTimeout(limitMs, () => socket.destroy());
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  for (const packet of packets) if (socket.writable) socket.write(packet);
  await closed;
  return text;
}
