/**
 * `default` as a profile id (docs/contract/requests.md#tenancy): in paths, bodies and filters, wherever a schema has
 * `ProfileIdParam`. It is replaced before the handler, so handlers only see ids.
 */
import type { FastifyRequest, RouteHandlerMethod } from "fastify";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { ObjectSchema } from "./body-reader.ts";
import type { RouteSchemas } from "./validation.ts";

export type DefaultProfileOf = (customerId: CustomerId) => Promise<string>;

const DEFAULT = "default";

interface Place {
  readonly part: "params" | "query" | "body";
  readonly name: string;
}

/** Wraps a handler: it gets the id of the caller's DEFAULT profile where the request says `default`. */
export function withDefaultProfile(
  schemas: RouteSchemas,
  defaultProfileOf: DefaultProfileOf,
  handler: RouteHandlerMethod,
): RouteHandlerMethod {
  const places = [
    ...placesIn("params", schemas.params),
    ...placesIn("query", schemas.querystring),
    ...placesIn("body", schemas.body),
  ];
  if (places.length === 0) return handler;
  return async function (request, reply) {
    if (places.some((place) => saysDefault(valueAt(request, place)))) {
      const id = await defaultProfileOf(request.grant.customerId);
      for (const place of places) replaceAt(request, place, id);
    }
    return handler.call(this, request, reply);
  };
}

function placesIn(part: Place["part"], schema: unknown): Place[] {
  return Object.entries((schema as ObjectSchema | undefined)?.properties ?? {}).flatMap(([name, field]) =>
    (field.items ?? field)["x-check"] === "profile_id" ? [{ part, name }] : [],
  );
}

const partOf = (request: FastifyRequest, { part }: Place): Record<string, unknown> =>
  (request[part] ?? {}) as Record<string, unknown>;

const valueAt = (request: FastifyRequest, place: Place): unknown => partOf(request, place)[place.name];

const saysDefault = (value: unknown): boolean =>
  Array.isArray(value) ? value.some((one) => one === DEFAULT) : value === DEFAULT;

function replaceAt(request: FastifyRequest, place: Place, id: string): void {
  const value = valueAt(request, place);
  const replaced = (one: unknown): unknown => (one === DEFAULT ? id : one);
  if (saysDefault(value)) {
    partOf(request, place)[place.name] = Array.isArray(value) ? value.map(replaced) : replaced(value);
  }
}
