/** The problems that an operation can answer, as its schema lists them beside its success. */
import { Type } from "typebox";
import { PROBLEM_EXAMPLES } from "./problem-texts.ts";
import { PROBLEM_JSON, PROBLEM_KINDS, Problem, type ProblemKind, problemBody } from "./problems.ts";

const ProblemBody = Type.Object(
  {
    type: Type.String({
      format: "uri-reference",
      description: "`about:blank`, or the address of a page on the problem.",
    }),
    title: Type.String({ description: "The same for all problems of the type." }),
    status: Type.Integer({ description: "The HTTP status." }),
    detail: Type.String({ description: "What went wrong with this request: the field, the value, the rule." }),
    meta: Type.Object(
      {},
      { additionalProperties: true, description: "The same for programs; members depend on the type." },
    ),
    request_id: Type.String({ description: "The request's id, as in the header X-Request-Id." }),
  },
  { title: "Problem", description: "RFC 9457." },
);

const EXAMPLE_CONTEXT = { baseUrl: "https://api.example.com", requestId: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f01" };

/**
 * The responses of the problems named: a status for HTTP's own meaning, a slug for a problem of ours, e.g.
 * `response: { 200: TransferBody, ...errors(400, "exceed-precision", 401, 403, "insufficient-funds", 503) }`.
 * Their type has no keys: a handler throws problems, so what it returns is the type of its success.
 */
export function errors(...kinds: readonly ProblemKind[]): Readonly<Record<never, never>> {
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

const RETRY_AFTER = { "Retry-After": { type: "integer", description: "Seconds after which to try again." } };
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
