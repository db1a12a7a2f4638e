/**
 * Requests at a fixed rate, from a separate thread. Latency counts from the time a request was due, so that a stalling
 * service cannot hide it (coordinated omission). A request that finds no free connection is counted as offered but not
 * sent.
 *
 *     await openLoop({ url, perSecond: 1000, seconds: 10, connections: 500, requests: [{ method, path, headers, body }] })
 *
 * A rate of Infinity keeps each connection busy (a closed loop). `#` in a body stands for the number of the request.
 */
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

/** @returns Latencies in ms and request numbers of 200 responses, latencies of 503, and counts of the rest. */
export function openLoop(options) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { openLoop: options } });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

/** How long to wait for requests in flight at the end. */
const LAST_ANSWERS_MS = 5_000;

if (!isMainThread && workerData?.openLoop) parentPort.postMessage(await generate(workerData.openLoop));

async function generate({ url, perSecond, seconds, connections, fresh = false, first = 0, requests }) {
  const { protocol, hostname, port } = new URL(url);
  const connectTo =
    protocol === "https:" ? (to, ready) => connectTls({ ...to, rejectUnauthorized: false }, ready) : connect;
  const texts = requests.map(textOf);
  const received = { accepted: [], rejected: [], numbers: [], doneAt: [], wrong: [], unsent: 0, broken: 0, offered: 0 };
  const idle = [];
  const started = performance.now();
  const end = started + seconds * 1_000;
  let underWay = 0;
  let open = 0;

  /** One connection; a new one for each request when `fresh`. */
  function openOne(onReady) {
    let text = "";
    let current;
    open += 1;
    // Of an IPv6 address without its brackets.
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const socket = connectTo({ host, port: Number(port), noDelay: true }, () => onReady(send));
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
      const answer = parse(text);
      if (answer === undefined) return;
      text = "";
      // The server closes a connection idle for long, with a 408.
      if (current === undefined) return;
      note(current, answer, performance.now());
      current = undefined;
      underWay -= 1;
      if (fresh) socket.destroy();
      else onReady(send);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      open -= 1;
      const at = idle.indexOf(send);
      if (at !== -1) idle.splice(at, 1);
      if (current !== undefined) {
        underWay -= 1;
        received.broken += 1;
      }
      if (!fresh && performance.now() < end) openOne(onReady);
    });
    function send(number, due) {
      current = { number, due };
      underWay += 1;
      socket.write(texts[number % texts.length](number));
    }
    return socket;
  }

  function note({ number, due }, { status, headers, body }, now) {
    const latency = now - due;
    if (status === 200 && isWhole(body)) {
      received.accepted.push(latency);
      received.numbers.push(number);
      received.doneAt.push(now - started);
    } else if (status === 503 && /^retry-after: \d+\r?$/im.test(headers)) received.rejected.push(latency);
    else if (received.wrong.length < 10) received.wrong.push(`${status} ${body.slice(0, 300)}`);
    else received.wrong.length += 1;
  }

  const isClosedLoop = perSecond === Number.POSITIVE_INFINITY;
  const ready = (send) => {
    if (isClosedLoop && performance.now() < end) send(first + received.offered++, performance.now());
    else idle.push(send);
  };
  const sockets = fresh ? [] : Array.from({ length: connections }, () => openOne(ready));
  while (performance.now() < end) {
    const now = performance.now();
    // The first is due at once: a request that waited for the next one's time would seem slower by that much.
    const due = isClosedLoop ? 0 : Math.floor(((now - started) / 1_000) * perSecond) + 1;
    for (; received.offered < due; received.offered += 1) {
      const dueAt = started + (received.offered / perSecond) * 1_000;
      const number = first + received.offered;
      if (fresh && open < connections) openOne((send) => send(number, dueAt));
      else {
        const send = idle.pop();
        if (send === undefined) received.unsent += 1;
        else send(number, dueAt);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const patience = performance.now() + LAST_ANSWERS_MS;
  while (underWay > 0 && performance.now() < patience) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const socket of sockets) socket.destroy();
  return { ...received, unanswered: underWay };
}

function textOf({ method, path, headers = {}, body = "" }) {
  const head = [`${method} ${path} HTTP/1.1`, "host: bench"];
  for (const [name, value] of Object.entries(headers)) head.push(`${name}: ${value}`);
  const parts = body.split("#");
  return (number) => {
    const content = parts.join(String(number));
    return `${head.join("\r\n")}\r\ncontent-length: ${content.length}\r\n\r\n${content}`;
  };
}

/** Undefined while the response is incomplete. */
function parse(text) {
  const split = text.indexOf("\r\n\r\n");
  if (split === -1) return undefined;
  const headers = text.slice(0, split);
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(headers)?.[1] ?? 0);
  const body = text.slice(split + 4);
  return body.length < length ? undefined : { status: Number(text.slice(9, 12)), headers, body };
}

/** Whether the response is complete JSON. */
function isWhole(body) {
  return body.startsWith("{") && body.endsWith("}");
}
