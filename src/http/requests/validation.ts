/**
 * The shape of requests. Fastify compiles the schemas of a route with ajv and judges each request by them; here is how
 * strict ajv is, what is done to a request before, and how a failure is told: every failing field, each with its rule.
 */
import type { FastifyRequest, FastifyServerOptions, preValidationHookHandler } from "fastify";
import { type FailingField, failingFields, invalid, type ShapeError } from "../problems/failing-fields.ts";
import { CHECKS, isCheckName } from "../problems/field-formats.ts";
import type { Problem } from "../problems/problems.ts";
import { dropNulls, isObject, type ObjectSchema, optionalFields, readQuery, unsoundFields } from "./body-reader.ts";

/** Nothing is removed, converted or filled in by the validator: what a handler sees is what was sent. */
export const AJV: FastifyServerOptions["ajv"] = {
  customOptions: {
    removeAdditional: false,
    coerceTypes: false,
    useDefaults: false,
    allErrors: true,
    verbose: true,
    // `format` is for readers of the document; the rule itself is an `x-check`.
    validateFormats: false,
    keywords: [
      {
        keyword: "x-check",
        type: "string",
        schemaType: "string",
        validate: (name: unknown, text: string) => isCheckName(name) && CHECKS[name](text) === undefined,
      },
    ],
  },
};

/** The parts of a request in the order in which their failures are told. */
const PARTS = ["params", "querystring", "body"] as const;

export type RouteSchemas = { readonly [Part in (typeof PARTS)[number]]?: unknown };

/** Reads the request as its schemas say, before Fastify judges it by them. */
export function readRequest(schemas: RouteSchemas): preValidationHookHandler {
  const querySchema = schemas.querystring as ObjectSchema | undefined;
  const bodySchema = schemas.body as ObjectSchema | undefined;
  const optional = bodySchema === undefined ? [] : optionalFields(bodySchema);
  return (request, _reply, done) => {
    const read = querySchema && readQuery(request.query as Record<string, unknown>, querySchema);
    if (read !== undefined) request.query = read.query;
    if (bodySchema !== undefined) {
      if (request.body === undefined)
        return done(invalid([{ field: "the body", rule: "is missing: a JSON object is expected" }]));
      if (!isObject(request.body)) return done(invalid([{ field: "the body", rule: "is not a JSON object" }]));
      dropNulls(request.body, optional);
    }
    // The validator must not see unsound text: a pattern could take it minutes.
    const unsound = unsoundFields([request.params, read?.query, request.body]);
    if (unsound.length > 0) return done(invalid(unsound));
    return read === undefined || read.failing.length === 0 ? done() : done(shapeProblem(request, read.failing));
  };
}

/**
 * The problem of a request whose shape is wrong. Fastify stops at the first part of a request that fails; the caller
 * is to hear of all of them, so all parts are judged again. What was found in reading comes first.
 */
export function shapeProblem(request: FastifyRequest, foundInReading: readonly FailingField[] = []): Problem {
  const known = new Set(foundInReading.map(({ field }) => field));
  const judged = PARTS.flatMap((part) => validatePart(request, part)).filter(({ field }) => !known.has(field));
  return invalid([...foundInReading, ...judged]);
}

function validatePart(request: FastifyRequest, part: (typeof PARTS)[number]): FailingField[] {
  const judge = request.getValidationFunction(part);
  if (judge === undefined) return [];
  judge(part === "params" ? request.params : part === "body" ? request.body : request.query);
  const schema = request.routeOptions.schema?.[part] as ObjectSchema | undefined;
  return failingFields((judge.errors ?? []) as readonly ShapeError[], Object.keys(schema?.properties ?? {}));
}
