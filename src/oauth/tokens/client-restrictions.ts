/**
 * Restrictions on clients with valid tokens. A token is valid by its signature alone, so every node keeps a list of
 * clients disabled within a token's lifetime, and of clients restricted to networks. The list is short and is read as a
 * whole each time; an incremental read could miss entries.
 */
import type { Clients } from "../../customers/clients/clients.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { isWithin, type Network } from "../../std/network.ts";
import { TOKEN_LIFE_SECONDS } from "../keys/signing-keys.ts";

/** All tokens of clients disabled before this have expired, with ten minutes of clock skew. */
const LOOK_BACK_MS = TOKEN_LIFE_SECONDS * 1_000 + 10 * 60_000;
/** How much faster than time it may pass here, to catch up with a clock that was behind. */
const FASTEST = 1.1;

export interface ClientRestrictionsOptions {
  readonly clients: Pick<Clients, "listRestricted">;
  readonly clock: Clock;
  /** Of a monotonic clock. */
  readonly elapsedMs?: () => number;
}

export class ClientRestrictions {
  readonly #clients: ClientRestrictionsOptions["clients"];
  readonly #clock: Clock;
  readonly #elapsedMs: () => number;
  #last: { readonly at: Instant; readonly elapsedMs: number } | undefined;
  /** By client. Absent: allowed from anywhere. Disabled: allowed from nowhere. */
  #networks: ReadonlyMap<string, () => readonly Network[]> = new Map();

  constructor({ clients, clock, elapsedMs = () => performance.now() }: ClientRestrictionsOptions) {
    this.#clients = clients;
    this.#clock = clock;
    this.#elapsedMs = elapsedMs;
  }

  /** Whether a valid token of this client is accepted from this address. */
  admits(clientId: string, address: string): boolean {
    const networks = this.#networks.get(clientId);
    return networks === undefined || isWithin(networks(), address);
  }

  async read(): Promise<void> {
    const restricted = await this.#clients.listRestricted((this.#steadyNow() - LOOK_BACK_MS) as Instant);
    this.#networks = new Map(restricted.map(({ clientId, networks }) => [clientId, networks]));
  }

  /** Does not jump ahead: when the clock is right again, tokens are valid that had expired by it. */
  #steadyNow(): Instant {
    const elapsedMs = this.#elapsedMs();
    const latest =
      this.#last === undefined
        ? Number.POSITIVE_INFINITY
        : this.#last.at + FASTEST * (elapsedMs - this.#last.elapsedMs);
    const at = Math.floor(Math.min(this.#clock.now(), latest)) as Instant;
    this.#last = { at, elapsedMs };
    return at;
  }
}
