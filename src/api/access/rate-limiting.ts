/**
 * Rate limits of the API: by client once the token is verified, else by address. That of a request for a public operation
 * is not looked at. A route may name a rate of its own in its `config`.
 */
import type { FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler } from "fastify";
import type { RateLimiter, Verdict } from "../../web/limits/rate-limiter.ts";
import type { RateClass } from "../../web/limits/rates.ts";
import { Problem } from "../problems/problems.ts";

/** Characters of a URL. A filter for a hundred ids counts as five requests. */
const COUNTED_AS_ONE = 1_024;

/** Bytes of a public body: some links of strangers carry more than the rest of the service needs. */
const SENT_AS_ONE = 65_536;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Default: "rest". "health" is for health checks. */
    rate?: RateClass | "health";
  }
  interface FastifyInstance {
    readonly countSent: CountSent;
  }
}

/**
 * Counts a request against its rate limit.
 * @param clientId undefined without a valid token, and of a public operation: the address is counted
 * @throws Problem 429 over the limit
 */
export type Admit = (request: FastifyRequest, reply: FastifyReply, clientId: string | undefined) => void;

/** @param limiter undefined: no limits */
export function admitBy(limiter: RateLimiter | undefined): Admit {
  return (request, reply, clientId) => {
    const { rate = "rest" } = request.routeOptions.config;
    if (limiter === undefined) return;
    if (rate === "health") {
      const verdict = limiter.ofHealth(request.ip);
      if (verdict?.admitted === false) throw tooMany(verdict);
      return;
    }
    const cost = costOf(request);
    const verdict =
      clientId === undefined ? limiter.ofAddress(rate, request.ip, cost) : limiter.ofClient(rate, clientId, cost);
    if (!verdict.admitted) throw tooMany(verdict);
    reply.headers(verdict.headers);
  };
}

/** Reading 60 KB of parameters takes four milliseconds, as long as reading twenty usual requests. */
function costOf({ raw: { url = "" } }: FastifyRequest): number {
  return Math.max(Math.ceil(url.length / COUNTED_AS_ONE), 1);
}

/**
 * Counts an admitted request as more requests, once it is known how much it asks for.
 * @throws Problem 429 over the limit
 */
export type AdmitMore = (request: FastifyRequest, reply: FastifyReply, cost: number) => void;

/** @param limiter undefined: no limits */
export function admitMoreBy(limiter: RateLimiter | undefined): AdmitMore {
  return ({ grant }, reply, cost) => {
    const verdict = limiter?.ofClient("rest", grant.clientId, cost);
    if (verdict === undefined) return;
    if (!verdict.admitted) throw tooMany(verdict);
    reply.headers(verdict.headers);
  };
}

/** The hook of a public route. */
export function admitAddress(admit: Admit): onRequestHookHandler {
  return (request, reply, done) => {
    admit(request, reply, undefined);
    done();
  };
}

/** Counts a public request as more requests, by the bytes that it is sent. */
export type CountSent = (request: Pick<FastifyRequest, "ip" | "routeOptions">, bytes: number) => void;

/** @param limiter undefined: no limits */
export function countSentBy(limiter: RateLimiter | undefined): CountSent {
  return ({ ip, routeOptions }, bytes) => {
    const { rate = "rest" } = routeOptions.config;
    const more = Math.floor(bytes / SENT_AS_ONE);
    if (more > 0 && rate !== "health") limiter?.alsoOfAddress(rate, ip, more);
  };
}

/** The hook of a public route. */
export function countBody(count: CountSent): onSendHookHandler<unknown> {
  return (request, _reply, payload, done) => {
    if (typeof payload === "string" || Buffer.isBuffer(payload)) count(request, Buffer.byteLength(payload));
    done();
  };
}

function tooMany({ headers, retryAfter }: Verdict): Problem {
  const after = retryAfter === 1 ? "1 second" : `${retryAfter} seconds`;
  return new Problem(429, `too many requests: try again in ${after}`, { headers });
}
