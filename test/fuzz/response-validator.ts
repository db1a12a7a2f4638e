/** Validates responses against the OpenAPI document and against the rules for all of them. */
import { Compile } from "typebox/schema";
import type { Document, Operation, Response, Schema } from "../support/openapi.ts";
import type { HttpRequest, HttpResponse } from "./http-request.ts";

/** Statuses of the server itself, outside of any operation: the document's introduction lists them. */
const OF_THE_SERVER = new Set([400, 404, 405, 408, 413, 414, 415, 431, 501]);

type Validate = (body: unknown) => string | undefined;

export class ResponseValidator {
  readonly #components: object;
  readonly #validators = new Map<string, Validate>();

  constructor({ components }: Document) {
    this.#components = closed(components) as object;
  }

  /** What is wrong with a response, a sentence each. */
  faults(request: HttpRequest, response: HttpResponse): string[] {
    const { operation, wrong, astray = false, method } = request;
    const faults: string[] = [];
    const { status, headers, text } = response;
    if (status >= 500) faults.push(`it returns ${status}`);
    if (wrong !== undefined && (status < 400 || status > 499)) faults.push(`it is not rejected, but returns ${status}`);
    if (typeof headers["x-request-id"] !== "string") faults.push("it has no X-Request-Id");
    if (status === 401 && operation.scopes.length > 0 && headers["www-authenticate"] === undefined) {
      faults.push("it has no WWW-Authenticate");
    }
    if (status === 405 && headers.allow === undefined) faults.push("it has no Allow");
    if (method === "HEAD") return faults;
    const described = operation.responses[status];
    const known = astray ? OF_THE_SERVER.has(status) : described !== undefined;
    if (!known) faults.push(`the document lacks the status ${status}`);
    else if (described === undefined || astray) faults.push(...this.#generalFaults(operation, response));
    else faults.push(...this.#bodyFaults(operation, status, described, response));
    if (headers["content-type"]?.includes("problem+json") === true) faults.push(...problemFaults(text, response));
    return faults;
  }

  #bodyFaults(
    { operationId }: Operation,
    status: number,
    { content, headers = {} }: Response,
    received: HttpResponse,
  ): string[] {
    const [mediaType = ""] = String(received.headers["content-type"]).split(";");
    const described = content[mediaType];
    if (described === undefined) return [`the document lacks the media type ${mediaType} of ${status}`];
    const missing = Object.keys(headers).filter(
      (name) => !OPTIONAL.has(name) && received.headers[name.toLowerCase()] === undefined,
    );
    const fault = this.#validatorOf(`${operationId} ${status}`, described.schema)(parsed(received.text));
    return [...missing.map((name) => `it has no ${name}`), ...(fault === undefined ? [] : [fault])];
  }

  /** A problem, or at the token endpoint an error of RFC 6749. */
  #generalFaults({ operationId }: Operation, { text }: HttpResponse): string[] {
    const name = operationId === "issueToken" ? "TokenError" : "Problem";
    const fault = this.#validatorOf(name, { $ref: `#/components/schemas/${name}` })(parsed(text));
    return fault === undefined ? [] : [fault];
  }

  #validatorOf(name: string, schema: Schema): Validate {
    const known = this.#validators.get(name);
    if (known !== undefined) return known;
    const validator = Compile({ ...(closed(schema) as object), components: this.#components });
    const validate: Validate = (body) => {
      if (validator.Check(body)) return undefined;
      const [, [first]] = validator.Errors(body);
      return `its body ${first?.instancePath} ${first?.message}`;
    };
    this.#validators.set(name, validate);
    return validate;
  }
}

/** Not in every response. */
const OPTIONAL = new Set(["WWW-Authenticate"]);

function problemFaults(text: string, { status, headers }: HttpResponse): string[] {
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

/** The same schema, but without further members: a response may only contain what the document describes. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, closed(each)]));
  const isObject = inner.type === "object" && inner.properties !== undefined;
  return isObject && inner.additionalProperties === undefined ? { ...inner, additionalProperties: false } : inner;
}
