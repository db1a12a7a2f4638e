/**
 * The dialect of the API. Each route is prepared once, when it is added: its schemas get the words of the dialect, so that
 * validation, its errors and the OpenAPI document have them too; and its handler is wrapped, so that it sees and returns our
 * words. In our own dialect nothing is wrapped.
 */
import type { FastifySchema, RouteHandlerMethod, RouteOptions } from "fastify";
import type { Dialect } from "../../web/dialect/dialect.ts";
import type { DomainRejection } from "../problems/rejection-problems.ts";
import { rejectionIn } from "./rejection-words.ts";
import { enumWordsIn, exchangeIn, schemaIn, type WordSchema } from "./schema-words.ts";

declare module "fastify" {
  interface FastifyInstance {
    readonly dialect: ApiDialect;
  }
}

type Give = <Body>(body: Body) => Body;

export class ApiDialect {
  readonly words: Dialect;
  readonly #enums = new Set<string>();
  readonly #paths = new Set<string>();
  readonly #gives = new WeakMap<object, Give>();

  constructor(words: Dialect) {
    this.words = words;
  }

  /** Every word that the schemas list. */
  get enums(): ReadonlySet<string> {
    return this.#enums;
  }

  /** The paths of all routes, in the form of OpenAPI. */
  get paths(): ReadonlySet<string> {
    return this.#paths;
  }

  /** Adds the words of a schema that no route has. */
  add(schema: object): void {
    for (const word of enumWordsIn(schema)) this.#enums.add(word);
  }

  /** Replaces the words in bodies of a schema by the caller's. */
  giver(schema: object): Give {
    const known = this.#gives.get(schema);
    if (known !== undefined) return known;
    const exchange = this.words.isOwn ? undefined : exchangeIn(schema, this.words, "given");
    const give = (exchange ?? ((body: unknown) => body)) as Give;
    this.#gives.set(schema, give);
    return give;
  }

  /** A rejection in the caller's words. `existing` is a body of the route. */
  rejection<Why extends DomainRejection>(why: Why, existing: WordSchema | undefined): Why {
    if (this.words.isOwn) return why;
    const body = existing === undefined ? (it: object) => it : this.giver(existing);
    return rejectionIn(why, this.words, body);
  }

  /** Prepares a route that is being added. */
  prepare(route: RouteOptions): void {
    const path = openApiPath(route.url);
    this.#paths.add(path);
    this.words.paths?.know(path);
    const schema = (route.schema ?? {}) as RouteSchema;
    for (const part of schemasOf(schema)) this.add(part);
    if (this.words.isOwn || route.schema === undefined) return;
    route.handler = this.#exchanged(schema, route.handler);
    route.schema = this.#schemaOf(schema);
  }

  #exchanged({ params, querystring, body, response }: RouteSchema, handler: RouteHandlerMethod): RouteHandlerMethod {
    const take = (schema: WordSchema | undefined) => schema && exchangeIn(schema, this.words, "taken");
    const [takeParams, takeQuery, takeBody] = [take(params), take(querystring), take(body)];
    const give = response?.[200] === undefined ? undefined : this.giver(response[200]);
    return async function (request, reply) {
      if (takeParams !== undefined) request.params = takeParams(request.params);
      if (takeQuery !== undefined) request.query = takeQuery(request.query);
      if (takeBody !== undefined) request.body = takeBody(request.body);
      const answer = await handler.call(this, request, reply);
      // A handler that has sent its response itself has exchanged its words.
      return answer === reply || give === undefined ? answer : give(answer);
    };
  }

  #schemaOf(schema: RouteSchema): FastifySchema {
    const copy: Record<string, unknown> = { ...schema };
    for (const part of ["params", "querystring", "body"] as const) {
      if (schema[part] !== undefined) copy[part] = schemaIn(schema[part], this.words);
    }
    const { response } = schema;
    if (response?.[200] !== undefined) copy.response = { ...response, 200: schemaIn(response[200], this.words) };
    return copy;
  }
}

interface RouteSchema {
  readonly params?: WordSchema;
  readonly querystring?: WordSchema;
  readonly body?: WordSchema;
  readonly response?: { readonly 200?: WordSchema };
}

function schemasOf({ params, querystring, body, response }: RouteSchema): WordSchema[] {
  return [params, querystring, body, response?.[200]].filter((schema) => schema !== undefined);
}

const openApiPath = (url: string): string => url.replace(/:([A-Za-z_]+)/g, "{$1}");
