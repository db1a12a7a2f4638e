/**
 * Follows the matches of one market by their ids: within a market these are in the order of commits, so what is behind
 * the last one is all that is new.
 */
import type { ExecutionId } from "../execution.ts";
import { NO_EXECUTION } from "../execution-id.ts";
import type { Match } from "../market-data/store.ts";
import { Audience } from "./audience.ts";

/** The last match of a market, if there was one. */
export interface LastMatch {
  readonly last: Match | undefined;
}

export class MatchFollower {
  /** Told of new matches in their order; of none when the last one is known from now on. */
  readonly audience = new Audience<readonly Match[] | undefined>();
  #state: LastMatch | undefined;

  /** Undefined until it was read. */
  get state(): LastMatch | undefined {
    return this.#state;
  }

  /** The id behind which matches are looked for; undefined when the last one has to be read. */
  get after(): ExecutionId | undefined {
    return this.#state && (this.#state.last?.id ?? NO_EXECUTION);
  }

  /** The last match as it was read. */
  read(last: Match | undefined): void {
    this.#state = { last };
    this.audience.notify(undefined);
  }

  take(matches: readonly Match[]): void {
    const last = matches.at(-1);
    if (last === undefined) return;
    this.#state = { last };
    this.audience.notify(matches);
  }
}
