/**
 * Turns validation errors into failing fields: which field, which value, which rule, in words for the caller instead of
 * JSON Schema's.
 */
import { assert } from "../../std/assert.ts";
import { nearestName } from "../../std/nearest-name.ts";
import { CHECKS, isCheckName } from "./field-formats.ts";
import { badRequest, type Problem, type ProblemMeta } from "./problems.ts";

/** A field of a request that breaks a rule. Sent as it is in `meta.errors`. */
export interface FailingField {
  /** Its path, e.g. `amount`, `metadata.note`, `ids[3]`. */
  readonly field: string;
  /** As sent, shortened. Absent when nothing was sent, or when it may be a secret. */
  readonly value?: string | number | boolean | null;
  /** A sentence without its subject, e.g. `is required`. */
  readonly rule: string;
}

/** The parts used here of an ajv error, with ajv's option `verbose`. */
export interface ShapeError {
  readonly keyword: string;
  /** A JSON pointer to the value that failed. */
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The value of the keyword in the schema, and the schema that it stands in. */
  readonly schema?: unknown;
  readonly parentSchema?: {
    readonly title?: string;
    readonly writeOnly?: boolean;
    readonly properties?: Readonly<Record<string, unknown>>;
  };
  readonly data?: unknown;
  /** The property name that failed, in an error within `propertyNames`. */
  readonly propertyName?: string;
  readonly message?: string;
}

const SHOWN_CHARACTERS = 100;

/**
 * The problem of a request with these failing fields. Its detail is about the first; `meta.errors` lists all.
 * @param failing at least one
 */
export function invalid(failing: readonly FailingField[]): Problem {
  const { detail, meta } = failureOf(failing);
  return badRequest(detail, meta);
}

/** The text of that problem. */
export function failureOf(failing: readonly FailingField[]): { readonly detail: string; readonly meta: ProblemMeta } {
  const [first] = failing;
  assert(first !== undefined, "there is at least one failing field");
  return { detail: sentenceOf(first), meta: { errors: failing } };
}

/** The sentence of one field, e.g. `amount "1e3" is not a decimal number: ...`. */
function sentenceOf({ field, value, rule }: FailingField): string {
  return value === undefined ? `${field} ${rule}` : `${field} ${JSON.stringify(value)} ${rule}`;
}

