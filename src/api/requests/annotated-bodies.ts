/** Annotations on the wire: a record's annotations are among the fields of its request and of its response. */
import { type TOptional, type TSchema, type TString, type TUnsafe, Type } from "typebox";
import type { AnnotationDescriptions, Annotations, ValueOf } from "../../ledger/annotations.ts";
import { Metadata, OrEmpty, ShortText } from "./schemas.ts";

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
        annotation.kind === "pairs"
          ? Type.Optional(Metadata)
          : text(ShortText(annotation.description, annotation.example));
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

type Rename = readonly [from: string, to: string];

function renamed(values: Readonly<Record<string, unknown>>, names: readonly Rename[]): object {
  const result: Record<string, unknown> = {};
  for (const [from, to] of names) result[to] = values[from];
  return result;
}
