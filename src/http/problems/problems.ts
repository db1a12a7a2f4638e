/**
 * Problems: every answer that is not a success, as RFC 9457 lays down (application/problem+json). Handlers and hooks
 * throw a `Problem`; `faults.ts` turns whatever was thrown into one and sends it.
 */

/** RFC 9457, section 3. The media type has no parameters, so none is sent. */
export const PROBLEM_JSON = "application/problem+json";

/**
 * All kinds of problems (docs/contract/requests.md#errors). A number is a status whose meaning is HTTP's own
 * (`about:blank`); a word is the slug of a problem with a page of its own.
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

/** What a program may want to know about a problem. Wire names: it is sent as it is. */
export type ProblemMeta = Readonly<Record<string, unknown>>;

export interface ProblemExtras {
  readonly meta?: ProblemMeta;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** What went wrong, for the caller. The message is the `detail`: it names the field, the value and the rule. */
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

/** Nothing was done, or the ref_id tells. */
export const unavailable = (detail: string, cause?: unknown): Problem =>
  new Problem(503, detail, { headers: { "retry-after": "1" }, cause });

/** A ref_id or nickname was used before. `existing` is the first record as GET shows it now. */
export const alreadyExists = (detail: string, existing: object): Problem =>
  new Problem("already-exists", detail, { meta: { existing } });

/** Where a problem is answered. */
export interface ProblemContext {
  readonly baseUrl: string;
  readonly requestId: string;
}

/** The body of a problem, its members in the order of RFC 9457 with ours behind them. */
export function problemBody(problem: Problem, { baseUrl, requestId }: ProblemContext): Record<string, unknown> {
  const { status, title } = PROBLEM_KINDS[problem.kind];
  return {
    type: problemType(problem.kind, baseUrl),
    title,
    status,
    detail: problem.message,
    meta: problem.meta,
    request_id: requestId,
  };
}

function problemType(kind: ProblemKind, baseUrl: string): string {
  return typeof kind === "string" ? `${baseUrl}/problems/${kind}` : "about:blank";
}
