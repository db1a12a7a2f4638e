/** The paths of a dialect: requests are routed by ours, and documented by theirs. */

interface Path {
  readonly theirs: readonly string[];
  readonly ours: readonly string[];
  readonly isRenamed: boolean;
  readonly parameters: number;
}

/** Where the path in a request's target begins: a target may be a whole URL (RFC 9112, section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?#]*/i;
/** No route has this path. */
const NOWHERE = "/v2";

export class ExchangedPaths {
  readonly #given: ReadonlyMap<string, string>;
  /** Paths with fewer parameters first: `/v2/events/stream` before `/v2/events/{id}`. */
  #paths: readonly Path[] = [];

  /** @param pairs our path and theirs, with the same parameters in braces */
  constructor(pairs: readonly (readonly [ours: string, theirs: string])[]) {
    this.#given = new Map(pairs);
    for (const [ours, theirs] of pairs) this.#add(ours, theirs);
  }

  /** Adds the path of a route. One that has no other name keeps its own, also beside a renamed path that matches it. */
  know(ours: string): void {
    if (!this.#given.has(ours)) this.#add(ours, ours);
  }

  #add(ours: string, theirs: string): void {
    const parameters = ours.split("{").length;
    const path = { ours: ours.split("/"), theirs: theirs.split("/"), isRenamed: ours !== theirs, parameters };
    this.#paths = [...this.#paths, path].toSorted((a, b) => a.parameters - b.parameters);
  }

  /** The path of a route as callers know it. */
  given(ours: string): string {
    return this.#given.get(ours) ?? ours;
  }

  /** The target of a request as our routes know it. */
  taken(target: string): string {
    const origin = ORIGIN.exec(target)?.[0] ?? "";
    const end = target.slice(origin.length).search(/[?#]/);
    const path = end === -1 ? target.slice(origin.length) : target.slice(origin.length, origin.length + end);
    const routed = this.#routed(path.split("/"));
    return routed === undefined ? target : routed + target.slice(origin.length + path.length);
  }

  /** @returns undefined: as it was sent */
  #routed(sent: readonly string[]): string | undefined {
    const path = this.#paths.find(({ theirs }) => matches(sent, theirs));
    if (path?.isRenamed !== true) return undefined;
    const values = new Map(path.theirs.map((segment, at) => [segment, sent[at] ?? ""]));
    const routed = path.ours.map((segment) => (isParameter(segment) ? (values.get(segment) ?? "") : segment));
    // With "stream" for an id, `/v2/news/{id}` would lead to `/v2/events/stream`, where `/v2/events/{id}` does not.
    return path === this.#paths.find(({ ours }) => matches(routed, ours)) ? routed.join("/") : NOWHERE;
  }
}

function matches(sent: readonly string[], pattern: readonly string[]): boolean {
  return (
    sent.length === pattern.length &&
    pattern.every((segment, at) => isParameter(segment) || decoded(sent[at] ?? "") === segment)
  );
}

export const isParameter = (segment: string): boolean => segment.startsWith("{");

/** The router decodes paths before it compares them. */
function decoded(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
