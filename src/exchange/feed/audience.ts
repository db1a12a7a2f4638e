/** Those who listen to one thing that is followed. It is followed for a while longer than anybody listens. */
import type { Instant } from "../../std/clock.ts";

export type Listener<News> = (news: News) => void;

export class Audience<News> {
  readonly #listeners = new Set<Listener<News>>();
  #leftAt: Instant | undefined;

  join(listener: Listener<News>): void {
    this.#listeners.add(listener);
  }

  leave(listener: Listener<News>, now: Instant): void {
    this.#listeners.delete(listener);
    this.#leftAt = now;
  }

  /** Whether nobody has listened since then. */
  isIdleSince(instant: Instant): boolean {
    return this.#listeners.size === 0 && (this.#leftAt ?? 0) <= instant;
  }

  notify(news: News): void {
    for (const listener of this.#listeners) listener(news);
  }
}
