import type { Clock, Instant } from "../../../std/clock.ts";

/** Names that expire. Its size is bounded by how many can be added before they do. */
export class ExpiringSet {
  readonly #clock: Clock;
  readonly #forMs: number;
  readonly #until = new Map<string, Instant>();

  constructor(clock: Clock, forMs: number) {
    this.#clock = clock;
    this.#forMs = forMs;
  }

  get isEmpty(): boolean {
    return this.#until.size === 0;
  }

  add(name: string): void {
    this.#until.set(name, (this.#clock.now() + this.#forMs) as Instant);
  }

  has(name: string): boolean {
    return this.#until.has(name);
  }

  /** Also those that were added while the clock was ahead. */
  removeExpired(): void {
    const now = this.#clock.now();
    for (const [name, until] of this.#until) if (until <= now || until > now + this.#forMs) this.#until.delete(name);
  }
}
