/**
 * Admission control of the API: reads and writes have a fair queue each, by caller. Capacity is checked before the body
 * is read. The request enters the queue once its body is complete and valid, so that a slow body occupies no slot.
 */
import type { FastifyRequest, onRequestHookHandler, RouteHandlerMethod } from "fastify";
import type { ThreadLoad } from "../../std/thread-load.ts";
import type { UnsentByAccess, UnsentResponses } from "../../web/connections/unsent-responses.ts";
import { FairAdmission } from "../../web/limits/fair-admission.ts";
import { TimeShares } from "../../web/limits/time-shares.ts";
import { callerHasGone, type Problem, unavailable } from "../problems/problems.ts";
import { serializePage } from "../requests/serialize-page.ts";
import { callerOf } from "./guard.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** False for routes that do not use the database. */
    admission?: false;
    /** Whether a list with this query may have to walk through all records of its caller, because no index has its filters. */
    walks?: (query: Readonly<Record<string, unknown>>) => boolean;
  }
  interface FastifyRequest {
    /** Releases the request's slot; null when it has none. */
    leave: (() => void) | null;
    /** Takes a slot again after `releaseAdmission`. @throws Problem as when the request was admitted first */
    enterAgain: (() => Promise<void>) | null;
  }
}

/**
 * Look-ups, short lists and long reads together use no more connections than the pool has. A caller has few of them: the
 * database shares its cores among all, and with them the ledger's batches, which are one at a time.
 */
const READS = { most: 1_000, atOnce: 10, alone: 6, share: 4, shortQueue: 128, expectedMs: 250, maxWaitMs: 2_000 };

/**
 * Some at a time, or who asks for many short lists would wait for its own while others keep the thread busy. While it is busy
 * the lists of a caller that has one after the other come after rests (`TimeShares`), or they would take most of the thread:
 * a record may have ten kilobytes of notes, so that twenty take it as long as a hundred look-ups.
 */
const SHORT_LISTS = { ...READS, atOnce: 6, alone: 3, share: 3 };
const MOST_OF_SHORT = 25;

/**
 * One longer list at a time for each caller, and one that may read all of its records to find one, with rests too. One thread
 * serialises lists, and the database shares its cores among walks: more would not finish sooner, and would block every other
 * caller.
 */
const LONG_READS = { ...READS, atOnce: 4, alone: 1, share: 1 };

/**
 * Bodies above 4 KiB, complete and not parsed yet. Each is parsed and checked in one piece, so they rest as lists do. Those that
 * wait hold up to 64 KiB each, also when their caller has gone: a thousand.
 */
const LARGE_BODIES = { ...READS, atOnce: 16, alone: 1, share: 1, expectedMs: 2_000 };

/**
 * A customer alone may fill the ledger's batches. Beside others its share makes small batches: it keeps three quarters
 * of its throughput, and the others wait for no more than one such batch (docs/decisions/0017).
 */
const WRITES = {
  most: 1_000,
  atOnce: 1_000,
  alone: 256,
  share: 12,
  shortQueue: 128,
  expectedMs: 250,
  maxWaitMs: 2_000,
};

export interface Admissions {
  readonly reads: FairAdmission;
  readonly shortLists: FairAdmission;
  /** For longer lists, and those that walk. */
  readonly longReads: FairAdmission;
  readonly writes: FairAdmission;
  readonly largeBodies: FairAdmission;
}

export function createAdmissions(load?: Pick<ThreadLoad, "utilization">): Admissions {
  // One for all: a caller with lists and large bodies at once would take the shares of two.
  const rests = new TimeShares(load);
  return {
    reads: new FairAdmission(READS),
    shortLists: new FairAdmission({ ...SHORT_LISTS, rests }),
    longReads: new FairAdmission({ ...LONG_READS, rests }),
    writes: new FairAdmission(WRITES),
    largeBodies: new FairAdmission({ ...LARGE_BODIES, rests }),
  };
}

