/**
 * Rate limits of the API: by client once the token is known, by address where nobody has to be known or nobody was. A
 * route says in its `config` which rate is its own.
 */
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import type { RateLimiter, Verdict } from "../../web/limits/rate-limiter.ts";
import type { RateClass } from "../../web/limits/rates.ts";
import { Problem } from "../problems/problems.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** "rest" where it is left out; "none" for those who watch over the service. */
    rate?: RateClass | "none";
  }
}

/** Lets a request of this client, or of an unknown one, go on, or throws a problem. */
export type Admit = (request: FastifyRequest, reply: FastifyReply, clientId: string | undefined) => void;

/** Undefined: nothing is limited. */
export function admitBy(limiter: RateLimiter | undefined): Admit {
  return (request, reply, clientId) => {
    const { rate = "rest" } = request.routeOptions.config;
    if (limiter === undefined || rate === "none") return;
    const verdict = clientId === undefined ? limiter.ofAddress(rate, request.ip) : limiter.ofClient(rate, clientId);
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

function tooMany({ headers, retryAfter }: Verdict): Problem {
  const after = retryAfter === 1 ? "1 second" : `${retryAfter} seconds`;
  return new Problem(429, `too many requests: try again in ${after}`, { headers });
}
