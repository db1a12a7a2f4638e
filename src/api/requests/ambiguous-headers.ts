/** Rejects ambiguous requests, which a proxy might read differently than we do. */
import type { FastifyRequest } from "fastify";
import { answerExpectations } from "../../web/connections/expectations.ts";
import { endConnection } from "../../web/connections/last-request.ts";
import {
  doubledHeader,
  hasForeignCharset,
  isCoded,
  isTooMany,
  TOO_MANY_HEADERS,
  unreadable,
} from "../../web/header-checks.ts";
import type { RequestTurns } from "../../web/limits/request-turns.ts";
import type { Api } from "../api.ts";
import { badRequest, Problem } from "../problems/problems.ts";

/** In turn, like what is served. */
export function rejectAmbiguousHeaders(api: Api, turns: RequestTurns): void {
  api.addHook("onRequest", (request, reply, done) => {
    const reject = (problem: Problem): void => turns.runRead(request.ip, () => done(problem), reply.raw);
    const why = unreadable(request.raw);
    if (why !== undefined) {
      endConnection(request, reply);
      return reject(new Problem(why.status, why.reason));
    }
    const twice = doubledHeader(request.raw);
    if (twice === undefined) done();
    else reject(badRequest(`the header ${twice} occurs more than once`));
  });
  answerExpectations(api.server);
}

/** Called when the body and its trailers have arrived. */
export function rejectAmbiguousBody({ raw, headers }: FastifyRequest): void {
  if (isTooMany(raw.rawTrailers)) throw new Problem(TOO_MANY_HEADERS.status, TOO_MANY_HEADERS.reason);
  if (isCoded(headers)) throw new Problem(415, "the body has a Content-Encoding: send application/json without one");
  if (hasForeignCharset(headers))
    throw new Problem(415, "the content type names a charset other than UTF-8: send JSON in UTF-8");
}
