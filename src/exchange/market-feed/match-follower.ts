/**
 * Follows the matches of one market by their ids, which are in commit order within a market: everything after the last
 * one is new.
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

  /** Undefined until it has been read. */
  get state(): LastMatch | undefined {
    return this.#state;
  }

  /** The id after which matches are new; undefined when the last match must be read. */
  get after(): ExecutionId | undefined {
    return this.#state && (this.#state.last?.id ?? NO_EXECUTION);
  }

  read(last: Match | undefined): void {
    this.#state = { last };
    this.listeners.notify(undefined);
  }

  take(matches: readonly Match[]): void {
    const last = matches.at(-1);
    if (last === undefined) return;
    this.#state = { last };
    this.listeners.notify(matches);
  }
}
