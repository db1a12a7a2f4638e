/**
 * From whatever was thrown to the answer. What the framework throws for a request's sake is mapped here one by one; a
 * code that is not in the table is a bug of ours, and its caller learns nothing but the id to ask about.
 */
import type { Socket } from "node:net";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { Unavailable } from "../ledger/decision.ts";
import { DatabaseAway, OutcomeUnknown, tookTooLong } from "../postgres/database.ts";
import { ClockFault } from "../std/clock.ts";
import { rejectConnection } from "../web/connections/rejection.ts";
import { safeHeaders } from "../web/safe-headers.ts";
import { shownValue } from "./problems/failing-fields.ts";
import { badRequest, PROBLEM_JSON, Problem, problemBody, unavailable } from "./problems/problems.ts";
import { freshRequestId, logOf } from "./request-id.ts";
import { shapeProblem } from "./requests/validation.ts";

export const BODY_LIMIT_BYTES = 65_536;

/** Every error code with which Fastify refuses a request, except FST_ERR_VALIDATION, which needs the request. */
const FRAMEWORK_PROBLEMS: Readonly<Record<string, (request: FastifyRequest) => Problem>> = {
  FST_ERR_BAD_URL: () => badRequest("the path is not a valid URL: a % in it does not encode UTF-8 text"),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new Problem(413, `the body has more than ${BODY_LIMIT_BYTES} bytes`),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => badRequest("the body does not have the length that Content-Length says"),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: (request) => {
    const sent = request.headers["content-type"];
    const said =
      sent === undefined ? "there is no content type" : `the content type is ${JSON.stringify(shownValue(sent))}`;
    return new Problem(415, `${said}, but a body is application/json`);
  },
  FST_ERR_HANDLER_TIMEOUT: () => unavailable("the request took too long"),
  FST_ERR_INVALID_URL: () => badRequest("the path is not a valid URL"),
  FST_ERR_MAX_PARAM_LENGTH: () => new Problem(414, "a part of the path is longer than any identifier"),
};

/** The problem that something thrown is told as. `undefined` stands for a bug. */
function knownProblem(thrown: unknown, request: FastifyRequest): Problem | undefined {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof Unavailable || thrown instanceof ClockFault) return unavailable(thrown.message, thrown);
  if (thrown instanceof OutcomeUnknown && request.method !== "GET") {
    return unavailable(`${thrown.message}: look before you repeat it`, thrown);
  }
  if (thrown instanceof DatabaseAway) return unavailable("the database cannot be reached", thrown);
  if (tookTooLong(thrown)) return unavailable("the database took too long", thrown);
  const { code, statusCode } = (thrown ?? {}) as Partial<FastifyError>;
  if (code === "FST_ERR_VALIDATION") return shapeProblem(request);
  // The connection broke while the body was read: nobody hears this, and nothing was done.
  if (code === "ECONNRESET" && statusCode === 400) return badRequest("the body ended early");
  return FRAMEWORK_PROBLEMS[code ?? ""]?.(request);
}

/** Makes the error handler: the one way out for everything that is not a success. */
export function createErrorHandler(baseUrl: () => string, onProblem: (problem: Problem) => void = () => undefined) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const problem =
      knownProblem(thrown, request) ??
      new Problem(500, "something went wrong on our side; the request_id leads to what the log knows of it", {
        cause: thrown,
      });
    onProblem(problem);
    if (problem.status === 500) logOf(request).error({ err: thrown }, "a request met a bug");
    else if (problem.cause !== undefined) logOf(request).warn({ err: problem.cause }, "a request met a fault");
    const body = problemBody(problem, { baseUrl: baseUrl(), requestId: request.id });
    // As bytes: to a text Fastify would add a charset, which this media type does not have.
    const bytes = Buffer.from(JSON.stringify(body));
    void reply
      .code(problem.status)
      .headers({
        ...safeHeaders(baseUrl()),
        "cache-control": "no-store",
        ...problem.headers,
        "x-request-id": request.id,
      })
      .type(PROBLEM_JSON)
      .send(bytes);
  };
}

/** What Node itself refuses before there is a request: the bytes were not HTTP, too many, or too slow. */
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
