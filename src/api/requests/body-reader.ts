/**
 * Reads a request before it is validated: bytes become JSON, query texts become the types of their schema, null in an
 * optional field becomes absence. Rejects what cannot be validated or stored safely.
 */
import { isUtf8 } from "node:buffer";
import { parse } from "fast-querystring";
import { type FailingField, fieldName, invalid, namesOf, unknownParameters } from "../problems/failing-fields.ts";

export interface ObjectSchema {
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

interface FieldSchema {
  readonly type?: string;
  readonly "x-check"?: string;
  readonly default?: unknown;
  readonly items?: FieldSchema;
  /** The schema of items that the handler validates one by one: `readItem`. */
  readonly "x-items"?: ObjectSchema;
  readonly minLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

/** No field allows longer strings. */
const MAX_STRING_LENGTH = 1_024;
/**
 * No valid body has more, but that of a bulk. Each value can fail and is then reported: without a bound, a body of 64 KiB
 * blocks the event loop for a tenth of a second; to parse it takes 20 ms.
 */
export const MAX_VALUES = 500;
/** No valid body is deeper. */
const MAX_DEPTH = 8;
/** No valid query has more (`parametersOf`). To parse 10,000 takes four milliseconds, and one connection sends hundreds of such queries. */
export const MAX_PARAMETERS = 1_500;

/**
 * Parses a JSON body.
 * @param maxValues those of a bulk are more
 * @returns undefined for an empty body
 * @throws Problem 400
 */
export function readJson(bytes: Buffer, maxValues = MAX_VALUES): unknown {
  if (bytes.length === 0) return undefined;
  // JSON is UTF-8 (RFC 8259, section 8.1). Decoding would silently replace invalid bytes.
  if (!isUtf8(bytes)) throw invalid([{ field: "the body", rule: "is not UTF-8 text" }]);
  const text = bytes.toString("utf8");
  const names = nameCount(text, maxValues);
  const parsed = parsedJson(text);
  if (memberCount(parsed) !== names) throw invalid([{ field: "the body", rule: "has a field twice" }]);
  return parsed;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the body, which may hold a secret.
    throw invalid([{ field: "the body", rule: "is not JSON" }]);
  }
}

/**
 * Counts names and values without parsing. Of two members with one name, `JSON.parse` keeps the last and other parsers the
 * first (RFC 8259, section 4): an amount approved by a proxy could differ from the amount moved. Outside strings, each colon
 * follows a name; if there are more than the parsed value has members, one was lost. Each value but the first follows a comma
 * or the bracket of its list or object, so there are at most as many as there are of these, and one.
 * @throws Problem 400 if there may be more values
 */
function nameCount(text: string, maxValues: number): number {
  let names = 0;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COLON) names += 1;
    else if (code === COMMA || code === OPEN_LIST || code === OPEN_OBJECT) values += 1;
    if (values > maxValues) throw invalid([{ field: "the body", rule: `has more than ${maxValues} values` }]);
  }
  return names;
}

/** Where the string that begins at this quote has its other one. */
function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

const [QUOTE, BACKSLASH, COLON, COMMA, OPEN_LIST, OPEN_OBJECT] = Buffer.from('"\\:,[{') as unknown as number[];

/** Counts the members of all objects, at any depth. */
function memberCount(parsed: unknown): number {
  let members = 0;
  // Iterative: a body can be nested deeper than the stack.
  const pending = [parsed];
  for (let inner = pending.pop(); inner !== undefined; inner = pending.pop()) {
    if (typeof inner !== "object" || inner === null) continue;
    const held = Object.values(inner);
    if (!Array.isArray(inner)) members += held.length;
    pending.push(...held);
  }
  return members;
}

/** Whether a parsed value has more values in it than a body of its own may have. Stops counting there. */
export function hasTooManyValues(value: object): boolean {
  let values = 1;
  const pending: object[] = [value];
  for (let inner = pending.pop(); inner !== undefined; inner = pending.pop()) {
    // Not by Object.values, which would copy them all.
    for (const name in inner) {
      values += 1;
      if (values > MAX_VALUES) return true;
      const held = (inner as Record<string, unknown>)[name];
      if (typeof held === "object" && held !== null) pending.push(held);
    }
  }
  return false;
}

export function optionalFields({ properties = {}, required = [] }: ObjectSchema): string[] {
  return Object.keys(properties).filter((field) => !required.includes(field));
}

/** The optional fields that count as absent when they are empty: `OrEmpty` in a schema. */
export function fieldsOrEmpty({ properties = {} }: ObjectSchema): ReadonlySet<string> {
  return new Set(Object.keys(properties).filter((name) => properties[name]?.minLength === 0));
}

/** Drops optional fields without a value, in place (docs/contract/requests.md#bodies-and-parameters, rules 3 and 9). */
export function dropAbsent(
  body: Record<string, unknown>,
  optional: readonly string[],
  orEmpty: ReadonlySet<string>,
): void {
  for (const field of optional) {
    if (body[field] === null || (body[field] === "" && orEmpty.has(field))) delete body[field];
  }
}

