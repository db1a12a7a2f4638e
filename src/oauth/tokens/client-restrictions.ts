/**
 * What has to be known of clients while their tokens live. A token is valid by its signature alone, so every node keeps
 * a list of the clients that were disabled while a token of theirs may still live, and of those that may only call from
 * some networks. It is read whole each time: it is short, and a part of it could be missed.
 */
import type { Clients } from "../../customers/clients/clients.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { isWithin, type Network } from "../../std/network.ts";
import { TOKEN_LIFE_SECONDS } from "../keys/signing-keys.ts";

/** Tokens of clients that were disabled before this are dead; ten minutes are for clocks that disagree. */
const LOOK_BACK_MS = TOKEN_LIFE_SECONDS * 1_000 + 10 * 60_000;

export interface ClientRestrictionsOptions {
  readonly clients: Pick<Clients, "listRestricted">;
  readonly clock: Clock;
}

export class ClientRestrictions {
  readonly #clients: ClientRestrictionsOptions["clients"];
  readonly #clock: Clock;
  /** By client; whoever is not here may call from anywhere. A disabled client may call from nowhere. */
  #networks: ReadonlyMap<string, () => readonly Network[]> = new Map();

  constructor({ clients, clock }: ClientRestrictionsOptions) {
    this.#clients = clients;
    this.#clock = clock;
  }

  /** Whether a live token of this client is to be taken from this address. */
  admits(clientId: string, address: string): boolean {
    const networks = this.#networks.get(clientId);
    return networks === undefined || isWithin(networks(), address);
  }

  async read(): Promise<void> {
    const restricted = await this.#clients.listRestricted((this.#clock.now() - LOOK_BACK_MS) as Instant);
    this.#networks = new Map(restricted.map(({ clientId, networks }) => [clientId, networks]));
  }
}
