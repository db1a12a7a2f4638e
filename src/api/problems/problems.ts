/**
 * Problems: every response that is not a success (RFC 9457). Handlers and hooks throw a `Problem`; `error-handler.ts` turns any
 * other error into one, and sends it.
 */
import { type Dialect, OWN_DIALECT } from "../../web/dialect/dialect.ts";

/** RFC 9457, section 3. The media type has no parameters. */
export const PROBLEM_JSON = "application/problem+json";

/**
 * All kinds of problems (docs/contract/requests.md#errors). A number is a status with HTTP's own meaning
 * (`about:blank`); a string is the slug of a problem type with its own page.
 */
export const PROBLEM_KINDS = {
  400: { status: 400, title: "Bad Request" },
  "exceed-precision": { status: 400, title: "Exceeds Maximum Precision Allowed" },
  401: { status: 401, title: "Unauthorized" },
  403: { status: 403, title: "Forbidden" },
  "insufficient-funds": { status: 403, title: "Insufficient Funds" },
  "notional-value-too-large": { status: 403, title: "Notional Value Too Large" },
  "unavailable-market": { status: 403, title: "Market Unavailable" },
  "not-cancellable": { status: 403, title: "Forbidden" },
  "profile-not-empty": { status: 403, title: "Forbidden" },
  404: { status: 404, title: "Not Found" },
  405: { status: 405, title: "Method Not Allowed" },
  408: { status: 408, title: "Request Timeout" },
  "already-exists": { status: 409, title: "Already Exists" },
  413: { status: 413, title: "Content Too Large" },
  414: { status: 414, title: "URI Too Long" },
  415: { status: 415, title: "Unsupported Media Type" },
  426: { status: 426, title: "Upgrade Required" },
  429: { status: 429, title: "Too Many Requests" },
  431: { status: 431, title: "Request Header Fields Too Large" },
  500: { status: 500, title: "Internal Server Error" },
  501: { status: 501, title: "Not Implemented" },
  503: { status: 503, title: "Service Unavailable" },
} as const satisfies Record<string | number, { readonly status: number; readonly title: string }>;

export type ProblemKind = keyof typeof PROBLEM_KINDS;
/** The kinds that have a page under /problems. */
export type ProblemSlug = Extract<ProblemKind, string>;

/** The machine-readable details of a problem, under their wire names. */
export type ProblemMeta = Readonly<Record<string, unknown>>;

export interface ProblemExtras {
  readonly meta?: ProblemMeta;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** An error response. The message is the `detail`: it names the field, the value and the rule. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly kind: ProblemKind;
  readonly meta: ProblemMeta;
  readonly headers: Readonly<Record<string, string>>;

  constructor(kind: ProblemKind, detail: string, { meta = {}, headers = {}, cause }: ProblemExtras = {}) {
    super(detail, { cause });
    this.kind = kind;
    this.meta = meta;
    this.headers = headers;
  }

  get status(): number {
    return PROBLEM_KINDS[this.kind].status;
  }
}

export const badRequest = (detail: string, meta: ProblemMeta = {}): Problem => new Problem(400, detail, { meta });

export const notFound = (detail: string): Problem => new Problem(404, detail);

/** 503. Nothing was done, or a retry with the same ref_id finds what was. */
export const unavailable = (detail: string, cause?: unknown): Problem =>
  new Problem(503, detail, { headers: { "retry-after": "1" }, cause });

/** Ends the work for a response that nobody will read. */
export const callerHasGone = (): Problem => unavailable("the caller has closed the connection");

export interface ProblemContext {
  readonly baseUrl: string;
  readonly requestId: string;
  readonly dialect?: Pick<Dialect, "problemTitles" | "problemTypes">;
}

/** The body of a problem: the members of RFC 9457, then ours. */
export function problemBody(problem: Problem, { baseUrl, requestId, dialect = OWN_DIALECT }: ProblemContext) {
  const { status, title } = PROBLEM_KINDS[problem.kind];
  return {
    type: problemType(problem.kind, dialect.problemTypes ?? `${baseUrl}/problems/`),
    title: dialect.problemTitles.given(title),
    status,
    detail: problem.message,
    meta: problem.meta,
    request_id: requestId,
  };
}

function problemType(kind: ProblemKind, base: string): string {
  return typeof kind === "string" ? `${base}${kind}` : "about:blank";
}
