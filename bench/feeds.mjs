/**
 * Messages per second that one process sends to feed subscribers, and the cost of an idle subscriber. Runs the built
 * server: `npx tsc -p tsconfig.build.json`, then `node bench/feeds.mjs [readers] [rounds]`.
 *
 * A fake engine changes five levels in each round, for every subscriber. The subscribers run in another process and
 * only receive bytes; with few cores they still cost as much as the sending. A round starts when the previous one has
 * been sent, so no subscriber falls behind.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { pino } from "pino";
import { createApi } from "../dist/api/server.js";
import { feedRoutes } from "../dist/api/websocket-feeds/feeds.js";

const [READERS, ROUNDS] = [Number(process.argv[2] ?? 1_000), Number(process.argv[3] ?? 200)];
const LEVELS = 5;

if (process.send !== undefined) await read();
else await tell();

async function tell() {
  const listeners = new Set();
  const book = { number: 0n, bids: [], asks: [] };
  const followBook = (_market, listener) => {
    listeners.add(listener);
    return { state: book, stop: () => listeners.delete(listener) };
  };
  const log = pino({ level: "warn" });
  const nobody = {
    baseUrl: () => "",
    authUrl: () => "",
    log,
    verify: async () => undefined,
    rejectsWork: () => undefined,
  };
  const api = await createApi(nobody);
  feedRoutes(api, { marketCodes: () => ["BTCUSD"], feed: { followBook } });
  const sockets = new Set();
  api.server.on("connection", (socket) => sockets.add(socket));
  const url = new URL(await api.listen({ port: 0, host: "127.0.0.1" }));
  const before = process.memoryUsage().rss;
  const readers = fork(import.meta.filename, [String(READERS), url.port]);
  await once(readers, "message");
  console.log(
    `${READERS} idle readers: ${((process.memoryUsage().rss - before) / READERS / 1024).toFixed(1)} KiB each`,
  );

  const price = 10n ** 18n;
  const started = performance.now();
  for (let round = 1n; round <= ROUNDS; round += 1n) {
    const level = (_, at) => ({ side: "BUY", price: price * BigInt(20_000 + at), amount: price * round });
    for (const listener of listeners) listener({ number: round, levels: Array.from({ length: LEVELS }, level) });
    while ([...sockets].some(({ writableLength }) => writableLength > 0)) await new Promise(setImmediate);
  }
  const seconds = (performance.now() - started) / 1_000;
  const messages = READERS * ROUNDS * LEVELS;
  console.log(`${Math.round(messages / seconds).toLocaleString("en")} messages/s to ${READERS} readers`);
  readers.kill();
  await api.close();
}

async function read() {
  const hello = `GET /marketdata/BTCUSD HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;
  for (let i = 0; i < READERS; i += 1) {
    const socket = connect(Number(process.argv[3]), "127.0.0.1");
    socket.write(`${hello}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
    await once(socket, "data");
    socket.resume();
  }
  process.send("reading");
}
