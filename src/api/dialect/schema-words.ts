/**
 * Where the words of a dialect stand in a body: in fields whose schema has an `enum`, and in codes of assets and markets, in
 * scopes and in texts that may be a word of an enum, whose schema names them by `x-word`. Any other text is the caller's own and is never touched.
 */
import type { Dialect, Words } from "../../web/dialect/dialect.ts";
import { SHOWN_AS } from "../openapi/document-schemas.ts";

/** What a text is the word of. Nothing inside `done` is exchanged: it has been already. */
export type WordKind = "asset" | "market" | "scope" | "enum" | "done";

export interface WordSchema {
  readonly "x-word"?: WordKind;
  readonly enum?: readonly unknown[];
  readonly items?: WordSchema;
  /** Of a list whose items the handler validates. */
  readonly "x-items"?: WordSchema;
  readonly properties?: Readonly<Record<string, WordSchema>>;
  /** What the document shows instead. */
  readonly [SHOWN_AS]?: { readonly anyOf: readonly WordSchema[] };
}

export type Direction = keyof Words;

type Exchange = (value: unknown) => unknown;

/**
 * Exchanges the words in values of a schema. Values are copied where a word differs.
 * @returns undefined if there are no words in the schema
 */
export function exchangeIn(schema: WordSchema, dialect: Dialect, direction: Direction): Exchange | undefined {
  const words = wordsOf(schema, dialect);
  if (words !== undefined) {
    const exchange = words[direction];
    return (value) => (typeof value === "string" ? exchange(value) : value);
  }
  if (schema["x-word"] === "done") return undefined;
  const items = schema["x-items"] ?? schema.items;
  if (items !== undefined) return exchangeInList(exchangeIn(items, dialect, direction));
  return exchangeInFields(schema.properties ?? {}, dialect, direction);
}

/** The words that a text of this schema is one of. */
function wordsOf(schema: WordSchema, { assets, enums, markets, scopes }: Dialect): Words | undefined {
  if (schema["x-word"] === "asset") return assets;
  if (schema["x-word"] === "market") return markets;
  if (schema["x-word"] === "scope") return scopes;
  if (schema["x-word"] === "enum") return enums;
  return schema.enum === undefined ? undefined : enums;
}

function exchangeInList(exchange: Exchange | undefined): Exchange | undefined {
  return exchange && ((value) => (Array.isArray(value) ? value.map(exchange) : value));
}

function exchangeInFields(
  properties: Readonly<Record<string, WordSchema>>,
  dialect: Dialect,
  direction: Direction,
): Exchange | undefined {
  const fields = Object.entries(properties).flatMap(([name, schema]) => {
    const exchange = exchangeIn(schema, dialect, direction);
    return exchange === undefined ? [] : [{ name, exchange }];
  });
  if (fields.length === 0) return undefined;
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const copy: Record<string, unknown> = { ...value };
    for (const { name, exchange } of fields) if (copy[name] !== undefined) copy[name] = exchange(copy[name]);
    return copy;
  };
}

/** The enum words of a schema and of all that is in it. */
export function enumWordsIn(schema: WordSchema): string[] {
  const own = (schema.enum ?? []).filter((word) => typeof word === "string");
  const items = schema["x-items"] ?? schema.items;
  const inner = [...(items === undefined ? [] : [items]), ...Object.values(schema.properties ?? {})];
  return [...own, ...inner.flatMap(enumWordsIn)];
}

/** A schema with the words of the dialect: in its enums and defaults. */
export function schemaIn(schema: WordSchema, dialect: Dialect): WordSchema {
  const exchange = exchangeIn(schema, dialect, "given");
  const {
    enum: words,
    items,
    "x-items": validated,
    properties,
    [SHOWN_AS]: shown,
    ...rest
  } = schema as WordSchema & Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = { ...rest };
  if (exchange !== undefined && "default" in rest) copy.default = exchange(rest.default);
  if (words !== undefined)
    copy.enum = words.map((word) => (typeof word === "string" ? dialect.enums.given(word) : word));
  if (items !== undefined) copy.items = schemaIn(items, dialect);
  if (validated !== undefined) copy["x-items"] = schemaIn(validated, dialect);
  if (properties !== undefined) {
    copy.properties = Object.fromEntries(
      Object.entries(properties).map(([name, inner]) => [name, schemaIn(inner, dialect)]),
    );
  }
  if (shown !== undefined) copy[SHOWN_AS] = { anyOf: shown.anyOf.map((each) => schemaIn(each, dialect)) };
  return copy as WordSchema;
}
