/**
 * Annotations: what callers write on their records in words of their own. They are stored and returned as they came. Each
 * is described once, in the domain whose records have it: from its description come its column, the fields of requests and
 * of responses (`src/api/requests/annotated-bodies.ts`) with their documentation, and the type of all of these.
 */
import { type ColumnGroup, type ColumnsOf, jsonColumn, textColumn } from "./columns.ts";

/** A text of 1 to 100 characters. */
interface TextAnnotation {
  readonly kind: "text";
  /** On the wire and in SQL. */
  readonly name: string;
  readonly description: string;
  readonly example: string;
}

/** Up to 6 pairs of texts. */
interface PairsAnnotation {
  readonly kind: "pairs";
  readonly name: string;
}

/** By the name of the field in the program. */
export type AnnotationDescriptions = Readonly<Record<string, TextAnnotation | PairsAnnotation>>;

export type Pairs = Readonly<Record<string, string>>;
export type ValueOf<Annotation> = Annotation extends PairsAnnotation ? Pairs : string;

/** A record's annotations. It may lack any of them. */
export type Annotations<Described extends AnnotationDescriptions> = {
  readonly [Field in keyof Described]?: ValueOf<Described[Field]> | undefined;
};

export function text<const Name extends string>(name: Name, description: string, example: string) {
  return { kind: "text", name, description, example } as const;
}

export function pairs<const Name extends string>(name: Name) {
  return { kind: "pairs", name } as const;
}

/** What several kinds of records have. */
export const END_USER = {
  identityId: text("identity_id", "The end user's identity. Stored and echoed.", "identity-77"),
  accountId: text("account_id", "The end user's account. Stored and echoed.", "account-12"),
};
export const METADATA = pairs("metadata");

export function annotationColumns<Described extends AnnotationDescriptions>(
  described: Described,
): ColumnGroup<Annotations<Described>> {
  const columns: Record<string, unknown> = {};
  for (const [field, { kind, name }] of Object.entries(described)) {
    columns[field] = kind === "pairs" ? jsonColumn(name) : textColumn(name);
  }
  return { columns: columns as ColumnsOf<Annotations<Described>> };
}
