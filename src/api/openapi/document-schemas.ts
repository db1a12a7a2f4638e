/**
 * Schemas as the OpenAPI document shows them. Each one with a title stands once, under components, and is referred to by
 * that name. Keywords that only this program reads are left out.
 */
import { isDeepStrictEqual } from "node:util";
import { assert } from "../../std/assert.ts";

export type Json = { [member: string]: unknown };

/** Private: the schema that is shown instead of this one, which is too slow to serialise by. */
export const SHOWN_AS = "x-shown-as";
/** Private: the description of a named enum, where a use of it has one of its own. */
export const MEANING = "x-meaning";
/** Private, beside the schema of a response: the names of its examples. */
export const ANSWERS = "x-answers";

/** Keywords with schemas in them: one, a list, or by name. */
const ONE: ReadonlySet<string> = new Set(["items", "propertyNames", "additionalProperties"]);
const LIST: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf"]);
const BY_NAME: ReadonlySet<string> = new Set(["properties", "patternProperties"]);

export class DocumentSchemas {
  readonly #named = new Map<string, Json>();

  /** The schema, or a reference to it if it has a name. Two schemas with one name must be equal. */
  shown({ [SHOWN_AS]: other, [MEANING]: meaning, title, ...schema }: Json): Json {
    if (isJson(other)) return this.shown({ description: schema.description, ...other });
    const own = this.#withoutPrivate(schema);
    if (typeof title !== "string") return own;
    const { default: standard, description, ...rest } = own;
    const common = meaning ?? description;
    this.#add(title, common === undefined ? rest : { description: common, ...rest });
    return {
      $ref: `#/components/schemas/${title}`,
      ...(description !== undefined && description !== common && { description }),
      ...(standard !== undefined && { default: standard }),
    };
  }

  /** All that have a name, in its order. */
  named(): Json {
    return Object.fromEntries([...this.#named].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  #add(name: string, schema: Json): void {
    const known = this.#named.get(name);
    assert(known === undefined || isDeepStrictEqual(known, schema), `one schema has the name ${name}`);
    this.#named.set(name, schema);
  }

  #withoutPrivate(schema: Json): Json {
    const shown = Object.entries(schema).flatMap(([keyword, value]) =>
      // Examples are recorded answers, which stand beside the schemas.
      keyword.startsWith("x-") || keyword === "examples" || keyword === "example"
        ? []
        : [[keyword, this.#inner(keyword, value)]],
    );
    // Many client generators need the type of an enum, though JSON Schema does not. All our enums are strings.
    return { ...(Array.isArray(schema.enum) && { type: "string" }), ...Object.fromEntries(shown) };
  }

  #inner(keyword: string, value: unknown): unknown {
    if (ONE.has(keyword) && isJson(value)) return this.shown(value);
    if (LIST.has(keyword)) return (value as readonly Json[]).map((schema) => this.shown(schema));
    if (BY_NAME.has(keyword)) {
      const schemas = Object.entries(value as Record<string, Json>);
      return Object.fromEntries(schemas.map(([name, schema]) => [name, this.shown(schema)]));
    }
    return value;
  }
}

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null;
