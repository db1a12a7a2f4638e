/**
 * Responses that are complete and not yet received by their callers. They are kept in memory, so a slow caller holds our
 * memory. Both are bounded, memory and time.
 *
 * A caller may have as much unread as there is room left. If that is less than its fair share (the room divided by the
 * callers), the caller with the most unread bytes loses its oldest connections instead. Anything beyond is rejected: before any
 * work if no room is left, otherwise when the size is known. Unauthenticated callers have separate room, so that they cannot
 * take that of API clients, however many addresses they have. A response has to be read at a minimum rate; otherwise its
 * connection is closed.
 */
import { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { onceClosed } from "./tracked-response.ts";

export interface UnsentBounds {
  /** Bytes, of all callers together. */
  readonly most: number;
  /** How long any response may take, whatever its size. */
  readonly graceMs: number;
  /** The minimum rate after that. The time behind other responses on the connection counts. */
  readonly bytesPerSecond: number;
}

const BOUNDS: UnsentBounds = {
  most: 64 * 1024 * 1024,
  graceMs: 20_000,
  bytesPerSecond: 32 * 1024,
};
const MOST_UNAUTHENTICATED = 32 * 1024 * 1024;
const CHECK_EVERY_MS = 5_000;

/** Responses up to this size are never rejected: problems have to reach their caller, and so do most single records. */
const SMALL_BYTES = 4 * 1024;
interface Unsent {
  readonly caller: string;
  readonly bytes: number;
  readonly dueAt: number;
  readonly cutOff: () => void;
}

export class UnsentResponses {
  readonly #bounds: UnsentBounds;
  readonly #now: () => number;
  /** Unsent bytes by caller. */
  readonly #waiting = new Map<string, number>();
  readonly #unsent = new Set<Unsent>();
  #bytes = 0;

  /** @param now monotonic, in milliseconds */
  constructor(bounds: UnsentBounds = BOUNDS, now: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /** Unsent bytes of all callers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether one more response of this size is within the bounds; without a size, of any. */
  hasRoomFor(caller: string, bytes = SMALL_BYTES + 1): boolean {
    return bytes <= SMALL_BYTES || this.#fits(caller, bytes) || this.#callerToDisplace(caller, bytes) !== undefined;
  }

  /** The same. Closes connections of callers above their fair share if that makes the room. */
  makeRoomFor(caller: string, bytes: number): boolean {
    if (bytes <= SMALL_BYTES || this.#fits(caller, bytes)) return true;
    if (this.#callerToDisplace(caller, bytes) === undefined) return false;
    while (bytes > this.#bounds.most - this.#bytes) {
      const greatest = this.#callerToDisplace(caller, bytes);
      const oldest = [...this.#unsent].find((answer) => answer.caller === greatest);
      if (oldest === undefined) return false;
      this.#remove(oldest);
      oldest.cutOff();
    }
    return true;
  }

  #fits(caller: string, bytes: number): boolean {
    return this.#of(caller) + bytes <= this.#bounds.most - this.#bytes;
  }

  /** The caller with the most unread bytes, when this one is within its fair share and that one is not. */
  #callerToDisplace(caller: string, bytes: number): string | undefined {
    const callers = this.#waiting.size + (this.#waiting.has(caller) ? 0 : 1);
    const share = this.#bounds.most / callers;
    if (this.#of(caller) + bytes > share) return undefined;
    let greatest: string | undefined;
    let most = share;
    for (const [other, unread] of this.#waiting) {
      if (other === caller || unread <= most) continue;
      [greatest, most] = [other, unread];
    }
    return greatest;
  }

  /** Counts a response. `cutOff` is called when it takes too long. @returns a function that ends the count */
  add(caller: string, bytes: number, cutOff: () => void): () => void {
    const { graceMs, bytesPerSecond } = this.#bounds;
    const answer = { caller, bytes, dueAt: this.#now() + graceMs + (bytes / bytesPerSecond) * 1_000, cutOff };
    this.#unsent.add(answer);
    this.#note(caller, bytes);
    return () => this.#remove(answer);
  }

  #remove(answer: Unsent): void {
    if (this.#unsent.delete(answer)) this.#note(answer.caller, -answer.bytes);
  }

  /** Cuts off responses that are overdue. @returns their number */
  cutOffSlow(): number {
    const now = this.#now();
    const late = [...this.#unsent].filter(({ dueAt }) => dueAt <= now);
    for (const { cutOff } of late) cutOff();
    return late.length;
  }

  #of(caller: string): number {
    return this.#waiting.get(caller) ?? 0;
  }

  #note(caller: string, bytes: number): void {
    this.#bytes += bytes;
    const waiting = this.#of(caller) + bytes;
    if (waiting === 0) this.#waiting.delete(caller);
    else this.#waiting.set(caller, waiting);
  }
}

/** The unsent responses of a server: to API clients, and to callers without a token. */
export interface UnsentByAccess {
  readonly ofClients: UnsentResponses;
  readonly ofUnauthenticated: UnsentResponses;
}

export const createUnsentResponses = (): UnsentByAccess => ({
  ofClients: new UnsentResponses(),
  ofUnauthenticated: new UnsentResponses({ ...BOUNDS, most: MOST_UNAUTHENTICATED }),
});

export interface Bounding {
  readonly all: UnsentByAccess;
  readonly groupOf: (request: FastifyRequest) => UnsentResponses;
  readonly callerOf: (request: FastifyRequest) => string;
  /** The error for a caller whose response exceeds the bounds. */
  readonly rejection: () => Error;
  readonly checkEveryMs?: number;
  /** Called with the number of connections closed because their responses were read too slowly. */
  readonly onCutOff?: ((count: number) => void) | undefined;
}

/** Bounds the unsent responses of a server. */
export function boundResponses(
  server: Pick<FastifyInstance, "addHook">,
  { all, groupOf: answersOf, callerOf, rejection, checkEveryMs = CHECK_EVERY_MS, onCutOff = () => undefined }: Bounding,
): void {
  server.addHook("onSend", (request, reply, payload, done) => {
    // The response is all that is kept of a request until it is read: the values of a body take many times its bytes.
    request.body = undefined;
    const bytes = sizeOf(payload);
    const { socket } = request.raw;
    // A request that was not sent over a connection has none.
    if (bytes === 0 || !(socket instanceof Socket)) return done();
    const caller = callerOf(request);
    const answers = answersOf(request);
    if (!answers.makeRoomFor(caller, bytes)) return done(rejection());
    // A text that waits takes two bytes for each unit, or three, and TLS keeps it in both forms. Bytes are what was counted.
    const sent = typeof payload === "string" && bytes > SMALL_BYTES ? Buffer.from(payload) : payload;
    // The caller may have gone while its request waited.
    onceClosed(
      reply.raw,
      answers.add(caller, bytes, () => socket.destroy()),
    );
    done(null, sent);
  });
  const timer = setInterval(() => {
    const count = all.ofClients.cutOffSlow() + all.ofUnauthenticated.cutOffSlow();
    if (count > 0) onCutOff(count);
  }, checkEveryMs).unref();
  server.addHook("onClose", (_server, done) => {
    clearInterval(timer);
    done();
  });
}

/** In bytes. Zero for a stream, which is read as it is sent. */
function sizeOf(payload: unknown): number {
  return typeof payload === "string" || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
}
