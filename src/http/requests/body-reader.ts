/**
 * Makes a request readable before its shape is judged: bytes become JSON, query texts become what their schema asks
 * for, null in an optional field becomes its absence. What cannot be read in a safe way is found here.
 */
import { isUtf8 } from "node:buffer";
import { type FailingField, fieldName, invalid } from "../problems/failing-fields.ts";

/** The part of an object schema that reading needs. */
export interface ObjectSchema {
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

interface FieldSchema {
  readonly type?: string;
  readonly default?: unknown;
  readonly items?: FieldSchema;
  readonly minLength?: number;
  readonly maxItems?: number;
}

/** Longer strings than any field has. It also bounds what a pattern may be tried on: patterns can take quadratic time. */
const MAX_STRING_LENGTH = 1_024;
/**
 * More than any body has. Each value can fail, and is then looked for, worded and sent back: without a bound 64 KiB of
 * them keep everybody else waiting for a tenth of a second.
 */
const MAX_VALUES = 500;
/** Deeper than any body of ours, and no danger to the stack. */
const MAX_DEPTH = 8;

/** Reads a body. Undefined when it is empty: whether one is needed is the route's to say. */
export function readJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  // JSON is UTF-8 (RFC 8259, section 8.1). Decoding would replace what is not in silence.
  if (!isUtf8(bytes)) throw invalid([{ field: "the body", rule: "is not UTF-8 text" }]);
  const text = bytes.toString("utf8");
  const parsed = parsedJson(text);
  const { members, values } = countIn(parsed);
  if (values > MAX_VALUES) throw invalid([{ field: "the body", rule: `has more than ${MAX_VALUES} values` }]);
  if (members !== nameCount(text)) {
    throw invalid([{ field: "the body", rule: "has a field twice, of which only one could be meant" }]);
  }
  return parsed;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own words quote the body, which may hold a secret.
    throw invalid([{ field: "the body", rule: "is not JSON" }]);
  }
}

/**
 * The parser keeps the last of two members with one name, and others keep the first (RFC 8259, section 4): an amount
 * that somebody has approved on the way would not be the amount that is moved. In JSON a string is a name when a colon
 * follows it; when the text has more names than the value has members, one of them was lost.
 */
function nameCount(text: string): number {
  const string = /"(?:[^"\\]|\\.)*"[ \t\r\n]*:?/g;
  let count = 0;
  // Asked only whether it matches, and where that ends: a match is an object for each string of the body.
  while (string.test(text)) if (text.charCodeAt(string.lastIndex - 1) === COLON) count += 1;
  return count;
}

const COLON = ":".charCodeAt(0);

/** The members of all objects, and the values that there are, at any depth. */
function countIn(parsed: unknown): { members: number; values: number } {
  let [members, values] = [0, 0];
  // Not by recursion: a body of 64 KiB can be nested deeper than the stack.
  const waiting = [parsed];
  for (let inner = waiting.pop(); inner !== undefined; inner = waiting.pop()) {
    values += 1;
    if (typeof inner !== "object" || inner === null) continue;
    const held = Object.values(inner);
    if (!Array.isArray(inner)) members += held.length;
    waiting.push(...held);
  }
  return { members, values };
}

export function optionalFields({ properties = {}, required = [] }: ObjectSchema): string[] {
  return Object.keys(properties).filter((field) => !required.includes(field));
}

/** Drops null in optional fields (docs/contract/requests.md#bodies-and-parameters, rule 3). Changes the body itself. */
export function dropNulls(body: Record<string, unknown>, optional: readonly string[]): void {
  for (const field of optional) if (body[field] === null) delete body[field];
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Finds what no field may hold, wherever it stands: strings that PostgreSQL cannot store (NUL) or that are not text
 * (half a surrogate pair), strings longer than any field, too deep nesting.
 * The values are not shown: they are not fit to be.
 */
export function unsoundFields(values: readonly unknown[]): FailingField[] {
  const found: FailingField[] = [];
  for (const value of values) findUnsound(value, [], found);
  return found;
}

/** `path` leads to the value. It is one list for the whole body, longer on the way down and shorter on the way back. */
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
  if (!text.isWellFormed()) return "contains half of a surrogate pair, which is not text";
  return undefined;
}

export interface ReadQuery {
  readonly query: Record<string, unknown>;
  readonly failing: readonly FailingField[];
}

/**
 * Reads a query string: unknown parameters are left out, repeatable ones become lists, numbers and booleans are
 * converted, defaults filled in. A text that cannot be converted stays as it is, for the validator to refuse.
 * `ids[]` is read as `ids`: some clients write it so. Given both ways it is given twice.
 */
export function readQuery(sent: Readonly<Record<string, unknown>>, schema: ObjectSchema): ReadQuery {
  const query: Record<string, unknown> = {};
  const failing: FailingField[] = [];
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const texts = [...textsOf(sent[name]), ...textsOf(sent[`${name}[]`])];
    if (texts.length === 0) {
      if (field.default !== undefined) query[name] = field.default;
    } else if (field.type !== "array" && texts.length > 1) {
      failing.push({ field: name, rule: "is given more than once" });
    } else if (field.maxItems !== undefined && texts.length > field.maxItems) {
      // Refused here, for the validator would look at every one of them.
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
