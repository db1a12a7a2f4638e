/**
 * Turns anything thrown into a problem response. The framework's own errors are mapped one by one; a code that is not in
 * the table is a bug of ours: the response is a 500 that reveals nothing but the request id.
 */
import type { Socket } from "node:net";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { Unavailable } from "../ledger/decision.ts";
import { DatabaseAway, isTimeout, OutcomeUnknown } from "../postgres/database.ts";
import { ClockFault } from "../std/clock.ts";
import { rejectConnection } from "../web/connections/reject-connection.ts";
import { type Dialect, OWN_DIALECT } from "../web/dialect/dialect.ts";
import { securityHeaders } from "../web/security-headers.ts";
import { shownValue } from "./problems/failing-fields.ts";
import { badRequest, PROBLEM_JSON, Problem, problemBody, unavailable } from "./problems/problems.ts";
import { freshRequestId, logOf } from "./request-id.ts";
import { shapeProblem } from "./requests/validation.ts";

export const BODY_LIMIT_BYTES = 65_536;

/** Every error code with which Fastify rejects a request, except FST_ERR_VALIDATION. */
const FRAMEWORK_PROBLEMS: Readonly<Record<string, (request: FastifyRequest) => Problem>> = {
  FST_ERR_BAD_URL: () => badRequest("the path is not a valid URL: its percent-encoding is not UTF-8"),
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions: { bodyLimit } }) =>
    new Problem(413, `the body has more than ${bodyLimit ?? BODY_LIMIT_BYTES} bytes`),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => badRequest("the length of the body differs from Content-Length"),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: (request) => {
    const sent = request.headers["content-type"];
    const said =
      sent === undefined ? "there is no content type" : `the content type is ${JSON.stringify(shownValue(sent))}`;
    return new Problem(415, `${said}: send application/json`);
  },
  FST_ERR_HANDLER_TIMEOUT: () => unavailable("the request took too long"),
  FST_ERR_INVALID_URL: () => badRequest("the path is not a valid URL"),
  FST_ERR_MAX_PARAM_LENGTH: () => new Problem(414, "a segment of the path is too long"),
};

/** @returns undefined for a bug */
export function knownProblem(thrown: unknown, request: FastifyRequest): Problem | undefined {
  if (thrown instanceof Problem) return thrown;
  // Not logged: a bound that one caller may run into all day. The metrics count these by reason.
  if (thrown instanceof Unavailable) return unavailable(thrown.message);
  if (thrown instanceof ClockFault) return unavailable(thrown.message, thrown);
  if (thrown instanceof OutcomeUnknown && request.method !== "GET") {
    return unavailable(`${thrown.message}: check the outcome before you retry`, thrown);
  }
  if (thrown instanceof DatabaseAway) return unavailable("the database cannot be reached", thrown);
  if (isTimeout(thrown)) return unavailable("the database took too long", thrown);
  const { code, statusCode } = (thrown ?? {}) as Partial<FastifyError>;
  if (code === "FST_ERR_VALIDATION") return shapeProblem(request);
  // The connection broke while the body was read: there is no one to respond to, and nothing was done.
  if (code === "ECONNRESET" && statusCode === 400) return badRequest("the body ended early");
  return FRAMEWORK_PROBLEMS[code ?? ""]?.(request);
}

/** The error handler of the API. Every response that is not a success leaves through it. */
export function createErrorHandler(
  baseUrl: () => string,
  onProblem: (problem: Problem) => void = () => undefined,
  dialect: Dialect = OWN_DIALECT,
) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const problem =
      knownProblem(thrown, request) ??
      new Problem(500, "internal error: quote the request_id when you report it", {
        cause: thrown,
      });
    onProblem(problem);
    if (problem.status === 500) logOf(request).error({ err: thrown }, "request failed: bug");
    else if (problem.cause !== undefined) logOf(request).warn({ err: problem.cause }, "request failed: fault");
    const body = problemBody(problem, { baseUrl: baseUrl(), requestId: request.id, dialect });
    // As bytes: Fastify would add a charset to a string, and this media type has no parameters.
    const bytes = Buffer.from(JSON.stringify(body));
    void reply
      .code(problem.status)
      .headers({
        ...securityHeaders(baseUrl()),
        "cache-control": "no-store",
        ...problem.headers,
        "x-request-id": request.id,
      })
      .type(PROBLEM_JSON)
      .send(bytes);
  };
}

/** Responds to what Node rejects before there is a request: bytes that are not HTTP, too many, or too slow. */
export function respondToClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  rejectConnection(error, socket, ({ status, reason }) => {
    const requestId = freshRequestId();
    const headers = {
      "Content-Type": PROBLEM_JSON,
      "X-Request-Id": requestId,
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
    };
    const body = problemBody(new Problem(status, reason), { baseUrl: "", requestId });
    return { status, headers, body: JSON.stringify(body) };
  });
}
