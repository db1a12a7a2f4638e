/** Bytes that no client of ours would send, straight into a socket. */
import { connect } from "node:net";
import fc from "fast-check";
import type { World } from "./world.ts";

export interface RawRequest {
  readonly what: string;
  /** Sends it, and answers what is wrong with what comes back, each as a sentence. */
  faults(): Promise<string[]>;
}

interface Bytes {
  readonly what: string;
  readonly bytes: string;
  /** How many answers there may be; one unless said. */
  readonly answers?: number;
  /** A success is right, since it is an odd way to ask for something that may be read. */
  readonly mayRead?: boolean;
}

export function rawRequests(world: World): fc.Arbitrary<RawRequest> {
  const all = [...framings(world), ...headerTricks(world), ...targets(world), ...upgrades(world)];
  const { hostname, port } = new URL(world.service.baseUrl);
  return fc.constantFrom(...all).map((bytes) => ({
    what: bytes.what,
    faults: async () => faultsOf(bytes, await exchange(hostname, Number(port), bytes.bytes)),
  }));
}

const READ = "/v2/profiles?limit=1";

/** A transfer that would succeed, were it taken for a request. */
function hidden({ own, token }: World): string {
  const body = JSON.stringify({
    ...{ from_profile_id: own.profile, to_profile_id: own.defaultProfile, amount: "1", asset: "USD" },
  });
  return `POST /v2/transfer/internal HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Where one request ends and the next begins: a server that sees it elsewhere can be made to process a hidden one. */
function framings(world: World): Bytes[] {
  const smuggled = hidden(world);
  const post = (headers: readonly string[], body: string) =>
    [`POST /v2/profiles HTTP/1.1`, "Host: a", "Content-Type: application/json", ...headers, "", body].join("\r\n");
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  return [
    {
      what: "length and chunks",
      bytes: post([`Content-Length: ${smuggled.length}`, "Transfer-Encoding: chunked"], `0\r\n\r\n${smuggled}`),
    },
    {
      what: "chunks and length",
      bytes: post(["Transfer-Encoding: chunked", "Content-Length: 4"], `0\r\n\r\n${smuggled}`),
    },
    { what: "two lengths", bytes: post(["Content-Length: 0", `Content-Length: ${smuggled.length}`], smuggled) },
    { what: "a length with a sign", bytes: post(["Content-Length: +0"], smuggled) },
    { what: "a list of lengths", bytes: post(["Content-Length: 0, 0"], smuggled) },
    { what: "a length that is no number", bytes: post(["Content-Length: 0x0"], smuggled) },
    { what: "a length below zero", bytes: post(["Content-Length: -1"], smuggled) },
    { what: "an unknown transfer coding", bytes: post(["Transfer-Encoding: xchunked"], `0\r\n\r\n${smuggled}`) },
    { what: "identity after chunked", bytes: post(["Transfer-Encoding: chunked, identity"], `0\r\n\r\n${smuggled}`) },
    { what: "a blank before the colon", bytes: post(["Transfer-Encoding : chunked"], `0\r\n\r\n${smuggled}`) },
    {
      what: "a tab before chunked",
      bytes: post(["Transfer-Encoding:\tchunked", "Content-Length: 4"], `0\r\n\r\n${smuggled}`),
    },
    { what: "a folded header", bytes: post(["X-A: b\r\n Transfer-Encoding: chunked"], smuggled) },
    { what: "a header that ends with LF alone", bytes: post([`X-A: b\nContent-Length: ${smuggled.length}`], smuggled) },
    { what: "a chunk size that is no number", bytes: post(["Transfer-Encoding: chunked"], `zz\r\n${smuggled}`) },
    { what: "a chunk size of 2^64", bytes: post(["Transfer-Encoding: chunked"], `10000000000000000\r\n${smuggled}`) },
    { what: "a chunk that is longer than its size", bytes: post(["Transfer-Encoding: chunked"], `1\r\n${smuggled}`) },
    { what: "a request within a body without a token", bytes: post([`Content-Length: ${smuggled.length}`], smuggled) },
    {
      what: "a request in chunks without a token",
      bytes: post(["Transfer-Encoding: chunked"], `${chunk(smuggled)}0\r\n\r\n`),
    },
    {
      what: "trailers",
      bytes: post(
        ["Transfer-Encoding: chunked", "Trailer: Authorization"],
        `0\r\nAuthorization: Bearer ${world.token}\r\n\r\n`,
      ),
    },
    { what: "a body that ends early", bytes: post(["Content-Length: 1000"], "{") },
    {
      what: "a request and half of the next",
      bytes: `GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nPOST /v2/tr`,
      mayRead: true,
    },
    { what: "five requests at once", bytes: `GET ${READ} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(5), answers: 5 },
  ];
}

