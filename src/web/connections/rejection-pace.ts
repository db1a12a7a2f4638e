/**
 * Limits how fast rejected callers can retry. After a 429 or 503 their connection is not read for a while, so that a server
 * sends a limited number of rejections a second. A rejection costs half as much as a response: a thousand connections that
 * retried at once left a twentieth of the throughput for accepted requests.
 *
 * The delay is next to nothing for a few callers and a second at most in a flood, less than `Retry-After`.
 *
 * The connection of a proxy carries requests of others, so it is read on, and the rejection itself is delayed.
 */
import { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

const PER_SECOND = 1_000;
const LONGEST_MS = 1_000;
/** Delayed rejections, about 10 KB each. */
const MOST_DELAYED = 4_000;
/** Over the caller's own rate, and over the capacity of the process. */
const COME_BACK: ReadonlySet<number> = new Set([429, 503]);

export class RejectionPace {
  readonly #now: () => number;
  /** When the last delayed connection is read again. */
  #until = Number.NEGATIVE_INFINITY;
  #delayed = 0;

  /** @param now monotonic, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @returns for how many milliseconds the connection of one more rejection is not read */
  next(): number {
    const now = this.#now();
    const wait = Math.max(this.#until - now, 0);
    this.#until = now + Math.min(wait + 1_000 / PER_SECOND, LONGEST_MS);
    return wait;
  }

  /** Call when a response has been written. */
  answered(status: number, socket: Socket): void {
    if (!COME_BACK.has(status)) return;
    const wait = this.next();
    // Timers are no finer. An injected request has no socket.
    if (wait < 1 || !(socket instanceof Socket)) return;
    // After Node has discarded the rest of the request, for which it reads the socket. The timer has to be set then too: set
    // here, it could fire before the pause, and the connection would never be read again.
    setImmediate(() => {
      socket.pause();
      setTimeout(() => socket.resume(), wait).unref();
    });
  }

  /** Sends a response; a rejection after its delay. */
  send(status: number, send: () => void): void {
    const wait = COME_BACK.has(status) && this.#delayed < MOST_DELAYED ? this.next() : 0;
    if (wait < 1) {
      send();
      return;
    }
    this.#delayed += 1;
    setTimeout(() => {
      this.#delayed -= 1;
      send();
    }, wait);
  }
}

/** Paces the rejections of a server. `isShared` is true for addresses that many callers share. */
export function paceRejections(
  server: Pick<FastifyInstance, "addHook">,
  isShared: (address: string) => boolean,
  pace = new RejectionPace(),
): void {
  server.addHook("onSend", (request, reply, _payload, done) => {
    if (isShared(request.raw.socket.remoteAddress ?? "")) pace.send(reply.statusCode, done);
    else done();
  });
  server.addHook("onResponse", (request, reply, done) => {
    const { socket } = request.raw;
    if (!isShared(socket.remoteAddress ?? "")) pace.answered(reply.statusCode, socket);
    done();
  });
}
