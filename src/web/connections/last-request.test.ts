import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sendRaw, statusesIn } from "../../../test/support/http/raw-connection.ts";
import { startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";

let toy: ToyApi;
let ran = 0;
const sockets: Socket[] = [];
/** Settled once a response may be sent. */
let release: Promise<void> | undefined;
beforeEach(async () => {
  ran = 0;
  release = undefined;
  toy = await startToyApi((api) => {
    api.get("/ran", { config: { scope: "public" }, schema: { hide: true } }, async () => {
      ran += 1;
      return {};
    });
    api.addHook("onSend", async () => release);
  });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await toy.close();
});

const MIB = 1024 * 1024;
const request = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, "Host: toy", "Content-Type: application/json", ...headers, "", ""].join("\r\n");
const CHUNKED = "Transfer-Encoding: chunked";
const GOOD = "Authorization: Bearer good";

/** Sends, and reads nothing until all of it is on its way. */
async function sendAll(head: string, bytes: number): Promise<string> {
  const { hostname, port } = new URL(toy.url);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  sockets.push(socket);
  socket.pause();
  await once(socket, "connect");
  socket.write(head);
  await new Promise((resolve) => socket.write(Buffer.alloc(bytes, "a"), resolve));
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
  });
  socket.resume();
  await once(socket, "close");
  return text;
}

test("a request that is answered before its body is there is the last one, and nothing more of it is parsed", async () => {
  let pieces = 0;
  toy.api.server.on("request", (incoming) => {
    const push = incoming.push.bind(incoming);
    incoming.push = (piece, encoding) => {
      pieces += 1;
      return push(piece, encoding);
    };
  });
  const { hostname, port } = new URL(toy.url);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  sockets.push(socket);
  socket.write(request("POST /v2/nothing", CHUNKED));
  const [answer] = await once(socket, "data");
  expect(statusesIn(String(answer))).toEqual([404]);
  expect(String(answer).toLowerCase()).toContain("\r\nconnection: close\r\n");
  const sending = setInterval(() => socket.write("1\r\na\r\n".repeat(1_000)), 5);
  await until("the connection is closed", () => socket.closed, 5);
  clearInterval(sending);
  expect(pieces).toBe(0);
});

test("a caller that sends all of a long body before it reads receives the rejection", async () => {
  const length = `Content-Length: ${8 * MIB}`;
  const received = await Promise.all([
    sendAll(request("POST /v2/nothing", length), 8 * MIB),
    sendAll(request("POST /v2/toys/default", GOOD, length), 8 * MIB),
    sendAll(`${request("POST /v2/toys/default", GOOD, CHUNKED)}800000\r\n`, 8 * MIB),
    sendAll(request("POST /v2/toys/default", "Host: other", length), 8 * MIB),
    sendAll(request("NONSENSE /v2/toys"), 8 * MIB),
  ]);
  expect(received.map(statusesIn)).toEqual([[404], [413], [413], [400], [400]]);
});

test("a connection goes on behind a request that is answered before a short body of a known length is there", async () => {
  const head = request("POST /v2/nothing", "Content-Length: 5");
  const next = request("GET /v2/toys", GOOD, "Connection: close");
  expect(statusesIn(await sendRaw(toy.url, head, 1, "12", "345", next))).toEqual([404, 200]);
});

test("what comes behind a request that is answered before its body is there is not carried out", async () => {
  const last = `${request("POST /v2/nothing", CHUNKED)}5\r\n12345\r\n0\r\n\r\n`;
  expect(statusesIn(await sendRaw(toy.url, last + request("GET /ran")))).toEqual([404]);
  expect(ran).toBe(0);
  expect(statusesIn(await sendRaw(toy.url, request("GET /ran", "Connection: close")))).toEqual([200]);
  expect(ran).toBe(1);
});

test("a caller that ends its body while its response is on its way receives that response", async () => {
  const { hostname, port } = new URL(toy.url);
  let send = (): void => undefined;
  release = new Promise((resolve) => {
    send = resolve;
  });
  const ended = new Promise((resolve) =>
    toy.api.server.once("connection", (socket) => socket.once("end", () => setImmediate(resolve))),
  );
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  sockets.push(socket);
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
  });
  const arrived = once(toy.api.server, "request");
  socket.write(request("POST /v2/nothing", CHUNKED));
  await arrived;
  // Behind the response that is decided, nothing is parsed any more.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  socket.end("5\r\n12345\r\n0\r\n\r\n");
  await ended;
  send();
  await once(socket, "close");
  expect(statusesIn(text)).toEqual([404]);
});
