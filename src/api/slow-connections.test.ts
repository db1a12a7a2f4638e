/** Callers who take their time, on real sockets: they are sent away, and nobody else has to wait for them. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { ask, GRANT, startToyApi, type ToyApi } from "../../test/support/http/toy-api.ts";
import { until } from "../../test/support/until.ts";
import { type Network, parseNetwork } from "../std/network.ts";

let toy: ToyApi;
const sockets: Socket[] = [];
const trickling: NodeJS.Timeout[] = [];
afterEach(async () => {
  for (const timer of trickling.splice(0)) clearInterval(timer);
  for (const socket of sockets.splice(0)) socket.destroy();
  await toy.close();
});

const IMPATIENT = { headersMs: 200, requestMs: 400, checkEveryMs: 50 };

/** Opens a connection, sends how a request begins, and then a byte at a time for as long as it can. */
function trickle(beginning: string, byte: string): Socket & { received: string } {
  const socket = open(beginning);
  trickling.push(setInterval(() => socket.write(byte), 20));
  return socket;
}

function open(beginning: string): Socket & { received: string } {
  const { hostname, port } = new URL(toy.url);
  const socket = Object.assign(connect({ port: Number(port), host: hostname, allowHalfOpen: true }), { received: "" });
  sockets.push(socket);
  socket.setEncoding("utf8").on("data", (text: string) => (socket.received += text));
  socket.on("error", () => {});
  socket.write(beginning);
  return socket;
}

const gone = (socket: Socket): boolean => socket.destroyed || socket.closed;

test("headers that trickle in are given up on, however steadily", async () => {
  toy = await startToyApi(undefined, { timeouts: IMPATIENT });
  const socket = trickle("GET /v2/toys HTTP/1.1\r\nHost: toy\r\nX-Slow: ", "a");
  await until("the connection is closed", () => gone(socket));
  expect(socket.received).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  expect(socket.received).toContain('"detail":"the request did not arrive in time"');
});

test("a body that trickles in is given up on, and its handler never runs", async () => {
  let ran = 0;
  toy = await startToyApi(
    (api) => api.post("/count", { config: { scope: "public" }, schema: { hide: true } }, async () => ({ ran: ++ran })),
    { timeouts: IMPATIENT },
  );
  const head = "POST /count HTTP/1.1\r\nHost: toy\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{";
  const socket = trickle(head, " ");
  await until("the connection is closed", () => gone(socket));
  expect(ran).toBe(0);
});

test("requests have as long to arrive, and connections as long to be idle, as SECURITY.md says", async () => {
  toy = await startToyApi();
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = toy.api.server;
  expect({ headersTimeout, requestTimeout, keepAliveTimeout, timeout }).toEqual({
    headersTimeout: 20_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    timeout: 60_000,
  });
});

test("a connection that sends nothing is closed", async () => {
  toy = await startToyApi(undefined, { timeouts: IMPATIENT });
  const { hostname, port } = new URL(toy.url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.on("error", () => {}).resume();
  await once(socket, "close");
});

test("a thousand requests that never end do not block others", async () => {
  toy = await startToyApi();
  const { hostname, port } = new URL(toy.url);
  const beginnings = [
    "",
    "GET /v2/toys HTTP/1.1\r\nHost: t",
    "POST /v2/toys/default HTTP/1.1\r\nHost: toy\r\nContent-Type: application/json\r\nAuthorization: Bearer good\r\nContent-Length: 5000\r\n\r\n{",
  ];
  let open = 0;
  toy.api.server.on("connection", () => (open += 1));
  for (let i = 0; i < 1_000; i += 1) {
    const socket = connect(Number(port), hostname).on("error", () => {});
    sockets.push(socket);
    socket.write(beginnings[i % 3] ?? "");
  }
  await until("all of them are open", () => open >= 1_000);
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask(toy, "/v2/toys")));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

test.each(["POST", "PUT", "DELETE"])(
  "a %s whose token ends while its body arrives is not carried out",
  async (method) => {
    let ran = 0;
    let isValid = true;
    const verified: string[] = [];
    const config = { scope: "transfer:write_internal_transfer" } as const;
    const handler = async () => ({ ran: ++ran });
    toy = await startToyApi((api) => api.route({ method, url: "/count", config, schema: { hide: true }, handler }), {
      trustedProxies: [parseNetwork("127.0.0.0/8") as Network],
      verify: async (_token, address) => {
        verified.push(address);
        return isValid ? GRANT : undefined;
      },
    });
    const sent = ["Host: toy", "X-Forwarded-For: 203.0.113.9", "Authorization: Bearer good"];
    const head = [`${method} /count HTTP/1.1`, ...sent, "Content-Type: application/json", ""].join("\r\n");
    const written = async (whileItArrives: () => void): Promise<string> => {
      const before = verified.length;
      const socket = open(`${head}Content-Length: 2\r\n\r\n{`);
      await until("its head has arrived", () => verified.length > before);
      const now = performance.now.bind(performance);
      onTestFinished(() => void vi.restoreAllMocks());
      vi.spyOn(performance, "now").mockImplementation(() => now() + 2_000);
      whileItArrives();
      socket.write("}");
      await until("it is answered", () => socket.received.includes("\r\n\r\n"));
      vi.restoreAllMocks();
      return socket.received.slice(0, socket.received.indexOf("\r\n"));
    };
    expect(await written(() => undefined)).toBe("HTTP/1.1 200 OK");
    expect(await written(() => (isValid = false))).toBe("HTTP/1.1 401 Unauthorized");
    // A client may call from some addresses only: each time it is the caller's, not the proxy's.
    expect([verified, ran]).toEqual([Array(4).fill("203.0.113.9"), 1]);
  },
);
