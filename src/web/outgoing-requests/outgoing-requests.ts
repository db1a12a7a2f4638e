/**
 * Requests to URLs that customers choose, under a policy of where they may go. Nothing that the receiver or its DNS does has
 * an effect beyond the request: redirects are not followed, no proxy is used, time and bytes have bounds, and compressed
 * answers stay compressed. The caller bounds how many requests there are at once.
 */
import { steadyClock } from "../../std/clock.ts";
import { MACHINE, type Surroundings } from "./connect.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { exchange, type Outcome, type UnansweredReason } from "./exchange.ts";
import { areHeaders } from "./headers.ts";
import { judgeUrl, type OutgoingPolicy } from "./outgoing-policy.ts";
import { TlsShares } from "./tls-shares.ts";

/** Of the whole request. */
export const TIMEOUT_MS = 15_000;
const ANSWER_BYTES = 1_024;

export interface OutgoingRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whose share of the thread a TLS handshake takes: the host's unless given. */
  readonly payer?: string;
  /** From the call to the head of the answer: 15 s unless given. */
  readonly timeoutMs?: number;
  /** How much of the answer's body is wanted, up to 16 KiB: a KiB unless given. */
  readonly answerBytes?: number;
  readonly signal?: AbortSignal;
}

export interface Answered {
  readonly kind: "answered";
  readonly status: number;
  /** The header as it came. */
  readonly retryAfter: string | undefined;
  /** The first bytes of the body, as they came: its coding is not undone. */
  readonly answer: Buffer;
  readonly ms: number;
}

export interface Unanswered {
  readonly kind: "unanswered";
  readonly reason: UnansweredReason;
  /** Says more, without addresses: customers read it. */
  readonly detail: string;
  readonly ms: number;
}

type Pools = Readonly<Record<"http:" | "https:", ConnectionPool>>;

export class OutgoingRequests {
  readonly #policy: OutgoingPolicy;
  readonly #kept: Pools;
  /** Whose connections are new, for one request each. */
  readonly #fresh: Pools;

  /** @param surroundings only for tests */
  constructor(policy: OutgoingPolicy, surroundings: Partial<Surroundings> = {}) {
    const shares = new TlsShares();
    const pools = (keeps: boolean): Pools => {
      const pool = (protocol: keyof Pools): ConnectionPool =>
        new ConnectionPool(protocol, keeps, policy, { ...MACHINE, ...surroundings }, shares);
      return { "http:": pool("http:"), "https:": pool("https:") };
    };
    this.#policy = policy;
    this.#kept = pools(true);
    this.#fresh = pools(false);
  }

  /** Sends a POST request and waits for the answer. Never throws. */
  async post(request: OutgoingRequest): Promise<Answered | Unanswered> {
    const begun = steadyClock.now();
    const outcome = await this.#post(request, begun + (request.timeoutMs ?? TIMEOUT_MS));
    return { ...outcome, ms: Math.round(steadyClock.now() - begun) };
  }

  /** Ends all connections. */
  close(): void {
    for (const pools of [this.#kept, this.#fresh]) for (const pool of Object.values(pools)) pool.destroy();
  }

  async #post(request: OutgoingRequest, until: number): Promise<Outcome> {
    const refusal = judgeUrl(request.url, this.#policy);
    if (refusal !== undefined) return { kind: "unanswered", reason: "url_not_allowed", detail: refusal };
    if (!areHeaders(request.headers)) {
      return { kind: "unanswered", reason: "protocol", detail: "a header of the request is not valid" };
    }
    const protocol = new URL(request.url).protocol as keyof Pools;
    const asked = { ...request, answerBytes: request.answerBytes ?? ANSWER_BYTES };
    const outcome = await exchange(asked, this.#kept[protocol], until);
    // The receiver had closed the idle connection, which is no failure of the receiver's. Once: the second one is new.
    return outcome.kind === "unanswered" && outcome.wasIdle === true
      ? exchange(asked, this.#fresh[protocol], until)
      : outcome;
  }
}
