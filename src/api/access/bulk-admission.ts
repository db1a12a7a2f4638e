/**
 * Admission of bulk requests, which are large. A bulk has a place from its head until its response is made, so that the
 * bodies in memory are bounded; few are parsed and processed at a time. From there on its response is all that is kept
 * (`boundResponses`): who reads it slowly holds up nobody. Each item of an independent bulk is admitted like a write of its
 * own, and a bulk that is one command waits for its turn among such.
 */
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler, onSendHookHandler } from "fastify";
import { must } from "../../std/assert.ts";
import { onceClosed } from "../../web/connections/tracked-response.ts";
import { FairAdmission } from "../../web/limits/fair-admission.ts";
import { callerHasGone, unavailable } from "../problems/problems.ts";
import { callerOf } from "./guard.ts";
import type { AdmitMore } from "./rate-limiting.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** A bulk route, with the bound of its body in place of that of all others. */
    bulk?: { readonly maxValues: number };
  }
  interface FastifyInstance {
    readonly bulkAdmission: BulkAdmission;
  }
}

/** From the head until the response is made: 64 MiB of bodies. A caller with slow bodies holds up only itself. */
const ARRIVING = { most: 128, atOnce: 64, alone: 4, share: 4, shortQueue: 16, expectedMs: 2_000, maxWaitMs: 5_000 };
/** From parsing until the response is made. A body of 1 MiB takes some 10 MB once it is parsed. */
const PROCESSING = { most: 64, atOnce: 16, alone: 4, share: 4, shortQueue: 16, expectedMs: 2_000, maxWaitMs: 5_000 };
/** Bulks that are one command each. One of 1,000 transfers takes as long as several batches of single ones. */
const COMMANDS = { most: 16, atOnce: 2, alone: 2, share: 1, shortQueue: 4, expectedMs: 2_000, maxWaitMs: 5_000 };
/** Items of one bulk that may wait. Those of as many bulks as a caller may have fill a short queue of writes. */
export const ITEMS_WAITING = 32;
/** Bytes of a body that count as a request, before it is parsed. */
const COUNTED_AS_ONE = 1_024;

/** A bulk that has its place, or waits for it. */
interface Arrived {
  readonly reply: FastifyReply;
  /** As how many requests the rate limit has counted it. */
  counted: number;
  /** Each gives one of its places back. */
  readonly leave: (() => void)[];
}

export class BulkAdmission {
  readonly #arriving = new FairAdmission(ARRIVING);
  readonly #processing = new FairAdmission(PROCESSING);
  readonly #commands = new FairAdmission(COMMANDS);
  readonly #writes: FairAdmission;
  readonly #admitMore: AdmitMore;
  readonly #arrived = new WeakMap<FastifyRequest, Arrived>();

  constructor(writes: FairAdmission, admitMore: AdmitMore) {
    this.#writes = writes;
    this.#admitMore = admitMore;
  }

  /** The hook of a bulk route, before the body is read. @throws Problem 503 */
  readonly arrive: onRequestAsyncHookHandler = async (request, reply) => {
    const arrived: Arrived = { reply, counted: 1, leave: [] };
    this.#arrived.set(request, arrived);
    onceClosed(reply.raw, () => leaveAll(arrived));
    await this.#enter(this.#arriving, request, arrived);
  };

  /** The hook of a response that has been made. */
  readonly leave: onSendHookHandler = (request, _reply, _payload, done) => {
    const arrived = this.#arrived.get(request);
    if (arrived !== undefined) leaveAll(arrived);
    done();
  };

  /** Counts a body against the rate limit, and waits until it may be parsed. @throws Problem 429, 503 */
  async parse(request: FastifyRequest, bytes: number): Promise<void> {
    this.#count(request, Math.ceil(bytes / COUNTED_AS_ONE));
    await this.#enter(this.#processing, request, this.#arrivedOf(request));
  }

  /** Counts each item as a request. @throws Problem 429 */
  countItems(request: FastifyRequest, items: number): void {
    this.#count(request, items);
  }

  /** Whether an item would be admitted without waiting. */
  admitsItem(request: FastifyRequest): boolean {
    return this.#writes.admitsAtOnce(callerOf(request));
  }

  /** Runs an item once it is admitted like a write of its own. @returns undefined if it was not */
  item<Value>(request: FastifyRequest, work: () => Promise<Value>): Promise<Value | undefined> {
    return this.#writes.run(callerOf(request), work);
  }

  /** Runs a bulk that is one command. @throws Problem 503 */
  async command<Value>(request: FastifyRequest, work: () => Promise<readonly Value[]>): Promise<readonly Value[]> {
    const values = await this.#commands.run(callerOf(request), work);
    if (values === undefined) throw tooManyBulks();
    return values;
  }

  /** Takes a place until the response is made or the connection is closed. */
  async #enter(turnstile: FairAdmission, request: FastifyRequest, { reply, leave }: Arrived): Promise<void> {
    const caller = callerOf(request);
    if (!(await turnstile.enter(caller))) throw tooManyBulks();
    if (!reply.raw.destroyed) return void leave.push(() => turnstile.leave(caller));
    turnstile.leave(caller);
    throw callerHasGone();
  }

  #count(request: FastifyRequest, requests: number): void {
    const arrived = this.#arrivedOf(request);
    if (requests <= arrived.counted) return;
    this.#admitMore(request, arrived.reply, requests - arrived.counted);
    arrived.counted = requests;
  }

  #arrivedOf(request: FastifyRequest): Arrived {
    return must(this.#arrived.get(request), "a bulk has its place before its body is read");
  }
}

function leaveAll({ leave }: Arrived): void {
  for (const leaveOne of leave.splice(0)) leaveOne();
}

const tooManyBulks = () => unavailable("the service is at capacity: too many bulks are waiting");
