/**
 * Hostile connections of one kind, from one process: `node bench/attacks/attackers.mjs '{"kind":"pong-flood",...}'`. Lost
 * connections are reopened. Prints its counts as JSON at the end. Started by `attack.mjs`, and targets only the server
 * that it started.
 */
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";

const {
  kind,
  host,
  port,
  otherPort = port,
  connections,
  seconds,
  token,
  tls,
  profile,
  seller,
  webhook,
  wide6,
} = JSON.parse(process.argv[2]);
let begun = 0;
const counts = { opened: 0, closed: 0, rejected: 0, bytesRead: 0 };
const REOPEN_MS = 20;
const TRICKLE_MS = 1_000;
const READ_BYTES = 64;
const RESET_MS = 100;
const HELD_MS = 8_000;

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
const ZEROS = Buffer.alloc(65_536);
const EMPTY_LINES = many(Buffer.from("\r\n"), 65_536);
const PINGS = many(Buffer.from([0x89, 0x80, ...NO_MASK]), 65_536);
const BOOK = "/v2/markets/BTCUSD/order-book";
const BOOKS = many(Buffer.from(ask(BOOK)), 65_536);
/** Without a token: 401. */
const LONG_QUERY = ask(`/v2/transfer/transfers?${Array.from({ length: 1_400 }, (_, i) => `ids=x${i}`).join("&")}`);
/** Public, and answered: 60 KB of unknown parameters. */
const PLUSES = Array.from({ length: 10_000 }, (_, i) => `+${i}`).join("&");
const PUBLIC_QUERY = ask(`/v2/all-markets/prices?${PLUSES}`);
/** At the token server: 200 parts without a name. */
const PARTS = "--b\r\n\r\n\r\n".repeat(200);
const EMPTY_PARTS = `POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${PARTS.length}\r\n\r\n${PARTS}`;
/** With a token: many filters, which match nothing. */
const filters = (name) => Array.from({ length: 100 }, (_, i) => `${name}=${i}${"%22".repeat(15)}`).join("&");
const FILTERS = ask(`/v2/transfer/transfers?limit=1&${filters("account_ids")}&${filters("identity_ids")}`, [
  authorization,
]);
/** With a token: a filter that has no index. */
const WALK = ask("/v2/transfer/transfers?limit=1&type=RTP_DEPOSIT", [authorization]);
const DEACTIVATION = `PUT /v2/profiles/${profile}/deactivate HTTP/1.1\r\nHost: x\r\n${authorization}Content-Length: 0\r\n\r\n`;
/** A request of the client with a body. */
const send = (method, path, body) => {
  const text = JSON.stringify(body);
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
};
let named = 0;
const nextName = () => {
  named += 1;
  return `attack ${process.pid} ${named}`;
};
/** Small changes, each of which is a transaction of its own, and short lists beside them. */
const SMALL_CHANGES = [
  () => send("POST", `/v2/webhooks/${webhook}/rotate-secret`, {}),
  () => send("POST", `/v2/webhooks/${webhook}/test`, {}),
  () => send("POST", "/v2/profiles", { nickname: nextName() }),
  () => send("PUT", `/v2/profiles/${profile}`, { nickname: nextName() }),
  () => ask(`/v2/webhooks/${webhook}/attempts`, [authorization]),
  () => ask("/v2/webhooks", [authorization]),
];

