/**
 * The methods of each path. Fastify reports "not found" both for an unknown path and for a method that the path does not
 * have; the second is a 405, which lists the methods (RFC 9110, section 15.5.6).
 */
export class KnownRoutes {
  readonly #methods = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();

  /** `url` is a route's pattern, e.g. /v2/profiles/:id. */
  add(url: string, methods: readonly string[]): void {
    const known = this.#methods.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
    for (const method of methods) known.methods.add(method);
    this.#methods.set(url, known);
  }

  /** The methods of a request's path; empty when there is no such path. `requestUrl` may have a query. */
  methodsOf(requestUrl: string): string[] {
    const path = requestUrl.split("?", 1)[0] ?? "";
    const matching = [...this.#methods.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(matching.flatMap(({ methods }) => [...methods]))].toSorted();
  }
}

function patternOf(url: string): RegExp {
  const segments = url.split("/").map((segment) => {
    if (segment.startsWith(":")) return "[^/]+";
    return segment === "*" ? ".*" : segment.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${segments.join("/")}$`);
}
