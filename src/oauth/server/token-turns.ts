/** Requests for tokens that are worked on at once, by address: who the client is has yet to be found out. */
import { rateLimitKey } from "../../web/limits/address.ts";
import { FairAdmission } from "../../web/limits/admission.ts";
import { TokenRequestError } from "./token-error.ts";

/**
 * Not many more than the pool has connections: what the house itself has to read waits behind few of them. One address may
 * have more in hand than there can be slow comparisons of secrets, or these would keep all its clients out.
 */
const TURNS = { most: 500, atOnce: 32, alone: 32, share: 24, shortLine: 64, expectedMs: 250, patienceMs: 2_000 };

export class TokenAdmission {
  readonly #turnstile = new FairAdmission(TURNS);

  /** Looked at before the body is read. */
  refusal(address: string): TokenRequestError | undefined {
    return this.#turnstile.hasRoomFor(rateLimitKey(address)) ? undefined : crowded();
  }

  async take<Value>(address: string, work: () => Promise<Value>): Promise<Value | TokenRequestError> {
    const caller = rateLimitKey(address);
    if (!(await this.#turnstile.enter(caller))) return crowded();
    try {
      return await work();
    } finally {
      this.#turnstile.leave(caller);
    }
  }
}

const crowded = (): TokenRequestError =>
  new TokenRequestError("temporarily_unavailable", "the service is at capacity: too many requests are waiting");