/** The queue of a read. Its query must have been validated. */
export function admissionOfRead(request: FastifyRequest, { reads, shortLists, longReads }: Admissions): FairAdmission {
  const { limit = 0 } = (request.query ?? {}) as { readonly limit?: number };
  if (limit > MOST_OF_SHORT || mayWalk(request)) return longReads;
  return limit > 1 ? shortLists : reads;
}

function mayWalk({ query, routeOptions }: FastifyRequest): boolean {
  const filters = (query ?? {}) as Readonly<Record<string, unknown>>;
  // Of many values of a filter the database may think that some record will have one soon, and walk.
  const hasMany = Object.values(filters).some((value) => Array.isArray(value) && value.length > 1);
  return hasMany || routeOptions.config.walks?.(filters) === true;
}

/** More than a page takes while nothing else runs: rows read, items made, serialised and sent. */
const PAGE_MS = 1;
const PAGE_MS_PER_KIB = 0.1;

/**
 * What a read may be said to have taken at most. While others keep the thread busy every request takes longer, and one that
 * did not cause that must not rest for it. What a walk takes of the database shows only in its time.
 */
function mostMsOf(request: FastifyRequest, sent: unknown): number {
  const isPage = typeof sent === "string" || Buffer.isBuffer(sent);
  return isPage && !mayWalk(request) ? PAGE_MS + (PAGE_MS_PER_KIB * sent.length) / 1_024 : Number.POSITIVE_INFINITY;
}

/** Whether a query has several of these filters, each of which has an index of its own: all that one finds are looked at. */
export const isBySeveral = (query: Readonly<Record<string, unknown>>, indexed: readonly string[]): boolean =>
  indexed.filter((name) => query[name] !== undefined).length > 1;

/** Rejects a caller whose queue is full, before the body is read. */
export function rejectWhenFull(turnstile: FairAdmission): onRequestHookHandler {
  return (request, _reply, done) => {
    if (turnstile.hasRoomFor(callerOf(request))) done();
    else done(atCapacity());
  };
}

/** Rejects a caller that does not read its earlier responses, before the database is queried for another. */
export function rejectUnread(answers: UnsentByAccess): onRequestHookHandler {
  return (request, _reply, done) => {
    if (unsentOf(request, answers).hasRoomFor(callerOf(request))) done();
    else done(tooManyUnread());
  };
}

export function unsentOf(
  { known }: FastifyRequest,
  { ofClients, ofUnauthenticated: ofStrangers }: UnsentByAccess,
): UnsentResponses {
  return known === null ? ofStrangers : ofClients;
}

/**
 * Wraps a handler: it runs once the caller is admitted.
 * @throws Problem 503 when the wait was too long or the caller is gone
 */
export function admitted(
  turnstileOf: (request: FastifyRequest) => FairAdmission,
  handler: RouteHandlerMethod,
): RouteHandlerMethod {
  return async function (request, reply) {
    const caller = callerOf(request);
    const turnstile = turnstileOf(request);
    let mostMs = Number.POSITIVE_INFINITY;
    request.enterAgain = async () => {
      if (!(await turnstile.enter(caller))) throw atCapacity();
      const startedMs = performance.now();
      request.leave = () => turnstile.leave(caller, Math.min(performance.now() - startedMs, mostMs));
    };
    await request.enterAgain();
    try {
      if (reply.raw.destroyed) throw callerHasGone();
      // Within the slot: what is serialised at once is bounded with what is read at once.
      const sent = await serializePage(await handler.call(this, request, reply), reply);
      mostMs = mostMsOf(request, sent);
      return sent;
    } finally {
      releaseAdmission(request);
    }
  };
}

/** Frees the slot of a request that from here on only waits for an event. */
export function releaseAdmission(request: FastifyRequest): void {
  const { leave } = request;
  request.leave = null;
  leave?.();
}

export const atCapacity = (): Problem => unavailable("the service is at capacity: too many requests are waiting");

export const tooManyUnread = (): Problem => unavailable("too many responses are waiting to be read");
