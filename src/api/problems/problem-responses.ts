/** The error responses of an operation, for its schema. */
import { type Static, type TNever, Type } from "typebox";
import { PROBLEM_EXAMPLES } from "./problem-texts.ts";
import { PROBLEM_JSON, PROBLEM_KINDS, Problem, type ProblemKind, problemBody } from "./problems.ts";
import { problemKindOf, type RejectionCode } from "./rejection-problems.ts";

export const ProblemBody = Type.Object(
  {
    type: Type.String({
      format: "uri-reference",
      description: "`about:blank`, or the URL of a page about the problem.",
    }),
    title: Type.String({ description: "The same for every problem of the type." }),
    status: Type.Integer({ description: "The HTTP status." }),
    detail: Type.String({ description: "What went wrong with this request: the field, the value, the rule." }),
    meta: Type.Object(
      {},
      {
        additionalProperties: true,
        description: "The details in machine-readable form. Its members depend on the type.",
      },
    ),
    request_id: Type.String({ description: "The id of the request, as in the header X-Request-Id." }),
  },
  { title: "Problem", description: "RFC 9457." },
);

declare module "fastify" {
  interface FastifyInstance {
    /** A problem of one item of a request, as the problem of a request is sent. */
    problemBodyOf(request: FastifyRequest, problem: Problem): Static<typeof ProblemBody>;
  }
}

const EXAMPLE_CONTEXT = { baseUrl: "https://api.example.com", requestId: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f01" };

/**
 * Which rejections a route documents: only a type, from which `valueOrThrow` and `problemFor` take which ones its handler
 * may throw. It is a response of type `never`, so that it adds nothing to what handlers return.
 */
declare const DOCUMENTED: unique symbol;
export interface Documented<Code> {
  readonly [DOCUMENTED]: TNever & { readonly allows: (code: Code) => void; readonly declares: () => Code };
}

/** Documents at least these rejections. */
export interface Documenting<Code> {
  readonly [DOCUMENTED]: { readonly allows: (code: Code) => void };
}

/**
 * The responses of these problems, e.g.
 * `response: { 200: TransferBody, ...errors(400, "exceed_precision", 401, 403, "insufficient_funds", 503) }`.
 * @param all a status stands for HTTP's own meaning, a code for the problem of this rejection
 */
export function errors<const All extends readonly (Extract<ProblemKind, number> | RejectionCode)[]>(
  ...all: All
): Documented<Extract<All[number], RejectionCode>> {
  const kinds = [...new Set(all.map((one) => (typeof one === "number" ? one : problemKindOf(one))))];
  // Handlers throw problems and return only successes.
  return responsesOf(kinds) as Documented<Extract<All[number], RejectionCode>>;
}

function responsesOf(kinds: readonly ProblemKind[]): object {
  const statuses = [...new Set(kinds.map((kind) => PROBLEM_KINDS[kind].status))].toSorted((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => [status, responseOf(kinds.filter((kind) => PROBLEM_KINDS[kind].status === status))]),
  );
}

function responseOf(kinds: readonly ProblemKind[]): object {
  const [first] = kinds;
  const titles = [...new Set(kinds.map((kind) => PROBLEM_KINDS[kind].title))];
  return {
    description: `${titles.join(" or ")}.`,
    ...(first !== undefined && first in HEADERS ? { headers: HEADERS[first] } : {}),
    content: {
      [PROBLEM_JSON]: {
        schema: ProblemBody,
        examples: Object.fromEntries(kinds.map((kind) => [exampleName(kind), { value: exampleOf(kind) }])),
      },
    },
  };
}

const RETRY_AFTER = { "Retry-After": { type: "integer", description: "Seconds to wait before a retry." } };
const CHALLENGE = { "WWW-Authenticate": { type: "string", description: "RFC 6750, section 3." } };

const HEADERS: Readonly<Partial<Record<ProblemKind, object>>> = {
  401: CHALLENGE,
  403: CHALLENGE,
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

function exampleName(kind: ProblemKind): string {
  return typeof kind === "string" ? kind : PROBLEM_KINDS[kind].title.toLowerCase().replaceAll(" ", "-");
}

function exampleOf(kind: ProblemKind): object {
  const { detail, ...rest } = PROBLEM_EXAMPLES[kind];
  return problemBody(new Problem(kind, detail, rest), EXAMPLE_CONTEXT);
}
