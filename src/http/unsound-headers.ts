/** What can mean two things is refused, rather than carried out as we happen to take it. */
import type { FastifyRequest } from "fastify";
import { doubledHeader, ignoreExpectations, isCoded } from "../limits/unsound-headers.ts";
import type { Api } from "./api.ts";
import { badRequest, Problem } from "./problems.ts";

export function refuseUnsoundHeaders(api: Api): void {
  api.addHook("onRequest", (request, _reply, done) => {
    const twice = doubledHeader(request.raw);
    if (twice === undefined) done();
    else done(badRequest(`the header ${twice} is there more than once`));
  });
  ignoreExpectations(api.server);
}

export function refuseCodedBody({ headers }: FastifyRequest): void {
  if (!isCoded(headers)) return;
  throw new Problem(415, "the body has a Content-Encoding, but a body is application/json as it is");
}
