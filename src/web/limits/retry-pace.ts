/**
 * Holds back who was told to come back later and asks again at once: the connection of a refusal is read again when a
 * refusal's time has passed, so that a server makes so many a second and no more. To refuse costs half as much as to
 * serve. With a thousand connections that asked again and again, all of it went into refusing them, and of what was
 * accepted a twentieth was left.
 *
 * Few are held back for next to nothing, a flood for a second at most: less than its answers had asked it to wait.
 *
 * A proxy's connection carries the requests of others too, so it is read on, and the refusal itself is sent later.
 */
import { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

const PER_SECOND = 1_000;
const LONGEST_MS = 1_000;
/** Refusals that are sent later, some 10 KB each. */
const MOST_DELAYED = 4_000;
/** Too many of the caller's own, and more of all callers' than can be taken on. */
const COME_BACK: ReadonlySet<number> = new Set([429, 503]);

export class RetryPace {
  readonly #now: () => number;
  /** When the last one that is held back is read again. */
  #until = Number.NEGATIVE_INFINITY;
  #delayed = 0;

  /** `now` answers milliseconds that only ever pass. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** For how many milliseconds the connection of one more refusal is not read. */
  next(): number {
    const now = this.#now();
    const wait = Math.max(this.#until - now, 0);
    this.#until = now + Math.min(wait + 1_000 / PER_SECOND, LONGEST_MS);
    return wait;
  }

  /** Told of each answer when it is written. */
  answered(status: number, socket: Socket): void {
    if (!COME_BACK.has(status)) return;
    const wait = this.next();
    // Timers are no finer; and a request that was not sent over a connection has none.
    if (wait < 1 || !(socket instanceof Socket)) return;
    // Not before the rest of the refused request was thrown away, for which it is read. Only then is it known when to read
    // again: a timer that was set here could be over before, and the connection would be held back for ever.
    setImmediate(() => {
      socket.pause();
      setTimeout(() => socket.resume(), wait).unref();
    });
  }

  /** Sends an answer, a refusal when it is due. */
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

/** Holds back whoever asks a server again too soon. `isShared` tells the addresses whose connections are those of many. */
export function paceRetries(
  server: Pick<FastifyInstance, "addHook">,
  isShared: (address: string) => boolean,
  pace = new RetryPace(),
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