/** With a token: an order of the attackers, which fills at once what it can, and rests or not. */
const order = (fields) => {
  const body = JSON.stringify({ market: "BTCUSD", side: "SELL", type: "LIMIT", ...fields });
  return `POST /v2/profiles/${seller}/orders HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
/** Meets about 1,000 levels of the book, each of 0.001. */
const SWEEP = order({ time_in_force: "IOC", price: "1", base_amount: "1" });
let placed = 0;
const resting = () => {
  placed += 1;
  return order({ time_in_force: "GTC", price: String(45_000 + (placed % 400)), base_amount: "0.001" });
};
/** The connections that place these, where the others only read what happens. */
const TRADERS = 5;
/** With a token: default pages, and short ones, of the largest transfers. */
const PAGES = ["/v2/events?after_number=0", "/v2/transfer/transfers"]
  .flatMap((path) => [path, `${path}${path.includes("?") ? "&" : "?"}limit=20`])
  .map((path) => ask(path, [authorization]));
const BALANCES = ask(`/v2/profiles/${seller}/balances`, [authorization]);
/** With a token: the next event, once one of these requests has met the last. */
let newest = 1e12;
const nextEvent = () => ask(`/v2/events?after_number=${newest}&wait_millis=30000&limit=1`, [authorization]);
const noteNewest = (chunk) => {
  const [, last, number] = /after the last event, (\d+)|"number":(\d+)/.exec(chunk.latin1Slice()) ?? [];
  if (last !== undefined) newest = Number(last);
  else if (number !== undefined) newest = Math.max(newest, Number(number));
};
/** With a token: a body with as many and as long values as are read, rejected for its last field. */
const BODY = JSON.stringify({
  metadata: Object.fromEntries(Array.from({ length: 480 }, (_, i) => [`k${i}`, "v".repeat(110)])),
  amount: 1,
});
const LARGE_BODY = `POST /v2/transfer/platform HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
/** Without a token: a body that never ends. */
const ENDLESS_BODY =
  "POST /v2/transfer/platform HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999999999\r\n\r\n";
const longHead = (bytes) =>
  Array.from({ length: 60 }, (_, i) => `X-${i}: ${randomBytes(bytes / 120).toString("hex")}\r\n`);
const HELD_PAGE = ask("/v2/transfer/transfers?limit=450", [authorization, ...longHead(58_000)]);
const HELD_FORM = `POST /oauth2/token HTTP/1.1\r\nHost: x\r\n${longHead(12_000).join("")}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 16000\r\n\r\n${"a".repeat(15_999)}`;
const TINY = many(Buffer.from(ask("/x")), 65_536);

/**
 * A ClientHello of TLS 1.3 that accepts only ffdhe8192, the slowest group of OpenSSL, with a key share of 4, which nobody had
 * to compute ("DHEat").
 */
const SLOW_HELLO = (() => {
  const short = (number) => Buffer.from([number >> 8, number & 0xff]);
  const vector = (...parts) => {
    const body = Buffer.concat(parts);
    return Buffer.concat([short(body.length), body]);
  };
  const extension = (type, ...parts) => Buffer.concat([short(type), vector(...parts)]);
  const group = short(0x0104);
  const extensions = vector(
    extension(0x002b, Buffer.from([2, 3, 4])),
    extension(0x000a, vector(group)),
    extension(0x000d, vector(short(0x0403), short(0x0804), short(0x0401))),
    extension(0x0033, vector(group, vector(Buffer.concat([Buffer.alloc(1_023), Buffer.from([4])])))),
  );
  const random = Buffer.alloc(32, 7);
  const body = Buffer.concat([
    short(0x0303),
    random,
    Buffer.from([0]),
    vector(short(0x1301)),
    Buffer.from([1, 0]),
    extensions,
  ]);
  const message = Buffer.concat([Buffer.from([1, 0]), short(body.length), body]);
  return Buffer.concat([Buffer.from([0x16, 3, 1]), vector(message)]);
})();

/** What is not HTTP, an unknown path, a wrong method, headers that contradict each other, no token; each also eight at once. */
const REJECTED = [
  "\x16garbage\r\n\r\n",
  ask("/nope"),
  "PATCH /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
  "GET /v2/%E0%A4%A HTTP/1.1\r\nHost: a\r\n\r\n",
  "GET /v2 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
  handshake("/v2/profiles"),
  "POST /v2/x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
  "POST /oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\na=bc",
].flatMap((request) => [request, request, request.repeat(8)]);

const smallTransfer = () => ({
  ...{ from_profile_id: seller, to_profile_id: profile, asset: "BTC", amount: "0.00000001" },
  ref_id: nextName(),
});
/** Of a client that does everything at once, within the burst that its rate allows. */
const BURST = [
  () => ask("/v2/fees", [authorization]),
  () => BALANCES,
  () => ask("/v2/orders?limit=25", [authorization]),
  () => ask("/v2/profiles?limit=25", [authorization]),
  () => ask("/v2/events?limit=100&after_number=0", [authorization]),
  () => ask(`/v2/profiles/${profile}`, [authorization]),
  () => ask("/v2/profiles/00000000-0000-7000-8000-000000000000", [authorization]),
  () => send("POST", "/v2/transfer/internal", smallTransfer()),
  () =>
    send("POST", "/v2/transfer/internal/bulk", { mode: "atomic", items: Array.from({ length: 20 }, smallTransfer) }),
  resting,
  () => LARGE_BODY,
];
const BURST_PER_SECOND = 350;

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
  // Up to four of what is rejected, each behind the response to the one before, and another connection.
  rejected: (socket, nth) => {
    let left = 1 + (nth % 4);
    const next = () => {
      if (left === 0) return void socket.destroy();
      left -= 1;
      socket.write(REJECTED[Math.floor(Math.random() * REJECTED.length)]);
    };
    read(socket, next);
    next();
  },
  book: (socket) => askAgain(socket, ask(BOOK)),
  "long-query": (socket) => askAgain(socket, LONG_QUERY),
  "public-query": (socket) => askAgain(socket, PUBLIC_QUERY),
  // 60 KB of escapes, which no route has.
  "long-paths": (socket) => askAgain(socket, ask(`/v2/${"%25".repeat(20_000)}`)),
  "empty-parts": (socket) => askAgain(socket, EMPTY_PARTS),
  filters: (socket) => askAgain(socket, FILTERS),
  walks: (socket) => askAgain(socket, WALK),
  markets: (socket) => askAgain(socket, ask("/v2/markets")),
  // A second's 50 orders, and readers of all that they change.
  "all-feeds": (socket, nth) => {
    if (nth > TRADERS) return void read(socket).write(handshake(nth % 2 === 0 ? "/marketdata" : "/executiondata"));
    trade(socket);
  },
  streams: (socket, nth) => {
    if (nth > TRADERS) return void read(socket).write(ask("/v2/events/stream", [authorization]));
    trade(socket);
  },
  "old-streams": (socket) => void read(socket).write(ask("/v2/events/stream?after_number=0", [authorization])),
  waits: (socket, nth) => {
    if (nth <= TRADERS) return trade(socket);
    askAgain(read(socket, noteNewest), nextEvent);
  },
  // Comes, takes the beginning of the first book, and goes.
  joins: (socket, _, tcp) => {
    socket.write(handshake("/marketdata"));
    let frames = 0;
    read(socket, () => {
      frames += 1;
      if (frames === 2) tcp.resetAndDestroy();
    });
  },
  // An order each six seconds that changes 1,000 levels, and readers of these.
  sweeps: (socket, nth) => {
    if (nth > 1) return void read(socket).write(handshake("/marketdata/BTCUSD"));
    every(read(socket), 6_000, () => socket.write(SWEEP));
  },
  pages: (socket, nth) => askAgain(socket, PAGES[nth % PAGES.length]),
  orders: (socket) => askAgain(socket, resting),
  bodies: (socket) => askAgain(socket, LARGE_BODY),
  "small-changes": (socket, nth) => askAgain(socket, SMALL_CHANGES[nth % SMALL_CHANGES.length]),
  burst: (socket, nth) => {
    let at = nth;
    const next = () => {
      at += 1;
      return BURST[at % BURST.length]();
    };
    askAgain(socket, next, (connections * 1_000) / BURST_PER_SECOND);
  },
  // All that costs the thread much, of one client.
  mixed: (socket, nth) => {
    if (nth % 10 === 0) return void read(socket).write(ask("/v2/events/stream?after_number=0", [authorization]));
    askAgain(socket, nth % 2 === 0 ? LARGE_BODY : PAGES[nth % PAGES.length]);
  },
  "empty-lines": (socket) => {
    socket.write(ask("/v2/markets"));
    flood(socket.pause(), EMPTY_LINES);
  },
  "endless-bodies": (socket) => {
    socket.write(ENDLESS_BODY);
    flood(socket.pause(), ZEROS);
  },
  balances: (socket) => askAgain(socket, BALANCES),
  fees: (socket) => askAgain(socket, ask("/v2/fees", [authorization])),
  candles: (socket) =>
    askAgain(socket, ask("/v2/markets/BTCUSD/historical-prices?increment=ONE_MINUTE", [authorization])),
  deactivations: (socket) => askAgain(socket, DEACTIVATION),
  // As many requests, and as long, as a connection may have. The responses are not read, so that it ends with a reset.
  resets: (socket) => {
    socket.pause().write(PUBLIC_QUERY.repeat(16));
    setTimeout(() => socket.destroy(), RESET_MS);
  },
  // As much as a connection can hold: on the API's port the longest head and a page that is not read, on the token server's the
  // longest head and body but for the last byte; again and again.
  held: (socket, nth) => {
    socket.pause().write(nth % 2 === 0 ? HELD_FORM : HELD_PAGE);
    setTimeout(() => socket.destroy(), HELD_MS);
  },
  "slow-groups": (socket) => read(socket, () => socket.destroy()).write(SLOW_HELLO),
};

