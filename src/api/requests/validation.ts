/**
 * Validation of requests. Fastify validates by ajv and the schemas of the route. This module configures ajv, reads the
 * request beforehand, and reports every failing field with the rule that it breaks.
 */
import type { FastifyRequest, FastifyServerOptions, preValidationHookHandler } from "fastify";
import type { Static, TSchema } from "typebox";
import { assert } from "../../std/assert.ts";
import { done, type Result, reject } from "../../std/result.ts";
import { MEANING, SHOWN_AS } from "../openapi/document-schemas.ts";
import { type FailingField, failingFields, invalid, type ShapeError } from "../problems/failing-fields.ts";
import { CHECKS, isCheckName } from "../problems/field-formats.ts";
import type { Problem } from "../problems/problems.ts";
import {
  cutLongObjects,
  dropAbsent,
  fieldsOrEmpty,
  hasTooManyParameters,
  hasTooManyValues,
  isObject,
  MAX_PARAMETERS,
  MAX_VALUES,
  type ObjectSchema,
  optionalFields,
  parametersOf,
  readQuery,
  type UnparsedQuery,
  unsoundFields,
} from "./body-reader.ts";

/** The validator changes nothing: it neither removes, converts nor fills in. */
export const AJV: FastifyServerOptions["ajv"] = {
  // `pattern` is documentation only; `x-check` beside it is the rule, and looks at the length first. The contract's pattern of
  // amounts takes quadratic time on digits that end in a letter, and ajv would try it on overlong text too: it seeks all errors.
  onCreate: (ajv) => {
    ajv.removeKeyword("pattern").addKeyword({
      keyword: "pattern",
      code: ({ parentSchema, schema }) => assert("x-check" in parentSchema, () => `${schema} has an x-check beside it`),
    });
  },
  customOptions: {
    removeAdditional: false,
    coerceTypes: false,
    useDefaults: false,
    allErrors: true,
    verbose: true,
    // `format` is documentation only; `x-check` is the rule.
    validateFormats: false,
    keywords: [
      {
        keyword: "x-check",
        type: "string",
        schemaType: "string",
        validate: (name: unknown, text: string) => isCheckName(name) && CHECKS[name](text) === undefined,
      },
      // Of which kind of words a text is one (`dialect/schema-words.ts`). Restricts nothing.
      { keyword: "x-word", schemaType: "string" },
      // The schema of items that `readItem` validates one by one.
      { keyword: "x-items", schemaType: "object" },
      // For the document only.
      { keyword: MEANING },
      { keyword: SHOWN_AS },
    ],
  },
};

/** The parts of a request, in the order in which their failures are reported. */
const PARTS = ["params", "querystring", "body"] as const;

export type RouteSchemas = { readonly [Part in (typeof PARTS)[number]]?: unknown };

/** A route of /v2 whose schema has no parameters takes none: each one is rejected. */
const NO_PARAMETERS: ObjectSchema = {};

/** Reads the request by its schemas, before Fastify validates it. */
export function readRequest(path: string, schemas: RouteSchemas): preValidationHookHandler {
  const querySchema = (schemas.querystring ?? (path.startsWith("/v2/") ? NO_PARAMETERS : undefined)) as
    | ObjectSchema
    | undefined;
  assert(parametersOf(querySchema ?? {}) <= MAX_PARAMETERS, () => `a query of ${path} may have too many parameters`);
  const bodySchema = schemas.body as ObjectSchema | undefined;
  const optional = bodySchema === undefined ? [] : optionalFields(bodySchema);
  const orEmpty = fieldsOrEmpty(bodySchema ?? {});
  return (request, _reply, done) => {
    const sent = request.query as UnparsedQuery;
    if (querySchema !== undefined && hasTooManyParameters(sent))
      return done(invalid([{ field: "the query", rule: `has more than ${MAX_PARAMETERS} parameters` }]));
    const read = querySchema && readQuery(sent, querySchema);
    if (read !== undefined) request.query = read.query;
    const inQuery = read?.failing ?? [];
    if (bodySchema !== undefined) {
      const missing = { field: "the body", rule: "is missing: send a JSON object" };
      if (request.body === undefined) return done(invalid([...inQuery, missing]));
      if (!isObject(request.body))
        return done(invalid([...inQuery, { field: "the body", rule: "is not a JSON object" }]));
      dropAbsent(request.body, optional, orEmpty);
      cutLongObjects(request.body, bodySchema);
    }
    const { body, tooLong } = withoutItems(request.body, bodySchema);
    // The validator must not see text that is longer than any field: each failing rule may look at all of it.
    const unsound = [...tooLong, ...unsoundFields([request.params, read?.query, body])];
    if (unsound.length > 0) return done(invalid([...inQuery, ...unsound]));
    return inQuery.length === 0 ? done() : done(shapeProblem(request, inQuery));
  };
}

/**
 * A body without the items that the handler reads by `readItem`. A list of too many is rejected here, because the validator
 * would report its value.
 */
function withoutItems(body: unknown, { properties = {} }: ObjectSchema = {}) {
  const rest: Record<string, unknown> = { ...(body as object | undefined) };
  const tooLong: FailingField[] = [];
  for (const [name, { "x-items": schema, maxItems = Number.POSITIVE_INFINITY }] of Object.entries(properties)) {
    const items = rest[name];
    if (schema === undefined || !Array.isArray(items)) continue;
    delete rest[name];
    if (items.length > maxItems) tooLong.push({ field: name, rule: `has more than ${maxItems} entries` });
  }
  return { body: rest, tooLong };
}

/**
 * Reads and validates one of the items of a body (`x-items`). Rejected with the problem that it would get as a body of its
 * own.
 */
export function readItem<Schema extends TSchema>(
  request: FastifyRequest,
  item: unknown,
  schema: Schema,
): Result<Static<Schema>, Problem> {
  if (!isObject(item)) return reject(invalid([{ field: "the item", rule: "is not a JSON object" }]));
  if (hasTooManyValues(item))
    return reject(invalid([{ field: "the item", rule: `has more than ${MAX_VALUES} values` }]));
  const known = schema as ObjectSchema;
  dropAbsent(item, optionalFields(known), fieldsOrEmpty(known));
  cutLongObjects(item, known);
  const unsound = unsoundFields([item]);
  if (unsound.length > 0) return reject(invalid(unsound));
  const validate = request.compileValidationSchema(schema);
  if (validate(item)) return done(item as Static<Schema>);
  const errors = (validate.errors ?? []) as readonly ShapeError[];
  return reject(invalid(failingFields(errors, Object.keys(known.properties ?? {}))));
}

/**
 * The problem of an invalid request. Fastify stops at the first part that fails; the response reports all of them, so
 * all parts are validated again. What `readRequest` found comes first.
 */
export function shapeProblem(request: FastifyRequest, foundInReading: readonly FailingField[] = []): Problem {
  const known = new Set(foundInReading.map(({ field }) => field));
  const found = PARTS.flatMap((part) => validatePart(request, part)).filter(({ field }) => !known.has(field));
  return invalid([...foundInReading, ...found]);
}

function validatePart(request: FastifyRequest, part: (typeof PARTS)[number]): FailingField[] {
  const validate = request.getValidationFunction(part);
  if (validate === undefined) return [];
  validate(part === "params" ? request.params : part === "body" ? request.body : request.query);
  const schema = request.routeOptions.schema?.[part] as ObjectSchema | undefined;
  return failingFields((validate.errors ?? []) as readonly ShapeError[], Object.keys(schema?.properties ?? {}));
}
