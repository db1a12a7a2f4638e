/**
 * The load generator of all rows: raw keep-alive sockets with one request in flight each, and prebuilt request text. It
 * shares the machine with what it measures, so it has to be cheap.
 *
 *   closed loop   each connection sends its next request after the previous response: maximum throughput.
 *   open loop     requests are due at fixed times. Latency counts from the due time, so waiting for a free connection is
 *                 included.
 *
 * Any response other than 2xx ends the run, except 503, by which an overloaded service sheds load: these are counted
 * separately, as long as there are more successes.
 */
import { connect } from "node:net";
import { createHistogram } from "node:perf_hooks";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";

const BUFFER_BYTES = 65_536;
/** Due requests without a connection. More than this means that the rate is too high. */
const MOST_IN_LINE = 20_000;
/** The inaccuracy of Node timers; shorter waits spin the event loop. */
const TIMER_MS = 1.5;
/** Back off after a 503, or the service would do nothing but send 503s. */
const SHED_PAUSE_MS = 50;
/** How long to wait for the last responses. */
const LAST_ANSWERS_MS = 30_000;
/** Above this rate spinning would use a whole core, so requests are sent in small groups. */
const MOST_EXACT_PER_SECOND = 500;
const HEAD_END = "\r\n\r\n";

/** Makes requests of one kind: `requestTo(url, "POST", path, headers)(body)` is the text that goes over the wire. */
export function requestTo(url, method, path, headers) {
  const { host } = new URL(url);
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${own.join("")}`;
  return (body = "") => (method === "GET" ? `${head}\r\n` : `${head}content-length: ${body.length}${HEAD_END}${body}`);
}

/** For so many seconds, or so many requests if these are fewer. `next` gives the text of each request; ASCII alone. */
export async function closedLoop(url, { connections, seconds, requests = Infinity, next }) {
  const run = await Run.open(url, connections);
  const end = performance.now() + seconds * 1_000;
  let left = requests;
  const again = (connection) => {
    if (left <= 0 || performance.now() >= end) return;
    left -= 1;
    run.send(connection, next(), performance.now());
  };
  run.start(again);
  for (const connection of run.connections) again(connection);
  return run.finished(seconds * 1_000);
}

/** `rate` requests a second. */
export async function openLoop(url, { connections, seconds, rate, next }) {
  const run = await Run.open(url, connections);
  const free = [...run.connections];
  const line = [];
  run.start((connection) => {
    const due = line.shift();
    if (due === undefined) free.push(connection);
    else run.send(connection, next(), due);
  });
  const began = performance.now();
  for (let sent = 0; sent < rate * seconds && run.failure === undefined; sent += 1) {
    const due = began + (sent * 1_000) / rate;
    await until(due, rate <= MOST_EXACT_PER_SECOND);
    const connection = free.pop();
    if (connection !== undefined) run.send(connection, next(), due);
    else if (line.push(due) > MOST_IN_LINE)
      run.fail(new Error(`${rate} requests/s are more than the service can handle`));
  }
  return run.finished();
}

async function until(due, exactly) {
  for (let left = due - performance.now(); left > 0; left = due - performance.now()) {
    if (!exactly) await pause(1);
    else if (left > TIMER_MS) await pause(left - TIMER_MS);
    else await turn();
  }
}

/** One round of load on its connections, from the first request until the last answer. */
class Run {
  connections = [];
  failure;
  #answered = 0;
  #rejected = 0;
  #underWay = 0;
  #times = createHistogram({ figures: 3, highest: 3_600_000_000 });
  #onFree;
  #began = 0;
  #last = 0;
  #cpu;
  #isEnding = false;
  #done = withResolvers();

  static async open(url, count) {
    const { hostname, port } = new URL(url);
    const run = new Run();
    // A failure is reported by `finished`, which may not be waiting yet.
    run.#done.promise.catch(() => undefined);
    run.connections = await Promise.all(Array.from({ length: count }, () => run.#connection({ hostname, port })));
    return run;
  }

  start(onFree) {
    this.#onFree = onFree;
    this.#cpu = process.cpuUsage();
    this.#began = performance.now();
  }

  send(connection, request, since) {
    connection.since = since;
    this.#underWay += 1;
    connection.socket.write(request, "latin1");
  }

  /**
   * When nothing is under way any more; more may be sent for so long. Times in milliseconds, CPU in microseconds for each
   * answer.
   */
  async finished(sendingMs = 0) {
    this.#isEnding = true;
    if (this.#underWay === 0) this.#done.resolve();
    const late = () => this.fail(new Error(`${this.#underWay} requests got no response`));
    const timer = setTimeout(late, sendingMs + LAST_ANSWERS_MS);
    await this.#done.promise.finally(() => {
      clearTimeout(timer);
      for (const { socket } of this.connections) socket.destroy();
    });
    if (this.#rejected > this.#answered) throw new Error(`${this.#rejected} requests were rejected with 503`);
    const { user, system } = process.cpuUsage(this.#cpu);
    const seconds = (this.#last - this.#began) / 1_000;
    const quantile = (percent) => this.#times.percentile(percent) / 1_000;
    return {
      answered: this.#answered,
      rejected: this.#rejected,
      seconds,
      perSecond: this.#answered / seconds,
      p50: quantile(50),
      p99: quantile(99),
      p999: quantile(99.9),
      loadCpu: (user + system) / this.#answered,
    };
  }

  #connection({ hostname, port }) {
    return new Promise((resolve, reject) => {
      const connection = { socket: undefined, since: 0 };
      const answers = new Answers((status, head) => this.#answer(connection, status, head));
      const callback = (bytes, buffer) => {
        answers.take(buffer.latin1Slice(0, bytes));
        return true;
      };
      const onread = { buffer: Buffer.alloc(BUFFER_BYTES), callback };
      connection.socket = connect({ host: hostname, port: Number(port), noDelay: true, onread });
      connection.socket.once("connect", () => resolve(connection));
      connection.socket.once("error", (error) => {
        reject(error);
        this.fail(error);
      });
      connection.socket.once("close", () => this.fail(new Error("the server closed a connection")));
    });
  }

  #answer(connection, status, head) {
    this.#last = performance.now();
    if (status === 503) {
      this.#rejected += 1;
      setTimeout(() => this.#free(connection), SHED_PAUSE_MS);
    } else if (status < 200 || status > 299) this.fail(new Error(`unexpected response: ${head}`));
    else {
      this.#answered += 1;
      this.#times.record(Math.max(1, Math.round((this.#last - connection.since) * 1_000)));
      this.#free(connection);
    }
  }

  #free(connection) {
    if (this.failure !== undefined) return;
    this.#underWay -= 1;
    this.#onFree(connection);
    if (this.#isEnding && this.#underWay === 0) this.#done.resolve();
  }

  fail(error) {
    this.failure ??= error;
    this.#done.reject(error);
  }
}

/** Splits the bytes of a connection into responses, parsing status and length only. */
class Answers {
  #onAnswer;
  #head = "";
  /** Of the body that is coming in. */
  #left = 0;
  #status = 0;

  constructor(onAnswer) {
    this.#onAnswer = onAnswer;
  }

  take(text) {
    if (this.#left > 0) {
      this.#left -= text.length;
      if (this.#left === 0) this.#onAnswer(this.#status, "");
      return;
    }
    const head = this.#head + text;
    const end = head.indexOf(HEAD_END);
    this.#head = end < 0 ? head : "";
    if (end < 0) return;
    this.#status = Number(head.slice(9, 12));
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    // One request is in flight per connection, so nothing follows this response.
    this.#left = length - (head.length - end - HEAD_END.length);
    if (Number.isNaN(this.#left)) throw new Error(`response without Content-Length: ${head}`);
    if (this.#left === 0) this.#onAnswer(this.#status, this.#status > 299 ? head : "");
  }
}

/** As `Promise.withResolvers`, which Node 20 does not have. */
function withResolvers() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}
