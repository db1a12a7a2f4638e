/**
 * Follows the matches of one market by their ids, which are in commit order within a market: everything after the last
 * one is new. In another history of the database the last one may be gone; the ids of later matches are higher all the same,
 * because they begin with the time.
 */
import type { ExecutionId } from "../execution.ts";
import { NO_EXECUTION } from "../execution-id.ts";
import type { Match } from "../market-data/store.ts";
import { Listeners } from "./listeners.ts";

export interface LastMatch {
  readonly last: Match | undefined;
}

export class MatchFollower {
  /** Receives new matches in order, and undefined when the last match has been read. */
  readonly listeners = new Listeners<readonly Match[] | undefined>();
  #state: LastMatch | undefined;
  #isLost = false;

  /** Undefined until it has been read. */
  get state(): LastMatch | undefined {
    return this.#state;
  }

  /** The id after which matches are new; undefined when the last match must be read. */
  get after(): ExecutionId | undefined {
    return this.#isLost ? undefined : this.#state && (this.#state.last?.id ?? NO_EXECUTION);
  }

  read(last: Match | undefined): void {
    const known = this.#state;
    this.#isLost = false;
    // What is new is reported when it is found after the known one.
    if (known !== undefined && (last?.id ?? NO_EXECUTION) > (known.last?.id ?? NO_EXECUTION)) return;
    this.#state = { last };
    if (known === undefined) this.listeners.notify(undefined);
  }

  /** The database has another history now, which may lack the last match. */
  invalidate(): void {
    this.#isLost = this.#state !== undefined;
  }

  take(matches: readonly Match[]): void {
    const last = matches.at(-1);
    if (last === undefined) return;
    this.#state = { last };
    this.listeners.notify(matches);
  }
}
