/** The OpenAPI document of a running service as a list of operations with their inputs, for tests that walk it. */
import { OBJECT_ID_PATTERN, PROFILE_ID_PATTERN } from "../../src/api/requests/schemas.ts";
import { DECIMAL_PATTERN } from "../../src/money/amount.ts";
import type { TestService } from "./service.ts";

type Check = "amount" | "date_time" | "digits" | "object_id" | "profile_id" | "uuid";

/** A JSON Schema as far as the document uses them. References have been followed when it comes from here. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
  readonly default?: unknown;
  /** The format of a text, by what the document says of it. */
  readonly check?: Check;
}

export interface Input {
  /** `item`: the items of a bulk's body, each of which is like a body of its own. */
  readonly where: "path" | "query" | "body" | "item";
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

export interface Response {
  readonly headers?: Readonly<Record<string, object>>;
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
}

export interface Operation {
  readonly operationId: string;
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  /** Any one of them lets a caller in; without any it is public. */
  readonly scopes: readonly string[];
  readonly inputs: readonly Input[];
  /** Of its body; none when it takes no body. */
  readonly mediaTypes: readonly string[];
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Document {
  /** Those with an end: a stream has none, and tests of its own (test/events/stream.test.ts). */
  readonly operations: readonly Operation[];
  readonly streams: readonly Operation[];
  readonly components: object;
}

interface RawOperation {
  readonly operationId: string;
  readonly security: readonly { readonly oauth2: readonly string[] }[];
  readonly parameters?: readonly { in: "path" | "query"; name: string; required?: boolean; schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, Response>>;
}

interface RawDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export async function readDocument(service: Pick<TestService, "call">): Promise<Document> {
  const { paths, components } = (await service.call("GET", "/openapi.json")).body as RawDocument;
  const named = ({ $ref, ...rest }: Schema): Schema => {
    if ($ref !== undefined) return { ...named(components.schemas[$ref.split("/").at(-1) ?? ""] ?? {}), ...rest };
    const check = checkOf(rest);
    return { ...rest, ...(rest.items && { items: named(rest.items) }), ...(check && { check }) };
  };
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      operationId: operation.operationId,
      method: method.toUpperCase(),
      path,
      scopes: operation.security.flatMap(({ oauth2 }) => oauth2),
      inputs: inputsOf(operation, named),
      mediaTypes: Object.keys(operation.requestBody?.content ?? {}),
      responses: operation.responses,
    })),
  );
  const isStream = ({ responses }: Operation): boolean => responses["200"]?.content["text/event-stream"] !== undefined;
  return { operations: all.filter((one) => !isStream(one)), streams: all.filter(isStream), components };
}

function checkOf({ format, pattern = "" }: Schema): Check | undefined {
  if (format === "uuid") return "uuid";
  if (format === "date-time") return "date_time";
  if (pattern === PROFILE_ID_PATTERN) return "profile_id";
  if (pattern === OBJECT_ID_PATTERN) return "object_id";
  // An amount may be empty in some bodies.
  if (pattern.endsWith(DECIMAL_PATTERN)) return "amount";
  return pattern === "^[0-9]+$" ? "digits" : undefined;
}

function inputsOf({ parameters = [], requestBody }: RawOperation, named: (schema: Schema) => Schema): Input[] {
  const [content] = Object.values(requestBody?.content ?? {});
  const body = content === undefined ? {} : named(content.schema);
  const fields = fieldsOf("body", body, named).flatMap((field) => {
    const item = named(field.schema.items ?? {});
    return item.properties === undefined ? [field] : fieldsOf("item", item, named);
  });
  const sent = parameters.map(({ in: where, name, required: needed = false, schema }) => ({
    where,
    name,
    required: needed,
    schema: named(schema),
  }));
  return [...sent, ...fields];
}

function fieldsOf(
  where: "body" | "item",
  { properties = {}, required = [] }: Schema,
  named: (schema: Schema) => Schema,
): Input[] {
  return Object.entries(properties).map(([name, schema]) => ({
    where,
    name,
    required: required.includes(name),
    schema: named(schema),
  }));
}

/** What is sent to an operation. */
export interface Call {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Readonly<Record<string, unknown>>;
  /** The only item of a bulk. */
  readonly item?: Readonly<Record<string, unknown>>;
}

export function bodyOf({ body, item }: Call): Readonly<Record<string, unknown>> | undefined {
  return item === undefined ? body : { ...body, items: [item] };
}

/** The response to a call. To a bulk: what became of its item, as if it had been sent alone. */
export function responseTo<Body>({ item }: Call, { status, body }: { readonly status: number; readonly body: Body }) {
  if (item === undefined || status !== 200) return { status, body };
  const [{ transfer, problem }] = (body as { items: [{ transfer?: Body; problem?: Body & { status: number } }] }).items;
  return { status: problem?.status ?? 200, body: (problem ?? transfer) as Body };
}

/** A call with another value of an input; without it for undefined. */
export function withValue(call: Call, { where, name }: Pick<Input, "where" | "name">, value: unknown): Call {
  return { ...call, [where]: { ...call[where], [name]: value } };
}

/** The path and query of a call. What is in `raw` goes into the path as it is, not encoded. */
export function addressOf(
  operation: Pick<Operation, "path">,
  { path = {}, query = {} }: Call,
  raw: Readonly<Record<string, string>> = {},
): string {
  const filled = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = raw[name] ?? (path[name] === undefined ? undefined : encodeURIComponent(path[name]));
    if (value === undefined) throw new Error(`${operation.path} needs a sample of its parameter ${name}`);
    return value;
  });
  const search = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) for (const value of [values].flat()) search.append(name, value);
  return search.size === 0 ? filled : `${filled}?${search}`;
}
