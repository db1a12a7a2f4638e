/**
 * Annotations: what callers write on their records in words of their own. They are stored and returned as they came. Each
 * is described once, in the domain whose records have it: from its description come its column, the fields of requests and
 * of responses and the filter of lists (`src/api/requests/annotated-bodies.ts`) with their documentation, and the type of
 * all of these.
 */
import { addedBy, type ColumnGroup, type ColumnsOf, jsonColumn, type Stored, textColumn } from "./columns.ts";

interface Since {
  /** The migration that added its column to a table whose rows change, as in `addedBy`. */
  readonly since?: number;
}

/** A text of 1 to 100 characters. */
interface TextAnnotation extends Since {
  readonly kind: "text";
  /** On the wire and in SQL. */
  readonly name: string;
  readonly description: string;
  /** If lists filter by it, for which they need an index that ends with the id. */
  readonly filter?: ListFilter;
}

interface ListFilter {
  /** On the wire. */
  readonly name: string;
  readonly description: string;
}

/** Up to 6 pairs of texts. */
interface PairsAnnotation extends Since {
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

export function text<const Name extends string>(name: Name, description: string) {
  return { kind: "text", name, description } as const;
}

export function pairs<const Name extends string>(name: Name) {
  return { kind: "pairs", name } as const;
}

export function filter<const Name extends string>(name: Name, description: string) {
  return { name, description } as const;
}

/** The same annotations of one side of a record that has two, such as `from_`. */
export function ofSide<const Side extends string, Described extends AnnotationDescriptions>(
  side: Side,
  described: Described,
): OfSide<Side, Described> {
  const renamed = Object.entries(described).map(([field, one]) => [field, { ...one, name: side + one.name }]);
  return Object.fromEntries(renamed);
}

type OfSide<Side extends string, Described extends AnnotationDescriptions> = {
  readonly [Field in keyof Described]: Omit<Described[Field], "name"> & {
    readonly name: `${Side}${Described[Field]["name"]}`;
  };
};

/** The fields by which lists filter. */
export type FilteredField<Described extends AnnotationDescriptions> = {
  [Field in keyof Described]: Described[Field] extends { readonly filter: ListFilter } ? Field & string : never;
}[keyof Described];

export interface Filtered<Described extends AnnotationDescriptions> extends TextAnnotation {
  readonly field: FilteredField<Described>;
  readonly filter: ListFilter;
}

export function filteredAnnotations<Described extends AnnotationDescriptions>(
  described: Described,
): readonly Filtered<Described>[] {
  return Object.entries(described).flatMap(([field, one]) =>
    one.kind === "text" && one.filter !== undefined
      ? [{ ...one, field, filter: one.filter } as Filtered<Described>]
      : [],
  );
}

/** What several kinds of records have. */
export const END_USER = {
  identityId: text("identity_id", "The end user's identity. Stored and echoed."),
  accountId: text("account_id", "The end user's account. Stored and echoed."),
};
export const METADATA = pairs("metadata");

export function annotationColumns<Described extends AnnotationDescriptions>(
  described: Described,
): ColumnGroup<Annotations<Described>> {
  const columns: Record<string, unknown> = {};
  for (const [field, { kind, name, since }] of Object.entries(described)) {
    const column = kind === "pairs" ? jsonColumn(name) : textColumn(name);
    columns[field] = since === undefined ? column : addedBy(since, column as Stored<unknown>);
  }
  return { columns: columns as ColumnsOf<Annotations<Described>> };
}
