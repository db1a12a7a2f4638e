/**
 * Headers that whoever stands between a caller and us may read otherwise than we do. What can mean two things is
 * refused, rather than carried out as we happen to take it.
 */
import type { FastifyRequest } from "fastify";
import type { Api } from "./api.ts";
import { badRequest, Problem } from "./problems.ts";

/** Node keeps the first of two and drops the other without a word; a proxy may believe the second. */
const ONCE = ["authorization", "content-type", "host"] as const;

export function refuseUnsoundHeaders(api: Api): void {
  api.addHook("onRequest", (request, _reply, done) => {
    const twice = ONCE.find((name) => isTwiceIn(request.raw.rawHeaders, name));
    if (twice === undefined) done();
    else done(badRequest(`the header ${twice} is there more than once`));
  });
  // RFC 9110, section 10.1.1: an expectation that is not known may be ignored. Node would answer it without our headers.
  api.server.on("checkExpectation", (request, response) => api.server.emit("request", request, response));
}

/** Names and values stand in turn. Node would sort all headers of each request into lists to tell this. */
function isTwiceIn(headers: readonly string[], name: string): boolean {
  let found = 0;
  for (let i = 0; i < headers.length; i += 2) {
    const other = headers[i] as string;
    if (other.length === name.length && other.toLowerCase() === name) found += 1;
  }
  return found > 1;
}

/** RFC 9110, section 8.4: a body that is said to be coded is not read as if it were not. */
export function refuseCodedBody({ headers }: FastifyRequest): void {
  const coding = headers["content-encoding"] ?? "identity";
  if (coding.toLowerCase() === "identity") return;
  throw new Problem(415, "the body has a Content-Encoding, but a body is application/json as it is");
}
