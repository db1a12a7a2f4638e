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

export interface ClientRestrictionsOptions {
  readonly clients: Pick<Clients, "listRestricted">;
  readonly clock: Clock;
}

export class ClientRestrictions {
  readonly #clients: ClientRestrictionsOptions["clients"];
  readonly #clock: Clock;
  /** By client. Absent: allowed from anywhere. Disabled: allowed from nowhere. */
  #networks: ReadonlyMap<string, () => readonly Network[]> = new Map();

  constructor({ clients, clock }: ClientRestrictionsOptions) {
    this.#clients = clients;
    this.#clock = clock;
  }

  /** Whether a valid token of this client is accepted from this address. */
  admits(clientId: string, address: string): boolean {
    const networks = this.#networks.get(clientId);
    return networks === undefined || isWithin(networks(), address);
  }

  async read(): Promise<void> {
    const restricted = await this.#clients.listRestricted((this.#clock.now() - LOOK_BACK_MS) as Instant);
    this.#networks = new Map(restricted.map(({ clientId, networks }) => [clientId, networks]));
  }
}
