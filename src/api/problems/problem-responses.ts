/** The error responses of an operation, for its schema. */
import { type Static, type TNever, Type } from "typebox";
import { ANSWERS } from "../openapi/document-schemas.ts";
import { PROBLEM_JSON, PROBLEM_KINDS, type Problem, type ProblemKind } from "./problems.ts";
import { problemKindOf, type RejectionCode } from "./rejection-problems.ts";

const FailingFieldBody = Type.Object(
  {
    field: Type.String({ description: "Its path, like `amount`, `metadata.note` or `ids[3]`." }),
    value: Type.Optional(
      Type.Unsafe<string | number | boolean | null>({
        type: ["string", "number", "boolean", "null"],
        description: "As sent, shortened. Absent when nothing was sent, or when it may be a secret.",
      }),
    ),
    rule: Type.String({ description: "What it breaks: a sentence without its subject." }),
  },
  { title: "FailingField", description: "A field of a request that breaks a rule." },
);

const ProblemMetaBody = Type.Object(
  {
    errors: Type.Optional(Type.Array(FailingFieldBody, { description: "Every field that breaks a rule." })),
    required: Type.Optional(Type.Array(Type.String(), { description: "Scopes, one of which is needed." })),
    granted: Type.Optional(Type.Array(Type.String(), { description: "The scopes of the token." })),
    existing: Type.Optional(
      Type.Object({}, { description: "The record that has the ref_id or nickname.", additionalProperties: true }),
    ),
  },
  {
    title: "ProblemMeta",
    description:
      "The details in machine-readable form. Its members depend on the problem's type; the page of the type describes them.",
    additionalProperties: true,
  },
);

export const ProblemBody = Type.Object(
  {
    type: Type.String({
      format: "uri-reference",
      description: "`about:blank`, or the URL of a page about the problem.",
    }),
    title: Type.String({ description: "The same for every problem of the type." }),
    status: Type.Integer({ description: "The HTTP status." }),
    detail: Type.String({ description: "What went wrong with this request: the field, the value, the rule." }),
    meta: ProblemMetaBody,
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
 * Each one has an example of its own in the OpenAPI document.
 * @param all a status stands for HTTP's own meaning, a code for the problem of this rejection
 */
export function errors<const All extends readonly (Extract<ProblemKind, number> | RejectionCode)[]>(
  ...all: All
): Documented<Extract<All[number], RejectionCode>> {
  const byStatus = new Map<number, Answer[]>();
  for (const answer of all.map(answerOf)) {
    const { status } = PROBLEM_KINDS[answer.kind];
    byStatus.set(status, [...(byStatus.get(status) ?? []), answer]);
  }
  const responses = [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, answers]) => [status, responseOf(answers)]);
  // Handlers throw problems and return only successes.
  return Object.fromEntries(responses) as Documented<Extract<All[number], RejectionCode>>;
}

interface Answer {
  readonly kind: ProblemKind;
  /** Of its example. */
  readonly name: string;
}

function answerOf(one: Extract<ProblemKind, number> | RejectionCode): Answer {
  if (typeof one === "string") return { kind: problemKindOf(one), name: one.replaceAll("_", "-") };
  return { kind: one, name: PROBLEM_KINDS[one].title.toLowerCase().replaceAll(" ", "-") };
}

function responseOf(answers: readonly Answer[]): object {
  const kinds = answers.map(({ kind }) => kind);
  const titles = [...new Set(kinds.map((kind) => PROBLEM_KINDS[kind].title))];
  const [first] = kinds;
  return {
    description: `${titles.join(" or ")}.`,
    ...(first !== undefined && first in HEADERS ? { headers: HEADERS[first] } : {}),
    content: { [PROBLEM_JSON]: { schema: ProblemBody, [ANSWERS]: answers.map(({ name }) => name) } },
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
