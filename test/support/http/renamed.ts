/** A dialect in which every word of the API is another one, and the way back from it. */
import { SCOPES } from "../../../src/oauth/scopes.ts";
import type { Document, Schema } from "../openapi.ts";

const PREFIX = "z_";

export const renamed = (word: string): string => `${PREFIX}${word}`;

/** Every word of a document, and those of the feeds. */
export function everythingRenamed(
  { operations, components }: Document,
  codes: { readonly assets: readonly string[]; readonly markets: readonly string[] },
): object {
  const enums = new Set(["SNAPSHOT", "UPDATE"]);
  const find = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if ("enum" in value && Array.isArray(value.enum)) for (const word of value.enum) enums.add(word);
    for (const inner of Object.values(value)) find(inner);
  };
  const own = operations.filter(({ path }) => path !== "/oauth2/token");
  find(own.map(({ inputs, responses }) => ({ inputs, responses })));
  // The token endpoint has the enums of its standard.
  const { GrantType, TokenErrorCode, TokenType, ...schemas } = (components as { schemas: Record<string, Schema> })
    .schemas;
  find(schemas);
  const paths = own.map(({ path }) => [path, `/z${path}`]);
  return {
    ...{ assets: words(codes.assets), markets: words(codes.markets), enums: words([...enums]) },
    scopes: words(Object.keys(SCOPES)),
    paths: Object.fromEntries(paths),
    problem_types: "https://problems.example/",
  };
}

const words = (all: readonly string[]) => Object.fromEntries(all.map((word) => [word, renamed(word)]));

/** A body of that dialect in our words. */
export function inOurWords(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll(PREFIX, "").replace("https://problems.example/", "/problems/");
  if (Array.isArray(value)) return value.map(inOurWords);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, inOurWords(inner)]));
}

/** The texts in a body. */
export function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
