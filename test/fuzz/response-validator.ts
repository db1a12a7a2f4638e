/** Judges answers by the OpenAPI document, and by what holds for all of them. */
import { Compile } from "typebox/schema";
import type { Document, Operation, Response, Schema } from "../support/openapi.ts";
import type { HttpRequest, Told } from "./http-request.ts";

/** Answers of the server itself, where no operation is met: the introduction of the document names them. */
const OF_THE_SERVER = new Set([400, 404, 405, 408, 413, 414, 415, 431, 501]);

type Judge = (body: unknown) => string | undefined;

export class DocumentJudge {
  readonly #components: object;
  readonly #judges = new Map<string, Judge>();

  constructor({ components }: Document) {
    this.#components = closed(components) as object;
  }

  /** What is wrong with an answer, each as a sentence. */
  faults(asked: HttpRequest, told: Told): string[] {
    const { operation, wrong, astray = false, method } = asked;
    const faults: string[] = [];
    const { status, headers, text } = told;
    if (status >= 500) faults.push(`it answers ${status}`);
    if (wrong !== undefined && (status < 400 || status > 499)) faults.push(`it is not refused, but answered ${status}`);
    if (typeof headers["x-request-id"] !== "string") faults.push("it has no X-Request-Id");
    if (status === 401 && operation.scopes.length > 0 && headers["www-authenticate"] === undefined) {
      faults.push("it has no WWW-Authenticate");
    }
    if (status === 405 && headers.allow === undefined) faults.push("it has no Allow");
    if (method === "HEAD") return faults;
    const response = operation.responses[status];
    const known = astray ? OF_THE_SERVER.has(status) : response !== undefined;
    if (!known) faults.push(`the document does not know the status ${status}`);
    else if (response === undefined || astray) faults.push(...this.#generalFaults(operation, told));
    else faults.push(...this.#bodyFaults(operation, status, response, told));
    if (headers["content-type"]?.includes("problem+json") === true) faults.push(...problemFaults(text, told));
    return faults;
  }

  #bodyFaults({ operationId }: Operation, status: number, { content, headers = {} }: Response, told: Told): string[] {
    const [mediaType = ""] = String(told.headers["content-type"]).split(";");
    const described = content[mediaType];
    if (described === undefined) return [`the document does not know the media type ${mediaType} of ${status}`];
    const missing = Object.keys(headers).filter(
      (name) => !OPTIONAL.has(name) && told.headers[name.toLowerCase()] === undefined,
    );
    const fault = this.#judge(`${operationId} ${status}`, described.schema)(parsed(told.text));
    return [...missing.map((name) => `it has no ${name}`), ...(fault === undefined ? [] : [fault])];
  }

  /** A problem, or at the token endpoint an error of RFC 6749. */
  #generalFaults({ operationId }: Operation, { text }: Told): string[] {
    const name = operationId === "issueToken" ? "TokenError" : "Problem";
    const fault = this.#judge(name, { $ref: `#/components/schemas/${name}` })(parsed(text));
    return fault === undefined ? [] : [fault];
  }

  #judge(name: string, schema: Schema): Judge {
    const known = this.#judges.get(name);
    if (known !== undefined) return known;
    const validator = Compile({ ...(closed(schema) as object), components: this.#components });
    const judge: Judge = (body) => {
      if (validator.Check(body)) return undefined;
      const [, [first]] = validator.Errors(body);
      return `its body ${first?.instancePath} ${first?.message}`;
    };
    this.#judges.set(name, judge);
    return judge;
  }
}

/** Sent to callers of one kind only, or where they help. */
const OPTIONAL = new Set(["WWW-Authenticate"]);

function problemFaults(text: string, { status, headers }: Told): string[] {
  const problem = parsed(text) as { status?: unknown; request_id?: unknown } | undefined;
  return [
    ...(problem?.status === status ? [] : [`its problem says ${problem?.status}, but it is a ${status}`]),
    ...(problem?.request_id === headers["x-request-id"] ? [] : ["its problem has another request_id than its header"]),
  ];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same schema, but with members that it does not name forbidden: what is not in the document is not to be sent. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, closed(each)]));
  const isObject = inner.type === "object" && inner.properties !== undefined;
  return isObject && inner.additionalProperties === undefined ? { ...inner, additionalProperties: false } : inner;
}
