/**
 * The clients whose live tokens are refused. A token is valid by its signature alone, so every node keeps a list of
 * those that were disabled while a token of theirs may still live, and reads it anew every two seconds.
 *
 * The list is *fresh* for four seconds after the reading of it began. When it is not (the database was slow or away)
 * a request does not rely on it: it waits for a reading of its own, and where that fails the request fails with it. So
 * a disabled client is refused everywhere within four seconds, or nobody is served; and nothing could be done without
 * the database anyway.
 */
import type { Clients } from "../customers/clients.ts";
import { DatabaseAway } from "../postgres/database.ts";
import type { Clock, Instant } from "../std/clock.ts";
import { TOKEN_LIFE_SECONDS } from "./token-life.ts";

const FRESH_MS = 4_000;

/** Tokens of clients that were disabled before this are dead; ten minutes are for clocks that disagree. */
const LOOK_BACK_MS = TOKEN_LIFE_SECONDS * 1_000 + 10 * 60_000;

export interface DisabledClientsOptions {
  readonly clients: Pick<Clients, "listDisabledSince">;
  readonly clock: Clock;
  /** Milliseconds that only ever pass, so that a clock that is set back does not make an old list fresh. */
  readonly elapsed?: () => number;
}

export class DisabledClients {
  readonly #clients: DisabledClientsOptions["clients"];
  readonly #clock: Clock;
  readonly #elapsed: () => number;
  #clientIds: ReadonlySet<string> = new Set();
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor({ clients, clock, elapsed = () => performance.now() }: DisabledClientsOptions) {
    this.#clients = clients;
    this.#clock = clock;
    this.#elapsed = elapsed;
  }

  isFresh(): boolean {
    return this.#elapsed() - this.#readAt < FRESH_MS;
  }

  has(clientId: string): boolean {
    return this.#clientIds.has(clientId);
  }

  /** Answers once the list is fresh. Throws `DatabaseAway` when it cannot be had. */
  async freshen(): Promise<void> {
    if (!this.isFresh()) await this.follow();
    // The reading that was waited for may have begun long ago. A second one began just now.
    if (!this.isFresh()) await this.follow();
    if (!this.isFresh()) throw new DatabaseAway("reading which clients are disabled takes too long");
  }

  /** Reads the list; whoever asks while it is being read waits for the same reading. */
  follow(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const beganAt = this.#elapsed();
    const since = (this.#clock.now() - LOOK_BACK_MS) as Instant;
    this.#clientIds = new Set(await this.#clients.listDisabledSince(since));
    this.#readAt = beganAt;
  }
}
