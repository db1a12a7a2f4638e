/**
 * The schemas that routes share. A TypeBox schema is JSON Schema, so each is validator, type and documentation at once.
 * `x-check` names a check with its own error text (`field-formats.ts`); it is not in the document, for which the keywords
 * beside it say the same. `x-word` says that a text is a code, which a dialect may have another word for
 * (`dialect/schema-words.ts`).
 */
import { type Static, type TProperties, type TSchema, type TSchemaOptions, type TString, Type } from "typebox";
import { DECIMAL_MAX_LENGTH, DECIMAL_PATTERN } from "../../money/amount.ts";
import { must } from "../../std/assert.ts";
import { parseUuid, type Uuid } from "../../std/id.ts";
import { MEANING } from "../openapi/document-schemas.ts";

/** A request body. Unknown fields are rejected; optional ones may be null (`body-reader.ts`). */
export function Body<Fields extends TProperties>(fields: Fields, options: TSchemaOptions = {}) {
  return Type.Object(fields, { ...options, additionalProperties: false });
}

/** An amount in a request. Its decimals are checked against the asset later. */
export const Amount = Type.String({
  description: "A decimal number above 0 and below 10^18.",
  pattern: DECIMAL_PATTERN,
  maxLength: DECIMAL_MAX_LENGTH,
  "x-check": "amount",
});

/** An amount in a response: canonical; may be zero. */
export const Decimal = Type.String({
  description: "A decimal number: no exponent, no trailing zeros after the point.",
  pattern: DECIMAL_PATTERN,
});

export const UuidText = Type.String({ format: "uuid", "x-check": "uuid" });

/** Parses a UUID that has passed its schema. */
export function uuidOf<Id extends Uuid = Uuid>(checked: string): Id {
  return must(parseUuid(checked), "the schema has checked that this is a UUID") as Id;
}

const UUID_PATTERN = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";

export const PROFILE_ID_PATTERN = `^(default|${UUID_PATTERN})$`;

/** A UUID, the number of an execution or the code of a market. */
export const OBJECT_ID_PATTERN = `^(${UUID_PATTERN}|[0-9]{1,19}|[A-Za-z0-9_.-]{1,16})$`;

export const ProfileIdParam = Type.String({
  description: "A profile's id, or `default` for the caller's DEFAULT profile.",
  pattern: PROFILE_ID_PATTERN,
  "x-check": "profile_id",
});

export const AssetCode = Type.String({
  description: "The code of an asset. Case-sensitive.",
  minLength: 1,
  maxLength: 100,
  "x-word": "asset",
});

/** The code of an asset in a response. */
export const AssetText = Type.String({ description: "The asset's code.", "x-word": "asset" });

/** The code of a market in a response. */
export const MarketText = Type.String({
  description: "The market's code.",
  "x-word": "market",
});

/** A string that we store and echo. */
export function ShortText(description: string) {
  return Type.String({ description, minLength: 1, maxLength: 100 });
}

export const RefId = ShortText(
  "The caller's own reference for this request, unique per kind of resource. If it is used again, the response is 409 with the first record.",
);

/** An optional body field that counts as absent when it is empty: some clients send each field that they know. */
export function OrEmpty(text: TString & { readonly pattern?: string; readonly description?: string }) {
  const { pattern } = text;
  return Type.Optional(Type.String({ ...text, minLength: 0, ...(pattern && { pattern: `^$|${pattern}` }) }));
}

/** Lengths are in Unicode code points, as in JSON Schema. */
export const Metadata = Type.Unsafe<Record<string, string>>({
  type: "object",
  description: "The caller's own data, stored and echoed: at most 6 pairs.",
  maxProperties: 6,
  propertyNames: { minLength: 1, maxLength: 100 },
  additionalProperties: { type: "string", maxLength: 100 },
});

/** A time in a request: up to 9 decimals, any offset, compared at full precision (`time-range.ts`). */
export const DateTime = Type.String({
  description: "RFC 3339, with up to 9 decimals of a second.",
  format: "date-time",
  "x-check": "date_time",
});

/** A time in a response: RFC 3339 in UTC with exactly 3 decimals. */
export const Timestamp = Type.String({ format: "date-time" });

/** A query parameter that may be given up to 100 times; a record matches if it has any of the values. */
export function Repeatable<Item extends TSchema>(item: Item, description: string) {
  return Type.Optional(Type.Array(item, { description, maxItems: 100 }));
}

export function Limit(standard: number, maximum: number) {
  return Type.Integer({
    description: "The maximum number of records to return.",
    format: "int32",
    default: standard,
    minimum: 1,
    maximum,
  });
}

/** An enum under a name of its own in the document. A use of it may have another description. */
export function NamedEnum<Value extends string>(name: string, values: readonly Value[], description: string) {
  return Type.Enum<Value[]>(values, { title: name, description, [MEANING]: description });
}

export const SortOrder = NamedEnum("SortOrder", ["ASC", "DESC"], "Oldest first or newest first.");

export function Order(standard: "ASC" | "DESC") {
  return { ...SortOrder, default: standard };
}

export const PageCursor = Type.Optional(
  Type.String({
    description: "`next_page_cursor` of the previous page, with the same filters. Empty for the first page.",
    minLength: 0,
    maxLength: 1_024,
  }),
);

export const NextPageCursor = Type.String({
  description: "Pass it as page_cursor to get the next page; empty on the last page.",
});

export function ListOf<Item extends TSchema>(item: Item & { readonly title?: string }) {
  const options = { title: `${item.title}List`, description: "A page of a list." };
  return Type.Object({ items: Type.Array(item), next_page_cursor: NextPageCursor }, options);
}

export function ListQuery<Filters extends TProperties>(filters: Filters, limit: { standard: number; maximum: number }) {
  return Type.Object({ ...filters, limit: Limit(limit.standard, limit.maximum), page_cursor: PageCursor });
}

export type Metadata = Static<typeof Metadata>;
