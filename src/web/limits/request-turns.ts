/**
 * Spreads requests that arrive together over turns of the event loop, and takes them in turn by caller. Node hands over all
 * requests that a turn has read from its connections before it looks at anything else, and accepts one new connection in a
 * turn: without this, a hundred connections of one caller would make all others wait for a hundred requests, again and
 * again. What waits is bounded by the connections and by how many requests each may have unanswered: when a connection ends,
 * its requests are forgotten. They would take memory and turns, from a caller that opens the next one at once.
 */
import type { ServerResponse } from "node:http";
import { QueuesInTurn } from "../../std/queues-in-turn.ts";
import { queueKey } from "./address.ts";

/** What a turn takes, in writes: some milliseconds of work, of which others wait for two or three until they are answered. */
const PER_TURN = 8;

/**
 * What takes a turn for itself waits while shorter work does, but for one turn in so many: a caller with a long query in each
 * turn would leave one request of a turn to all others, who may share an address.
 */
const TURNS_OF_LONG = 4;

/** In writes, which arrive together to go into one batch of the ledger. */
export const WRITE_COST = 1;
/** From here to its answer a read occupies the thread for as long as four writes are until they are in their batch. */
export const READ_COST = 4;

/** Of what is long: a body of 64 KiB is read, decrypted, parsed and checked, and has a turn for itself. */
export const byteCost = (bytes: number): number => bytes / 512;

interface Waiting {
  readonly cost: number;
  /** Undefined once its caller has gone. */
  work: (() => void) | undefined;
}

type Response = Pick<ServerResponse, "destroyed" | "once" | "off">;

export class RequestTurns {
  /** By caller: what shares a turn, and what takes one for itself. */
  readonly #short = new QueuesInTurn<string, Waiting>();
  readonly #long = new QueuesInTurn<string, Waiting>();
  #left = PER_TURN;
  #turnsSinceLong = 0;
  #next: NodeJS.Immediate | undefined;

  /**
   * Runs the work at once if nothing waits and the turn has room, else in one of the next turns.
   * @param response once it has been closed the work is not run any more
   */
  run(caller: string, cost: number, work: () => void, response?: Response): void {
    if (response?.destroyed === true) return;
    this.#next ??= setImmediate(() => this.#turn());
    if (this.#short.size === 0 && this.#long.size === 0 && this.#left > 0) {
      this.#left -= cost;
      work();
      return;
    }
    const forget = (): void => {
      waiting.work = undefined;
    };
    const begin = (): void => {
      response?.off("close", forget);
      work();
    };
    const waiting: Waiting = { cost, work: begin };
    response?.once("close", forget);
    (cost > PER_TURN ? this.#long : this.#short).add(caller, waiting);
  }

  /** Runs what costs as much as a read, such as a rejection, in the turn of the address that it comes from. */
  runRead(address: string, work: () => void, response?: Response): void {
    this.run(queueKey(address), READ_COST, work, response);
  }

  #turn(): void {
    this.#next = undefined;
    this.#left = PER_TURN;
    this.#turnsSinceLong += 1;
    while (this.#left > 0) {
      const isTurnOfLong = this.#short.size === 0 || this.#turnsSinceLong >= TURNS_OF_LONG;
      const queues = isTurnOfLong && this.#long.size > 0 ? this.#long : this.#short;
      if (queues.size === 0) return;
      const next = queues.next(({ work }) => work === undefined);
      if (queues === this.#long && next !== undefined) this.#turnsSinceLong = 0;
      this.#left -= next?.cost ?? 0;
      next?.work?.();
    }
    this.#next ??= setImmediate(() => this.#turn());
  }
}
