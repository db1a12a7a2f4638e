/**
 * A dialect: another brand's words for the same API (docs/decisions/0040-dialects.md). Callers send and get its words; the
 * database, the command line and the logs have ours. Words are exchanged where requests come in and responses go out.
 *
 * Words of one kind are exchanged one for one: what becomes a word of the dialect changes places with it. So no text is
 * lost on the way in and out, and our own word, once it has another, means nothing any more.
 */
import { ExchangedPaths } from "./exchanged-paths.ts";

/** From our words to those of the dialect. Paths are in the form of OpenAPI, such as `/v2/profiles/{id}`. */
export interface DialectWords {
  readonly assets: ReadonlyMap<string, string>;
  readonly enums: ReadonlyMap<string, string>;
  readonly markets: ReadonlyMap<string, string>;
  readonly paths: ReadonlyMap<string, string>;
  readonly scopes: ReadonlyMap<string, string>;
  /** By our own titles. */
  readonly problemTitles: ReadonlyMap<string, string>;
  /** What comes before the name of a problem in its type. Undefined: `{base_url}/problems/`. */
  readonly problemTypes: string | undefined;
}

/** The words of one kind. */
export interface Words {
  /** The caller's word for ours. */
  given(ours: string): string;
  /** Our word for the caller's. */
  taken(theirs: string): string;
}

export interface Dialect {
  readonly assets: Words;
  readonly enums: Words;
  readonly markets: Words;
  readonly scopes: Words;
  /** Undefined: as they are. */
  readonly paths: ExchangedPaths | undefined;
  readonly problemTitles: Words;
  readonly problemTypes: string | undefined;
  /** Whether no word is another one. */
  readonly isOwn: boolean;
}

const NONE: ReadonlyMap<string, string> = new Map();

/** Parbook's own words. */
export const OWN_WORDS: DialectWords = {
  assets: NONE,
  enums: NONE,
  markets: NONE,
  paths: NONE,
  scopes: NONE,
  problemTitles: NONE,
  problemTypes: undefined,
};

/** @param words of each kind no two that become the same one */
export function createDialect(words: DialectWords): Dialect {
  const { assets, enums, markets, paths, scopes, problemTitles, problemTypes } = words;
  const kinds = [assets, enums, markets, paths, scopes, problemTitles];
  return {
    assets: exchangedWords(assets),
    enums: exchangedWords(enums),
    markets: exchangedWords(markets),
    scopes: exchangedWords(scopes),
    problemTitles: exchangedWords(problemTitles),
    paths: paths.size === 0 ? undefined : new ExchangedPaths(exchangedPairs(paths)),
    problemTypes,
    isOwn: kinds.every(({ size }) => size === 0) && problemTypes === undefined,
  };
}

export const OWN_DIALECT: Dialect = createDialect(OWN_WORDS);

function exchangedWords(renamed: ReadonlyMap<string, string>): Words {
  const pairs = exchangedPairs(renamed);
  const given = new Map(pairs);
  const taken = new Map(pairs.map(([ours, theirs]) => [theirs, ours]));
  return { given: (ours) => given.get(ours) ?? ours, taken: (theirs) => taken.get(theirs) ?? theirs };
}

type Pair = readonly [ours: string, theirs: string];

/** Closes each chain of words to a circle: the word that nothing becomes takes the place of the one that is free. */
function exchangedPairs(renamed: ReadonlyMap<string, string>): Pair[] {
  const targets = new Set(renamed.values());
  const pairs: Pair[] = [...renamed];
  for (const first of renamed.keys()) {
    if (targets.has(first)) continue;
    let last = first;
    for (let next = renamed.get(last); next !== undefined; next = renamed.get(next)) last = next;
    pairs.push([last, first]);
  }
  return pairs;
}
