/**
 * Generated secrets that were valid a short time ago, so that their clients have a rate of their own where others at the
 * same address use up that of the address. Chosen secrets are not remembered: past the rate they could be guessed.
 *
 * This only selects the rate. Each secret is verified all the same.
 */
import { createHmac, randomBytes } from "node:crypto";
import { isGenerated } from "../../customers/clients/clients.ts";
import { LruCache } from "../../std/lru-cache.ts";
import type { TokenEndpointOptions } from "./token-endpoint.ts";

const MOST = 10_000;

export class ProvenSecrets {
  readonly #proven = new LruCache<true>(MOST);
  /** In memory there are hashes keyed per process, no secrets. */
  readonly #hashKey = randomBytes(32);

  has(clientId: string, secret: string): boolean {
    return isGenerated(secret) && this.#proven.get(this.#nameOf(clientId, secret)) !== undefined;
  }

  /** The same clients; what they authenticate is remembered, and forgotten once it is no longer valid. */
  observing(clients: TokenEndpointOptions["clients"]): TokenEndpointOptions["clients"] {
    return {
      authenticate: async (clientId, secret, address) => {
        const client = await clients.authenticate(clientId, secret, address);
        if (client.kind === "done") {
          if (isGenerated(secret)) this.#proven.set(this.#nameOf(clientId, secret), true);
        } else if (client.rejection === "client_authentication_failed") {
          this.#proven.delete(this.#nameOf(clientId, secret));
        }
        return client;
      },
    };
  }

  /** Generated secrets have one length, so no two pairs are the same text. */
  #nameOf(clientId: string, secret: string): string {
    return createHmac("sha256", this.#hashKey).update(`${secret} ${clientId}`).digest("base64");
  }
}
