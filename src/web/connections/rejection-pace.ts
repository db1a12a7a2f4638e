/**
 * Limits how fast rejected callers can retry. After a rejection their connection is not read for a while, so that a server
 * sends a limited number of rejections a second. A rejection costs half as much as a response: a thousand connections that
 * retried at once left a twentieth of the throughput for accepted requests.
 *
 * The delay is next to nothing for a few callers and a second at most in a flood, less than `Retry-After`. Most of it is for
 * the network that the flood comes from.
 *
 * The connection of a proxy carries requests of others, so it is read on, and the rejection itself is delayed. So is one that
 * closes its connection: its caller would open another one at once.
 */
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { queueKey } from "../limits/address.ts";
import { holdReading, releaseReading } from "./held-reads.ts";
import { SHORT_BODY_BYTES } from "./last-request.ts";

const PER_SECOND = 1_000;
const PER_SECOND_OF_A_NETWORK = 250;
const ALL = Symbol("all networks");
const LONGEST_MS = 1_000;
const SWEEP_MS = 1_000;
/** Delayed rejections, about 10 KB each. */
const MOST_DELAYED = 4_000;
/** Over the caller's own rate, and over the capacity of the process. */
export const isOverLimit = (status: number): boolean => status === 429 || status === 503;

type RejectedRequest = Pick<IncomingMessage, "socket" | "readableEnded" | "once">;

export class RejectionPace {
  readonly #now: () => number;
  readonly #mostDelayed: number;
  /** When the last delayed connection is read again: of all together, and of each network. */
  readonly #until = new Map<typeof ALL | string, number>();
  #sweptAt = Number.NEGATIVE_INFINITY;
  #delayed = 0;

  /** @param now monotonic, in milliseconds */
  constructor(now: () => number = () => performance.now(), mostDelayed = MOST_DELAYED) {
    this.#now = now;
    this.#mostDelayed = mostDelayed;
  }

  /**
   * @param network of the caller; undefined where many share it
   * @param rejections as how many this one counts
   * @returns for how many milliseconds the connection of one more rejection is not read
   */
  next(network?: string, rejections = 1): number {
    const now = this.#now();
    this.#sweep(now);
    const wait = this.#take(ALL, rejections / PER_SECOND, now);
    return network === undefined
      ? wait
      : Math.max(wait, this.#take(network, rejections / PER_SECOND_OF_A_NETWORK, now));
  }

  /** @returns the wait for those before it */
  #take(of: typeof ALL | string, seconds: number, now: number): number {
    const wait = Math.max((this.#until.get(of) ?? now) - now, 0);
    this.#until.set(of, now + Math.min(wait + seconds * 1_000, LONGEST_MS));
    return wait;
  }

  /**
   * Call when a rejection has been written.
   * @param countOf as how many it counts: called when its request has arrived
   */
  rejected(request: RejectedRequest, network?: string, countOf = (): number => 1): void {
    const { socket } = request;
    const holdBack = (): void => {
      const wait = this.next(network, countOf());
      // Timers are no finer. An injected request has no socket.
      if (wait < 1 || !(socket instanceof Socket)) return;
      holdFor(wait, socket);
    };
    // After Node has discarded the rest of the request, for which it reads the socket: one that is still sent would be cut
    // off, with its rejection.
    if (request.readableEnded) setImmediate(holdBack);
    else request.once("end", () => setImmediate(holdBack));
  }

  /** Sends a rejection after its delay. */
  send(send: () => void, network?: string, rejections = 1): void {
    const wait = this.#delayed < this.#mostDelayed ? this.next(network, rejections) : 0;
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

  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [of, until] of this.#until) if (until <= now) this.#until.delete(of);
  }
}

/** A function of its own: the timer must not keep the request, whose head may have 64 KiB. */
function holdFor(ms: number, socket: Socket): void {
  holdReading(socket);
  setTimeout(() => releaseReading(socket), ms).unref();
}

export interface Pacing {
  /** Addresses that many callers share. */
  readonly isShared: (address: string) => boolean;
  /** Which responses are paced. */
  readonly isPaced: (request: FastifyRequest, status: number) => boolean;
}

/** Paces the retries of a server's rejected callers. */
export function paceRejections(server: Pick<FastifyInstance, "addHook">, { isShared, isPaced }: Pacing): void {
  const pace = new RejectionPace();
  const isDelayed = ({ raw }: FastifyRequest, reply: FastifyReply): boolean =>
    isShared(raw.socket.remoteAddress ?? "") || isLastAnswer(reply);
  const networkOf = ({ ip }: FastifyRequest): string | undefined => (isShared(ip) ? undefined : queueKey(ip));
  server.addHook("onSend", (request, reply, _payload, done) => {
    if (!isPaced(request, reply.statusCode) || !isDelayed(request, reply)) return done();
    const { raw } = request;
    const network = networkOf(request);
    if (!raw.complete) raw.once("end", () => pace.next(network, bodyCount(raw)));
    pace.send(done, network, headCount(raw) + (raw.complete ? bodyCount(raw) : 0));
  });
  server.addHook("onResponse", (request, reply, done) => {
    const { raw } = request;
    if (isPaced(request, reply.statusCode) && !isDelayed(request, reply))
      pace.rejected(raw, networkOf(request), () => headCount(raw) + bodyCount(raw));
    done();
  });
}

/** A request of 64 KiB costs as much as sixteen small ones, also if it is rejected before it is parsed: it has to be read. */
const BYTES_OF_REJECTION = 4_096;
const headCount = ({ url = "" }: IncomingMessage): number => 1 + url.length / BYTES_OF_REJECTION;
/**
 * Call when it has arrived: what is only announced costs nothing. Of a longer body the rest is discarded, and one rejection
 * must not hold back all others.
 */
const bodyCount = ({ headers }: IncomingMessage): number =>
  Math.min(Number(headers["content-length"] ?? 0), SHORT_BODY_BYTES) / BYTES_OF_REJECTION;

/** As the caller asked, or because we end the connection. */
const isLastAnswer = (reply: FastifyReply): boolean =>
  !reply.raw.shouldKeepAlive || reply.getHeader("connection") === "close";