function headerTricks({ token }: World): Bytes[] {
  const get = (...lines: string[]) => [`GET ${READ} HTTP/1.1`, ...lines, "", ""].join("\r\n");
  const right = `Authorization: Bearer ${token}`;
  return [
    { what: "HTTP/1.0", bytes: `GET ${READ} HTTP/1.0\r\n${right}\r\n\r\n`, mayRead: true },
    { what: "HTTP/0.9", bytes: `GET ${READ}\r\n\r\n` },
    { what: "HTTP/2.0 in clear", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
    { what: "HTTP/9.9", bytes: `GET ${READ} HTTP/9.9\r\nHost: a\r\n\r\n` },
    { what: "no host", bytes: get(right) },
    { what: "two hosts", bytes: get("Host: a", "Host: b", right) },
    { what: "an empty host", bytes: get("Host:", right), mayRead: true },
    { what: "two authorizations, the second one right", bytes: get("Host: a", "Authorization: Bearer x", right) },
    {
      what: "an authorization of 70,000 characters",
      bytes: get("Host: a", `Authorization: Bearer ${"x".repeat(70_000)}`),
    },
    {
      what: "five thousand headers before the right one",
      bytes: get("Host: a", ...Array.from({ length: 5_000 }, () => "a: b"), right),
    },
    { what: "NUL in a header", bytes: get("Host: a", "X-A: \0", right) },
    { what: "CR in a header", bytes: get("Host: a", "X-A: a\rb", right) },
    { what: "high bytes in a header", bytes: get("Host: a", "X-Request-Id: \xff\xfe", right), mayRead: true },
    { what: "a header without a name", bytes: get("Host: a", ": b", right) },
    { what: "a header without a colon", bytes: get("Host: a", "nothing", right) },
    { what: "an expectation", bytes: get("Host: a", "Expect: 100-continue", right), mayRead: true, answers: 2 },
    { what: "an expectation that nobody knows", bytes: get("Host: a", "Expect: miracles", right), mayRead: true },
    {
      what: "an upgrade to HTTP/2",
      bytes: get("Host: a", "Connection: Upgrade", "Upgrade: h2c", right),
      mayRead: true,
    },
    {
      what: "a request id with a line in it",
      bytes: get("Host: a", "X-Request-Id: a%0d%0aSet-Cookie:%20b", right),
      mayRead: true,
    },
    { what: "no HTTP at all", bytes: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" },
    { what: "nothing but line ends", bytes: "\r\n".repeat(100) },
  ];
}

/** Behind the handshake of a feed the connection is not HTTP any more. */
function upgrades(world: World): Bytes[] {
  const handshake = (target: string, version = 13) =>
    `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: ${version}\r\n\r\n`;
  const feed = handshake("/marketdata/BTCUSD");
  return [
    { what: "a request behind a handshake", bytes: feed + hidden(world), mayRead: true },
    { what: "a frame of 2^63 bytes", bytes: `${feed}\x81\xff\x7f${"\xff".repeat(7)}\0\0\0\0aaaa`, mayRead: true },
    { what: "a frame without a mask", bytes: `${feed}\x81\x02ab`, mayRead: true },
    { what: "a handshake of another version", bytes: handshake("/marketdata/BTCUSD", 99) },
    { what: "a handshake where no feed is", bytes: handshake("/v2/profiles") },
  ];
}

function targets({ token }: World): Bytes[] {
  const asked = (method: string, target: string, mayRead = false): Bytes => ({
    what: `${method} ${target.slice(0, 60)}`,
    bytes: `${method} ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    mayRead,
  });
  return [
    ...["CONNECT", "TRACE", "OPTIONS", "PURGE", "MKCOL", "QUERY", "get", "G\tT", "GETT"].map((method) =>
      asked(method, READ),
    ),
    asked("HEAD", READ, true),
    asked("OPTIONS", "*"),
    asked("GET", "http://evil.example/v2/profiles", true),
    ...[
      "//evil.example/v2/profiles",
      "/v2/profiles/",
      "/v2//profiles",
      "/V2/profiles",
      "/v2/profiles%2f",
      "/v2%2fprofiles",
    ].map((target) => asked("GET", target)),
    ...["/v2/../v2/profiles", "/v2/./profiles", "/v2/%2e%2e/v2/profiles", "/v2/profiles/..;/x", "/v2/profiles\\x"].map(
      (target) => asked("GET", target),
    ),
    ...["/v2/profiles;x=y", "/v2/profiles%00", "/v2/profiles%", "/v2/profiles/%ff", "/v2/profiles/%c0%ae"].map(
      (target) => asked("GET", target),
    ),
    ...["?limit=1&limit=2", "?limit=%00", "?limit[a]=1", "?limit=%zz", "?ids=", "?ids[]=x", "?ids[0]=x&ids[1]=y"].map(
      (query) => asked("GET", `/v2/profiles${query}`, true),
    ),
    ...[
      "?__proto__[limit]=1",
      "?constructor=1",
      "?toString=1",
      "?a".repeat(500),
      `?${"a=b&".repeat(5_000)}`,
      "?;;&&==",
      "#x",
    ].map((query) => asked("GET", `/v2/profiles${query}`, true)),
    asked("GET", `/v2/profiles/${"x".repeat(60_000)}`),
    asked("GET", "/v2/profiles/é"),
    asked("GET", ""),
    asked("GET", "v2/profiles"),
  ];
}

/** What is waited for before our side says that it has said all: some requests are waited for to go on. */
const FIRST_BYTE_MS = 500;
const SILENCE_MS = 60;
const LIMIT_MS = 20_000;

/** Everything that comes back until the other side closes or has said something and is silent. */
function exchange(host: string, port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host, port }, () => socket.write(Buffer.from(bytes, "latin1")));
    // To close earlier would do: the server then ends a connection without the answer that it is working on.
    let next = setTimeout(() => socket.end(), FIRST_BYTE_MS);
    const limit = setTimeout(() => {
      chunks.push(Buffer.from("\r\nTIMED OUT"));
      socket.destroy();
    }, LIMIT_MS);
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      clearTimeout(next);
      next = setTimeout(() => socket.destroy(), SILENCE_MS);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(next);
      clearTimeout(limit);
      resolve(Buffer.concat(chunks).toString("latin1"));
    });
  });
}

function faultsOf({ answers = 1, mayRead = false }: Bytes, received: string): string[] {
  const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  const faults = statuses.filter((status) => status >= 500 && status !== 501).map((status) => `it answers ${status}`);
  if (received.endsWith("TIMED OUT")) faults.push("the connection hangs");
  if (statuses.length > answers) faults.push(`it answers ${statuses.length} times`);
  const good = statuses.filter((status) => status < 400);
  if (!mayRead && good.length > 0) faults.push(`it answers ${good.join()}: ${received.slice(0, 300)}`);
  if (/^set-cookie:/im.test(received)) faults.push("a header was smuggled into the answer");
  if (received !== "" && !received.startsWith("HTTP/1.1 ")) faults.push(`it is no HTTP: ${received.slice(0, 100)}`);
  const withoutId =
    (received.match(/^HTTP\/1\.1 [45]/gm) ?? []).length > (received.match(/^x-request-id: /gim) ?? []).length;
  if (withoutId) faults.push("it has no request id");
  return [...new Set(faults)];
}