/**
 * Cuts objects with too many pairs to one more than they may have, in place. They are rejected all the same, and the
 * validator, which reports every wrong pair, does not check hundreds.
 */
export function cutLongObjects(body: Record<string, unknown>, { properties = {} }: ObjectSchema): void {
  for (const [name, { maxProperties = Number.POSITIVE_INFINITY }] of Object.entries(properties)) {
    const value = body[name];
    if (!isObject(value)) continue;
    const names = Object.keys(value);
    if (names.length <= maxProperties) continue;
    // Of the names first: to list hundreds of pairs costs as much as to parse them.
    body[name] = Object.fromEntries(names.slice(0, maxProperties + 1).map((pair) => [pair, value[pair]]));
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Finds what no field may hold: strings that PostgreSQL cannot store (NUL) or that are not valid Unicode (unpaired
 * surrogates), strings longer than any field, nesting that is too deep. The values are not reported.
 */
export function unsoundFields(values: readonly unknown[]): FailingField[] {
  const found: FailingField[] = [];
  for (const value of values) findUnsound(value, [], found);
  return found;
}

/** @param path leads to the value. One array for the whole body, pushed to and popped from. */
function findUnsound(value: unknown, path: string[], found: FailingField[]): void {
  if (typeof value === "string") {
    const rule = unsoundTextRule(value);
    if (rule !== undefined) found.push({ field: fieldName(path), rule });
  } else if (typeof value === "object" && value !== null) {
    if (path.length === MAX_DEPTH) {
      found.push({ field: fieldName(path), rule: `is nested more than ${MAX_DEPTH} levels deep` });
      return;
    }
    for (const name of Object.keys(value)) {
      path.push(name);
      if (unsoundTextRule(name) !== undefined) {
        found.push({ field: fieldName(path), rule: "is not a name that a field can have" });
      } else {
        findUnsound((value as Record<string, unknown>)[name], path, found);
      }
      path.pop();
    }
  }
}

function unsoundTextRule(text: string): string | undefined {
  if (text.length > MAX_STRING_LENGTH) return `has more than ${MAX_STRING_LENGTH} characters`;
  if (text.includes("\0")) return "contains the character NUL";
  if (!text.isWellFormed()) return "contains an unpaired surrogate, which is not valid Unicode";
  return undefined;
}

/** A query string as it was sent: what `request.query` is until the caller is admitted. */
export interface UnparsedQuery extends Record<string, string> {
  readonly text: string;
}

/** Fastify would parse the query before it knows the caller, and 64 KiB of parameters take a millisecond. */
export const unparsedQuery = (text: string): UnparsedQuery => ({ text });

export interface ReadQuery {
  readonly query: Record<string, unknown>;
  readonly failing: readonly FailingField[];
}

/**
 * Parses and reads a query string: unknown parameters fail, repeatable ones become lists, numbers and booleans are
 * converted, defaults filled in. A text that cannot be converted stays, for the validator to reject. `ids[]` is read as
 * `ids`, because some clients send it; given in both forms it counts as given twice.
 */
export function readQuery({ text }: UnparsedQuery, { properties = {} }: ObjectSchema): ReadQuery {
  const sent: Readonly<Record<string, unknown>> = parse(text);
  const unknown = Object.keys(sent).filter((name) => !Object.hasOwn(properties, name.replace(/\[\]$/, "")));
  const query: Record<string, unknown> = {};
  const failing = unknownParameters(unknown, namesOf(properties));
  for (const [name, field] of Object.entries(properties)) {
    const texts = [...textsOf(sent[name]), ...textsOf(sent[`${name}[]`])];
    if (texts.length === 0) {
      if (field.default !== undefined) query[name] = field.default;
    } else if (field.type !== "array" && texts.length > 1) {
      failing.push({ field: name, rule: "is given more than once" });
    } else if (field.maxItems !== undefined && texts.length > field.maxItems) {
      // Rejected here, because the validator would check every one of them.
      failing.push({ field: name, rule: `has more than ${field.maxItems} entries` });
    } else if (texts.some((text) => text === "") && field.minLength !== 0) {
      failing.push({ field: name, rule: "is empty" });
    } else {
      query[name] =
        field.type === "array" ? texts.map((text) => converted(text, field.items)) : converted(texts[0], field);
    }
  }
  return { query, failing };
}

export function hasTooManyParameters({ text }: UnparsedQuery): boolean {
  let at = -1;
  for (let count = 1; count <= MAX_PARAMETERS; count += 1) {
    at = text.indexOf("&", at + 1);
    if (at === -1) return false;
  }
  return true;
}

/** How many parameters a query of this schema may have. */
export const parametersOf = ({ properties = {} }: ObjectSchema): number =>
  Object.values(properties).reduce((count, { maxItems = 1 }) => count + maxItems, 0);

function textsOf(value: unknown): readonly string[] {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]) as readonly string[];
}

function converted(text: string | undefined, field: FieldSchema | undefined): unknown {
  if (text === undefined) return undefined;
  if (field?.type === "integer" && /^-?[0-9]{1,15}$/.test(text)) return Number(text);
  if (field?.type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}
