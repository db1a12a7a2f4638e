/**
 * Requests that are worked on at once: reads and writes have a turnstile each. Whether there is room is looked at before
 * the body is read; a turn is taken when the request is whole and sound, so that a body that trickles in holds up nobody.
 */
import type { FastifyRequest, onRequestHookHandler, RouteHandlerMethod } from "fastify";
import type { UnsentAnswers, UnsentByAccess } from "../../web/connections/unsent-answers.ts";
import { FairAdmission } from "../../web/limits/admission.ts";
import { type Problem, unavailable } from "../problems/problems.ts";
import { callerOf } from "./guard.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** False for what asks nothing of the database. */
    admission?: false;
  }
  interface FastifyRequest {
    /** Ends its turn; null when it has none. */
    leave: (() => void) | null;
  }
}

/** Together fewer than the pool has connections: what the house itself has to read finds some still. */
const READS = { most: 1_000, atOnce: 16, alone: 12, share: 12, shortLine: 128, expectedMs: 250, patienceMs: 2_000 };

/** A list of more records than this is long: the thread is busy with it for milliseconds, and does nothing else meanwhile. */
const SHORT_LIST = 100;

/**
 * One long list for each caller at a time. More would not come sooner, since one thread makes them all, and everybody else
 * would wait for as many of them as are ready at the same moment.
 */
const LONG_READS = { ...READS, atOnce: 4, alone: 1, share: 1 };

/**
 * Alone a customer may fill the ledger's batches. Beside others he has a share that makes small ones: three quarters of what
 * he would get, while those who come between wait for no more than such a batch (docs/decisions/0017).
 */
const WRITES = {
  most: 1_000,
  atOnce: 1_000,
  alone: 256,
  share: 16,
  shortLine: 128,
  expectedMs: 250,
  patienceMs: 2_000,
};

export interface Admissions {
  readonly reads: FairAdmission;
  /** For long lists. */
  readonly longReads: FairAdmission;
  readonly writes: FairAdmission;
}

export const createAdmissions = (): Admissions => ({
  reads: new FairAdmission(READS),
  longReads: new FairAdmission(LONG_READS),
  writes: new FairAdmission(WRITES),
});

/** The turnstile of a read whose query has been validated. */
export function admissionOfRead({ query }: FastifyRequest, { reads, longReads }: Admissions): FairAdmission {
  const { limit = 0 } = (query ?? {}) as { readonly limit?: number };
  return limit > SHORT_LIST ? longReads : reads;
}

/** Refuses whose line is full, before the body is read. */
export function rejectWhenFull(turnstile: FairAdmission): onRequestHookHandler {
  return (request, _reply, done) => {
    if (turnstile.hasRoomFor(callerOf(request))) done();
    else done(atCapacity());
  };
}

/** Refuses who has not read what was answered before, before more is read from the database for him. */
export function rejectUnread(answers: UnsentByAccess): onRequestHookHandler {
  return (request, _reply, done) => {
    if (unsentOf(request, answers).hasRoomFor(callerOf(request))) done();
    else done(tooManyUnread());
  };
}

export function unsentOf({ known }: FastifyRequest, { ofClients, ofStrangers }: UnsentByAccess): UnsentAnswers {
  return known === null ? ofStrangers : ofClients;
}

/** The handler, when it is the caller's turn. */
export function admitted(
  turnstileOf: (request: FastifyRequest) => FairAdmission,
  handler: RouteHandlerMethod,
): RouteHandlerMethod {
  return async function (request, reply) {
    const caller = callerOf(request);
    const turnstile = turnstileOf(request);
    if (!(await turnstile.enter(caller))) throw atCapacity();
    request.leave = () => turnstile.leave(caller);
    try {
      if (reply.raw.destroyed) throw unavailable("nobody waits for the answer any more");
      return await handler.call(this, request, reply);
    } finally {
      releaseAdmission(request);
    }
  };
}

/** From here on the request only waits for something to happen, and keeps nobody from his turn. */
export function releaseAdmission(request: FastifyRequest): void {
  const { leave } = request;
  request.leave = null;
  leave?.();
}

const atCapacity = (): Problem => unavailable("there is more work waiting than can be taken on");

export const tooManyUnread = (): Problem => unavailable("more answers are waiting to be read than can be kept");
