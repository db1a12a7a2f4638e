/** The paths of a dialect: requests are routed by ours, and documented by theirs. */

interface Path {
  readonly theirs: readonly string[];
  readonly ours: readonly string[];
  readonly parameters: number;
}

/** Where the path in a request's target begins: a target may be a whole URL (RFC 9112, section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?#]*/i;

export class ExchangedPaths {
  readonly #given: ReadonlyMap<string, string>;
  /** Paths with fewer parameters first: `/v2/events/stream` before `/v2/events/{id}`. */
  readonly #paths: readonly Path[];

  /** @param pairs our path and theirs, with the same parameters in braces */
  constructor(pairs: readonly (readonly [ours: string, theirs: string])[]) {
    this.#given = new Map(pairs);
    this.#paths = pairs
      .map(([ours, theirs]) => ({
        ours: ours.split("/"),
        theirs: theirs.split("/"),
        parameters: ours.split("{").length,
      }))
      .toSorted((a, b) => a.parameters - b.parameters);
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
    const sent = path.split("/");
    for (const { theirs, ours } of this.#paths) {
      const values = valuesIn(sent, theirs);
      if (values !== undefined) return filled(ours, values) + target.slice(origin.length + path.length);
    }
    return target;
  }
}

/** The values of a pattern's parameters as they were sent; undefined if the path is another. */
function valuesIn(sent: readonly string[], pattern: readonly string[]): ReadonlyMap<string, string> | undefined {
  if (sent.length !== pattern.length) return undefined;
  const values = new Map<string, string>();
  for (const [at, segment] of pattern.entries()) {
    const text = sent[at] ?? "";
    if (isParameter(segment)) values.set(segment, text);
    else if (decoded(text) !== segment) return undefined;
  }
  return values;
}

const filled = (pattern: readonly string[], values: ReadonlyMap<string, string>): string =>
  pattern.map((segment) => values.get(segment) ?? segment).join("/");

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
