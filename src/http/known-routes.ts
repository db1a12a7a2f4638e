/**
 * Which methods a path has. Fastify answers "not found" both for a path that does not exist and for a method that a
 * path does not have; the second is a 405, which names the methods that there are (RFC 9110, section 15.5.6).
 */
export class KnownRoutes {
  readonly #methods = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();

  /** `url` is a route's pattern, e.g. /v2/profiles/:id. */
  add(url: string, methods: readonly string[]): void {
    const known = this.#methods.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
    for (const method of methods) known.methods.add(method);
    this.#methods.set(url, known);
  }

  /** The methods of a path as it was sent, with or without a query; none when there is no such path. */
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
