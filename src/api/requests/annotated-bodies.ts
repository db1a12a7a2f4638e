/**
 * Annotations on the wire: a record's annotations are among the fields of its request and of its response, and among the
 * filters of its lists.
 */
import { type TArray, type TOptional, type TSchema, type TString, type TUnsafe, Type } from "typebox";
import {
  type AnnotationDescriptions,
  type Annotations,
  type Filtered,
  type FilteredField,
  filteredAnnotations,
  type ValueOf,
} from "../../ledger/annotations.ts";
import { Metadata, OrEmpty, Repeatable, ShortText } from "./schemas.ts";

/** The fields of a body that are annotations, by their names on the wire. */
type Written<Described extends AnnotationDescriptions> = {
  readonly [Field in keyof Described as Described[Field]["name"]]: ValueOf<Described[Field]> | undefined;
};

type SchemasOf<Described extends AnnotationDescriptions> = {
  readonly [Field in keyof Described as Described[Field]["name"]]: TOptional<TUnsafe<ValueOf<Described[Field]>>>;
};

interface AnnotatedBodies<Described extends AnnotationDescriptions> {
  /** A text that is empty counts as absent. */
  readonly requestSchemas: SchemasOf<Described>;
  readonly responseSchemas: SchemasOf<Described>;
  /** From the body of a request. */
  readonly read: (body: Partial<Written<Described>>) => Annotations<Described>;
  /** For the body of a response. */
  readonly write: (annotations: Annotations<Described>) => Written<Described>;
}

export function annotatedBodies<Described extends AnnotationDescriptions>(
  described: Described,
): AnnotatedBodies<Described> {
  const fields = Object.entries(described);
  const schemasBy = (text: (schema: TString) => TSchema) => {
    const schemas: Record<string, TSchema> = {};
    for (const [, annotation] of fields) {
      schemas[annotation.name] =
        annotation.kind === "pairs" ? Type.Optional(Metadata) : text(ShortText(annotation.description));
    }
    return schemas as SchemasOf<Described>;
  };
  const names = fields.map(([field, { name }]): Rename => [name, field]);
  const fieldsBack = names.map(([name, field]): Rename => [field, name]);
  return {
    requestSchemas: schemasBy(OrEmpty),
    responseSchemas: schemasBy(Type.Optional),
    read: (body) => renamed(body, names) as Annotations<Described>,
    write: (annotations) => renamed(annotations, fieldsBack) as Written<Described>,
  };
}

// Filters of lists ---------------------------------------------------------------------------------------------------

type FilterName<Annotation> = Annotation extends { readonly filter: { readonly name: infer Name extends string } }
  ? Name
  : never;

/** By their names on the wire. */
type OnTheWire<Described extends AnnotationDescriptions, Value> = {
  readonly [Field in FilteredField<Described> as FilterName<Described[Field]>]: Value;
};

interface AnnotationFilters<Described extends AnnotationDescriptions, Schema extends TSchema, Value, Filters> {
  readonly names: readonly string[];
  readonly schemas: OnTheWire<Described, TOptional<Schema>>;
  /** From a query. */
  readonly read: (query: Partial<OnTheWire<Described, Value>>) => Filters;
}

type OneOfEach<Described extends AnnotationDescriptions> = {
  readonly [Field in FilteredField<Described>]: string | undefined;
};

/** Filters by one value each. */
export function annotationFilters<Described extends AnnotationDescriptions>(
  described: Described,
): AnnotationFilters<Described, TString, string, OneOfEach<Described>> {
  const schemaOf = ({ filter }: Filtered<Described>) => Type.Optional(ShortText(filter.description));
  return filtersOf(described, schemaOf, ({ field }) => field);
}

type SeveralOfEach<Described extends AnnotationDescriptions> = {
  readonly [Field in FilteredField<Described> as `${Field}s`]: readonly string[] | undefined;
};

/** Filters by several values each. */
export function repeatableAnnotationFilters<Described extends AnnotationDescriptions>(
  described: Described,
): AnnotationFilters<Described, TArray<TString>, readonly string[], SeveralOfEach<Described>> {
  const schemaOf = ({ filter, description }: Filtered<Described>) =>
    Repeatable(ShortText(description), filter.description);
  return filtersOf(described, schemaOf, ({ field }) => `${field}s`);
}

function filtersOf<Described extends AnnotationDescriptions, Schema extends TSchema, Value, Filters>(
  described: Described,
  schemaOf: (filtered: Filtered<Described>) => Schema,
  fieldOf: (filtered: Filtered<Described>) => string,
): AnnotationFilters<Described, Schema, Value, Filters> {
  const filtered = filteredAnnotations(described);
  const names = filtered.map((one): Rename => [one.filter.name, fieldOf(one)]);
  const schemas = Object.fromEntries(filtered.map((one) => [one.filter.name, schemaOf(one)]));
  return {
    names: names.map(([name]) => name),
    schemas: schemas as OnTheWire<Described, TOptional<Schema>>,
    read: (query) => renamed(query, names) as Filters,
  };
}

type Rename = readonly [from: string, to: string];

function renamed(values: Readonly<Record<string, unknown>>, names: readonly Rename[]): object {
  const result: Record<string, unknown> = {};
  for (const [from, to] of names) result[to] = values[from];
  return result;
}
