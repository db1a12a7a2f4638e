/**
 * `default` as a profile id (docs/contract/requests.md#tenancy): in paths, bodies and filters, wherever a schema has
 * `ProfileIdParam`. It is replaced before the handler, so handlers only see ids.
 */
import type { FastifyRequest, RouteHandlerMethod } from "fastify";
import type { CustomerId } from "../../customers/customer-id.ts";
import { isObject, type ObjectSchema } from "./body-reader.ts";
import type { RouteSchemas } from "./validation.ts";

export type DefaultProfileOf = (customerId: CustomerId) => Promise<string>;

const DEFAULT = "default";

interface Place {
  readonly part: "params" | "query" | "body";
  /** The field with the items that have it, each of which the handler validates. */
  readonly list?: string;
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
    if (places.some((place) => objectsWith(request, place).some((object) => saysDefault(object[place.name])))) {
      const id = await defaultProfileOf(request.grant.customerId);
      for (const place of places) for (const object of objectsWith(request, place)) replaceIn(object, place.name, id);
    }
    return handler.call(this, request, reply);
  };
}

function placesIn(part: Place["part"], schema: unknown): Place[] {
  return Object.entries((schema as ObjectSchema | undefined)?.properties ?? {}).flatMap(([name, field]) => {
    const items = field["x-items"];
    if (items !== undefined) return placesIn(part, items).map((place) => ({ ...place, list: name }));
    return (field.items ?? field)["x-check"] === "profile_id" ? [{ part, name }] : [];
  });
}

function objectsWith(request: FastifyRequest, { part, list }: Place): readonly Record<string, unknown>[] {
  const fields = (request[part] ?? {}) as Record<string, unknown>;
  return list === undefined ? [fields] : (fields[list] as readonly unknown[]).filter(isObject);
}

const saysDefault = (value: unknown): boolean =>
  Array.isArray(value) ? value.some((one) => one === DEFAULT) : value === DEFAULT;

function replaceIn(object: Record<string, unknown>, name: string, id: string): void {
  const value = object[name];
  const replaced = (one: unknown): unknown => (one === DEFAULT ? id : one);
  if (saysDefault(value)) object[name] = Array.isArray(value) ? value.map(replaced) : replaced(value);
}
