/**
 * Hostile connections of one kind, from one process: `node bench/attackers.mjs '{"kind":"pong-flood",...}'`. Lost
 * connections are reopened. Prints its counts as JSON at the end. Started by `attack.mjs`, and targets only the server
 * that it started.
 */
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";

const { kind, host, port, connections, seconds, token, tls } = JSON.parse(process.argv[2]);
const counts = { opened: 0, closed: 0, refused: 0, bytesRead: 0 };
const REOPEN_MS = 20;
const TRICKLE_MS = 1_000;
const READ_BYTES = 64;

const ends = performance.now() + seconds * 1_000;
const open = new Set();
const isOver = () => performance.now() >= ends;

const ask = (path, headers = []) => ["GET", path].join(" ").concat(" HTTP/1.1\r\nHost: x\r\n", ...headers, "\r\n");
const authorization = `Authorization: Bearer ${token}\r\n`;
const handshake = (path) =>
  ask(path, [
    "Connection: Upgrade\r\nUpgrade: websocket\r\n",
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
  ]);
const many = (bytes, length) => Buffer.concat(Array.from({ length: Math.ceil(length / bytes.length) }, () => bytes));
const NO_MASK = [0, 0, 0, 0];
const PONGS = many(Buffer.from([0x8a, 0x80, ...NO_MASK]), 65_536);
const PINGS = many(Buffer.from([0x89, 0x80, ...NO_MASK]), 65_536);
const BOOK = "/v2/markets/BTCUSD/order-book";
const BOOKS = many(Buffer.from(ask(BOOK)), 65_536);
/** Without a token: 401. */
const LONG_QUERY = ask(`/v2/transfer/transfers?${Array.from({ length: 1_400 }, (_, i) => `ids=x${i}`).join("&")}`);
/** Public, and answered: 60 KB of unknown parameters. */
const PLUSES = Array.from({ length: 10_000 }, (_, i) => `+${i}`).join("&");
const PUBLIC_QUERY = ask(`/v2/all-markets/prices?${PLUSES}`);
const TINY = many(Buffer.from(ask("/x")), 65_536);

/** What each kind does with a new connection. */
const KINDS = {
  "pong-flood": (socket) => afterHandshake(socket, "/marketdata/BTCUSD", () => flood(socket, PONGS)),
  "ping-flood": (socket) => afterHandshake(socket, "/marketdata/BTCUSD", () => flood(socket.pause(), PINGS)),
  "slow-header": (socket) => trickle(read(socket), "GET /v2/profiles HTTP/1.1\r\nHost: x\r\nX-Slow: ", "a"),
  "slow-body": (socket) =>
    trickle(
      read(socket),
      `POST /v2/transfer/platform HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{`,
      " ",
    ),
  "slow-pages": (socket) => readSlowly(socket, ask("/v2/transfer/transfers?limit=1000", [authorization])),
  "slow-feed": (socket) => {
    readSlowly(socket, handshake("/marketdata/BTCUSD"));
    // Sends a request, and reads next to nothing.
    every(socket, 10_000, () => socket.write(PONGS.subarray(0, 6)));
  },
  pipelining: (socket) => flood(socket.pause(), BOOKS),
  "tiny-pipelining": (socket) => flood(socket.pause(), TINY),
  "half-open": (socket) => readSlowly(socket, ask(BOOK)).end(),
  upgrade: (socket) => readSlowly(socket, handshake("/v2/markets/BTCUSD/ticker")),
  churn: (socket) => read(socket).end(ask("/x")),
  book: (socket) => askAgain(socket, ask(BOOK)),
  "long-query": (socket) => askAgain(socket, LONG_QUERY),
  "public-query": (socket) => askAgain(socket, PUBLIC_QUERY),
};

const start = KINDS[kind];
if (start === undefined) throw new Error(`the kinds are ${Object.keys(KINDS).join(", ")}`);
for (let i = 0; i < connections; i += 1) openOne();
setTimeout(() => {
  for (const socket of open) socket.destroy();
  console.log(JSON.stringify({ ...counts, atEnd: open.size }));
  process.exit(0);
}, seconds * 1_000);

function openOne() {
  if (isOver()) return;
  const options = { host, port, allowHalfOpen: true };
  const socket = tls ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
  socket.on("error", () => undefined);
  socket.once(tls ? "secureConnect" : "connect", () => {
    counts.opened += 1;
    open.add(socket);
    start(socket);
  });
  socket.once("end", () => socket.destroy());
  socket.once("close", () => {
    if (!open.delete(socket)) counts.refused += 1;
    counts.closed += 1;
    counts.bytesRead += socket.bytesRead;
    setTimeout(openOne, kind === "churn" ? 0 : REOPEN_MS);
  });
}

function read(socket, onData = () => undefined) {
  return socket.on("data", onData);
}

function afterHandshake(socket, path, then) {
  socket.write(handshake(path));
  read(socket).once("data", then);
}

function flood(socket, bytes) {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes)) if (socket.writableLength > bytes.length) return;
  };
  socket.on("drain", more);
  more();
  every(socket, TRICKLE_MS, () => socket.resume().pause());
}

function trickle(socket, beginning, byte) {
  socket.write(beginning);
  every(socket, TRICKLE_MS, () => socket.write(byte));
}

/** The next request follows the complete response, success or rejection. */
function askAgain(socket, request) {
  socket.write(request);
  let length = 0;
  read(socket, (chunk) => {
    if (length === 0) length = lengthOf(chunk);
    length -= chunk.length;
    if (length > 0) return;
    length = 0;
    socket.write(request);
  });
}

/** Reads a few bytes a second, to avoid idle timeouts. */
function readSlowly(socket, request) {
  socket.on("readable", () => undefined).write(request);
  every(socket, TRICKLE_MS, () => socket.read(READ_BYTES));
  return socket;
}

function every(socket, ms, act) {
  const timer = setInterval(act, ms);
  socket.once("close", () => clearInterval(timer));
}

function lengthOf(chunk) {
  const head = chunk.latin1Slice(0, Math.min(chunk.length, 2_048));
  const end = head.indexOf("\r\n\r\n");
  return end < 0 ? chunk.length : end + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
}