// The control: uses the attackers' core and asks nothing.
if (kind === "none") {
  while (!isOver()) Math.hypot(begun);
  console.log(JSON.stringify({ ...counts, atEnd: 0 }));
  process.exit(0);
}

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
  // With the addresses of an IPv6 network of 48 bits, each connection comes from the next network of 64 bits.
  const localAddress = wide6 && `${wide6}:${(begun % 65_536).toString(16)}::1`;
  begun += 1;
  const nth = begun;
  const to = { host, port: nth % 2 === 0 ? otherPort : port };
  const isTls = tls && kind !== "slow-groups";
  const tcp = connect({ ...to, allowHalfOpen: true, ...(localAddress && { localAddress }) });
  const socket = isTls ? connectTls({ socket: tcp, rejectUnauthorized: false }) : tcp;
  for (const one of [tcp, socket]) one.on("error", () => undefined);
  socket.once(isTls ? "secureConnect" : "connect", () => {
    counts.opened += 1;
    open.add(socket);
    start(socket, nth, tcp);
  });
  socket.once("end", () => socket.destroy());
  socket.once("close", () => {
    if (!open.delete(socket)) counts.rejected += 1;
    counts.closed += 1;
    counts.bytesRead += socket.bytesRead;
    setTimeout(openOne, kind === "churn" || kind === "rejected" ? 0 : REOPEN_MS);
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

/** A share of a second's 50 orders. */
function trade(socket) {
  every(read(socket), 20 * TRADERS, () => socket.write(resting()));
}

/** The next request follows the complete response, success or rejection, after a pause. */
function askAgain(socket, request, pauseMs = 0) {
  const textOf = typeof request === "string" ? () => request : request;
  socket.write(textOf());
  let length = 0;
  read(socket, (chunk) => {
    if (length === 0) length = lengthOf(chunk);
    length -= chunk.length;
    if (length > 0) return;
    length = 0;
    if (pauseMs === 0) socket.write(textOf());
    else setTimeout(() => !socket.destroyed && socket.write(textOf()), pauseMs);
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
