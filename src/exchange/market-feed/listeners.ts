/** The listeners of one subject. The subject stays active for a while after the last one has left. */
import type { Instant } from "../../std/clock.ts";

export type Listener<News> = (news: News) => void;

export class Listeners<News> {
  readonly #listeners = new Set<Listener<News>>();
  #leftAt: Instant | undefined;

  join(listener: Listener<News>): void {
    this.#listeners.add(listener);
  }

  leave(listener: Listener<News>, now: Instant): void {
    this.#listeners.delete(listener);
    this.#leftAt = now;
  }

  /** Whether there have been no listeners since `instant`. */
  isIdleSince(instant: Instant): boolean {
    return this.#listeners.size === 0 && (this.#leftAt ?? 0) <= instant;
  }

  notify(news: News): void {
    for (const listener of this.#listeners) listener(news);
  }
}
