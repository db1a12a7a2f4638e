/** Admission control of token requests, by address, because the client is not authenticated yet. */
import { type Check, PASSED, type Result } from "../../std/result.ts";
import { queueKey } from "../../web/limits/address.ts";
import { FairAdmission } from "../../web/limits/fair-admission.ts";
import { rejectToken, type TokenRejection } from "./token-error.ts";

/**
 * Little more than the pool has connections, so that internal reads wait behind few of them. One address may have more
 * requests in progress than the limit on slow secret comparisons, or these would block all its other clients.
 */
const LIMITS = { most: 500, atOnce: 32, alone: 32, share: 24, shortQueue: 64, expectedMs: 250, maxWaitMs: 2_000 };

export class TokenAdmission {
  readonly #admission = new FairAdmission(LIMITS);

  /** Checked before the body is read. */
  check(address: string): Check<TokenRejection> {
    return this.#admission.hasRoomFor(queueKey(address)) ? PASSED : AT_CAPACITY;
  }

  async run<Value>(
    address: string,
    work: () => Promise<Result<Value, TokenRejection>>,
  ): Promise<Result<Value, TokenRejection>> {
    return (await this.#admission.run(queueKey(address), work)) ?? AT_CAPACITY;
  }
}

const AT_CAPACITY = rejectToken("temporarily_unavailable", "the service is at capacity: too many requests are waiting");
