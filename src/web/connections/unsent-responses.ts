/**
 * Answers that are made and that their readers have not taken yet: they are kept in memory, so a reader that takes its
 * time holds memory of ours. Both are bounded, the memory and the time.
 *
 * A caller may have as much unread as there is room left. A caller below its fair share (the room divided by the callers)
 * that finds less gets it at the expense of the caller with the most unread bytes, whose oldest connections are closed. What
 * exceeds that is rejected: before any work where the room is used up already, and otherwise when the size is known. Strangers
 * have room of their own, so that however many addresses they have, API clients keep theirs. A response has to be read at a
 * minimum rate; its connection is closed when it is not.
 */
import { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";

export interface UnsentBounds {
  /** Bytes of all callers. */
  readonly most: number;
  /** How long an answer may take at any rate. */
  readonly graceMs: number;
  /** At least, past that: of an answer's size, also while it waits behind others of its connection. */
  readonly bytesPerSecond: number;
}

const BOUNDS: UnsentBounds = {
  most: 128 * 1024 * 1024,
  graceMs: 20_000,
  bytesPerSecond: 32 * 1024,
};
const MOST_OF_STRANGERS = 64 * 1024 * 1024;
const CHECK_EVERY_MS = 5_000;

/** As long as these are never refused: a problem has to reach its caller, and so have most records. */
const SMALL_BYTES = 4 * 1024;
/** From here on a text becomes bytes at once: waiting, it would be kept as both. */
const LARGE_BYTES = 64 * 1024;

interface Answer {
  readonly caller: string;
  readonly bytes: number;
  readonly dueAt: number;
  readonly cutOff: () => void;
}

export class UnsentResponses {
  readonly #bounds: UnsentBounds;
  readonly #now: () => number;
  /** The bytes that wait, by caller. */
  readonly #waiting = new Map<string, number>();
  readonly #answers = new Set<Answer>();
  #bytes = 0;

  /** `now` answers milliseconds that only ever pass. */
  constructor(bounds: UnsentBounds = BOUNDS, now: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /** That wait, of all callers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether one more answer of this size may wait for this caller; of any size when none is given. */
  hasRoomFor(caller: string, bytes = SMALL_BYTES + 1): boolean {
    return bytes <= SMALL_BYTES || this.#fits(caller, bytes) || this.#whomToDisplace(caller, bytes) !== undefined;
  }

  /** The same, and closes connections of callers above their fair share where that is what makes the room. */
  makeRoomFor(caller: string, bytes: number): boolean {
    if (bytes <= SMALL_BYTES || this.#fits(caller, bytes)) return true;
    if (this.#whomToDisplace(caller, bytes) === undefined) return false;
    while (bytes > this.#bounds.most - this.#bytes) {
      const greatest = this.#whomToDisplace(caller, bytes);
      const oldest = [...this.#answers].find((answer) => answer.caller === greatest);
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
  #whomToDisplace(caller: string, bytes: number): string | undefined {
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

  /** Keeps account of an answer until the function that it answers is called. `cutOff` is called when it takes too long. */
  add(caller: string, bytes: number, cutOff: () => void): () => void {
    const { graceMs, bytesPerSecond } = this.#bounds;
    const answer = { caller, bytes, dueAt: this.#now() + graceMs + (bytes / bytesPerSecond) * 1_000, cutOff };
    this.#answers.add(answer);
    this.#note(caller, bytes);
    return () => this.#remove(answer);
  }

  #remove(answer: Answer): void {
    if (this.#answers.delete(answer)) this.#note(answer.caller, -answer.bytes);
  }

  /** Cuts off what should have left by now. Answers how many that were. */
  cutOffSlow(): number {
    const now = this.#now();
    const late = [...this.#answers].filter(({ dueAt }) => dueAt <= now);
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

/** What a server keeps: for API clients, and for strangers. */
export interface UnsentByAccess {
  readonly ofClients: UnsentResponses;
  readonly ofStrangers: UnsentResponses;
}

export const createUnsentResponses = (): UnsentByAccess => ({
  ofClients: new UnsentResponses(),
  ofStrangers: new UnsentResponses({ ...BOUNDS, most: MOST_OF_STRANGERS }),
});

export interface Bounding {
  readonly all: UnsentByAccess;
  readonly answersOf: (request: FastifyRequest) => UnsentResponses;
  readonly callerOf: (request: FastifyRequest) => string;
  /** What a caller is told for whose answer there is no room. */
  readonly refusal: () => Error;
  readonly checkEveryMs?: number;
  /** Told of connections that were closed because they took too long to read. */
  readonly onCutOff?: ((count: number) => void) | undefined;
}

/** Bounds what a server keeps for those who do not read. */
export function boundResponses(
  server: Pick<FastifyInstance, "addHook">,
  { all, answersOf, callerOf, refusal, checkEveryMs = CHECK_EVERY_MS, onCutOff = () => undefined }: Bounding,
): void {
  server.addHook("onSend", (request, reply, payload, done) => {
    const bytes = sizeOf(payload);
    const { socket } = request.raw;
    // A request that was not sent over a connection has none.
    if (bytes === 0 || !(socket instanceof Socket)) return done();
    const caller = callerOf(request);
    const answers = answersOf(request);
    if (!answers.makeRoomFor(caller, bytes)) return done(refusal());
    const sent = typeof payload === "string" && bytes > LARGE_BYTES ? Buffer.from(payload) : payload;
    reply.raw.once(
      "close",
      answers.add(caller, sizeOf(sent), () => socket.destroy()),
    );
    done(null, sent);
  });
  const timer = setInterval(() => {
    const count = all.ofClients.cutOffSlow() + all.ofStrangers.cutOffSlow();
    if (count > 0) onCutOff(count);
  }, checkEveryMs).unref();
  server.addHook("onClose", (_server, done) => {
    clearInterval(timer);
    done();
  });
}

/** Of what is known to be bytes; a stream is read as it is sent. */
function sizeOf(payload: unknown): number {
  return typeof payload === "string" || Buffer.isBuffer(payload) ? payload.length : 0;
}