/** A value as the response shows it: shortened, but recognisable. */
export function shownValue(value: unknown): string | number | boolean | null {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  return shortened(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

function shortened(text: string): string {
  if (text.length <= SHOWN_CHARACTERS) return text;
  // Cut between code points: half of one is not text.
  const start = Array.from(text.slice(0, 2 * SHOWN_CHARACTERS)).slice(0, SHOWN_CHARACTERS);
  return `${start.join("")}...`;
}

/**
 * The errors of one part of a request as failing fields, each field once.
 * @param fieldOrder the fields of the schema, in the order of the result
 */
export function failingFields(errors: readonly ShapeError[], fieldOrder: readonly string[]): FailingField[] {
  const first = new Map<string, FailingField>();
  for (const error of errors.toSorted(byPriority)) {
    const field = failingName(error);
    // Described only once: a hundred errors of one field would each show its whole value.
    if (field !== undefined && !first.has(field)) first.set(field, describe(error, field, first.size));
  }
  const place = (failing: FailingField): number => {
    const at = fieldOrder.indexOf(/^[^.[]*/.exec(failing.field)?.[0] ?? "");
    return at === -1 ? fieldOrder.length : at;
  };
  return [...first.values()].toSorted((a, b) => place(a) - place(b));
}

/** The text of a named check (`x-check`) is preferred to that of a pattern or length of the same field. */
function byPriority(a: ShapeError, b: ShapeError): number {
  return Number(b.keyword === "x-check") - Number(a.keyword === "x-check");
}

/** @returns undefined for an error that another one covers */
function failingName({ keyword, instancePath, params, propertyName }: ShapeError): string | undefined {
  // The `propertyNames` error that follows covers it.
  if (propertyName !== undefined) return undefined;
  const path = instancePath.split("/").slice(1).map(unescapedPointer);
  if (keyword === "required") return fieldName([...path, String(params.missingProperty)]);
  if (keyword === "additionalProperties") return fieldName([...path, String(params.additionalProperty)]);
  return fieldName(path);
}

/** @param before how many fields are described already */
function describe(error: ShapeError, field: string, before: number): FailingField {
  if (error.keyword === "required") return { field, rule: "is required" };
  // Without its value: a secret in a misspelt field would end up in a log.
  if (error.keyword === "additionalProperties") {
    const known = before < MOST_HINTS ? namesOf(error.parentSchema?.properties ?? NO_FIELDS) : [];
    return { field, rule: UNKNOWN_FIELD + hintFor(String(error.params.additionalProperty), known) };
  }
  const rule = error.keyword === "enum" ? enumRule(error, before === 0) : ruleOf(error);
  return error.parentSchema?.writeOnly === true ? { field, rule } : { field, value: shownValue(error.data), rule };
}

const UNKNOWN_FIELD = "is not a field of this request";

/** Of the first failing fields only: a body can have hundreds of unknown ones, each to be compared with all known names. */
const MOST_HINTS = 10;

const NO_FIELDS = {};
const NAMES = new WeakMap<object, readonly string[]>();

/** The names of the fields of a schema: one list for all requests, which `nearestName` prepares once. */
export function namesOf(properties: Readonly<Record<string, unknown>>): readonly string[] {
  const names = NAMES.get(properties) ?? Object.keys(properties);
  NAMES.set(properties, names);
  return names;
}

function hintFor(wrong: string, known: readonly string[]): string {
  const near = nearestName(wrong, known);
  return near === undefined ? "" : `: did you mean ${near}?`;
}

/**
 * The failures of parameters that an operation does not have. An ignored filter would return records that the caller did
 * not ask for.
 * @param unknown the first few are reported
 */
export function unknownParameters(unknown: readonly string[], known: readonly string[]): FailingField[] {
  const all = known.length === 0 ? "It takes none." : `It takes ${known.join(", ")}.`;
  return unknown.slice(0, MOST_HINTS).map((name) => {
    const hint = hintFor(name, known);
    return { field: fieldName([name]), rule: `is not a parameter of this operation${hint === "" ? "." : hint} ${all}` };
  });
}

function unescapedPointer(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** `metadata.note`, `ids[3]`; the whole body is `the body`. */
export function fieldName(path: readonly string[]): string {
  if (path.length === 0) return "the body";
  return path
    .map((step, at) => (/^[0-9]+$/.test(step) && at > 0 ? `[${step}]` : `${at > 0 ? "." : ""}${shortened(step)}`))
    .join("");
}

function ruleOf(error: ShapeError): string {
  const limit = error.schema;
  switch (error.keyword) {
    case "x-check":
      return (isCheckName(limit) ? CHECKS[limit](String(error.data)) : undefined) ?? "breaks a rule";
    case "type":
      return TYPE_RULES[String(limit)] ?? `is not of type ${String(limit)}`;
    case "const":
      return `is not ${JSON.stringify(limit)}`;
    case "pattern":
      return `does not match ${String(limit)}`;
    case "propertyNames":
      return `has a name that is not allowed: ${JSON.stringify(shortened(String(error.params.propertyName)))}`;
    default:
      return limitRule(error.keyword, Number(limit)) ?? `breaks a rule: ${error.message ?? error.keyword}`;
  }
}

/** A longer enum is named: the response has the rule twice. */
const MOST_LISTED = 40;

function enumRule({ schema, parentSchema, data }: ShapeError, withHint: boolean): string {
  const values = schema as readonly string[];
  if (values.length <= MOST_LISTED) return `is not one of ${values.join(", ")}`;
  const hint = withHint ? hintFor(String(data), values) : "";
  return `is not one of the ${values.length} values of ${parentSchema?.title ?? "its enum"} in /openapi.json${hint}`;
}

const TYPE_RULES: Readonly<Record<string, string>> = {
  array: "is not a list",
  boolean: "is not true or false",
  integer: "is not a whole number",
  number: "is not a number",
  object: "is not an object",
  string: "is not a string",
};

function limitRule(keyword: string, limit: number): string | undefined {
  switch (keyword) {
    case "minLength":
      return limit === 1 ? "is empty" : `has fewer than ${limit} characters`;
    case "maxLength":
      return `has more than ${limit} characters`;
    case "minimum":
      return `is below ${limit}`;
    case "maximum":
      return `is above ${limit}`;
    case "minItems":
      return `has fewer than ${limit} entries`;
    case "maxItems":
      return `has more than ${limit} entries`;
    case "minProperties":
      return `has fewer than ${limit} pairs`;
    case "maxProperties":
      return `has more than ${limit} pairs`;
    default:
      return undefined;
  }
}
