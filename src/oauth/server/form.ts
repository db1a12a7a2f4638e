/** The body of a token request: a form, in either of the two encodings. */
import { Busboy } from "@fastify/busboy";
import { CLIENT_ID_MAX_LENGTH, SECRET_MAX_LENGTH } from "../../customers/clients/clients.ts";
import { TokenRequestError } from "./token-error.ts";

/** The parameters that were sent with a value. */
export type Form = ReadonlyMap<string, string>;

/** What we read of a form, and how long it may be. Everything else in it is ignored. */
const PARAMETERS = {
  grant_type: 100,
  client_id: CLIENT_ID_MAX_LENGTH,
  client_secret: SECRET_MAX_LENGTH,
  scope: 2_000,
} as const;

type Field = readonly [name: string, value: string];

const MOST_FIELDS = 20;

/**
 * Bounds on forms whose own bounds would do no harm, such as a hundred fields that we ignore. The parser drops fields
 * beyond its limit without a word when the form comes in one piece, so it is allowed one more than we take.
 */
const LIMITS = {
  fields: MOST_FIELDS + 1,
  parts: MOST_FIELDS,
  files: 0,
  fieldNameSize: 100,
  fieldSize: 4_000,
  headerPairs: 20,
};

const FORM_TYPES = /^(?:multipart\/form-data|application\/x-www-form-urlencoded)[ \t]*(?:;|$)/i;

export async function readForm(contentType: string | undefined, body: Buffer): Promise<Form | TokenRequestError> {
  if (contentType === undefined || !FORM_TYPES.test(contentType)) {
    return malformed("the body must be multipart/form-data or application/x-www-form-urlencoded");
  }
  const fields = await parseFields(contentType, body);
  if (fields instanceof TokenRequestError) return fields;
  return refuseRepeated(fields) ?? refuseUnreadable(fields) ?? new Map(fields.filter(hasValue));
}

/** RFC 6749, section 3.2: no parameter may be there twice, also none that we do not know. */
function refuseRepeated(fields: readonly Field[]): TokenRequestError | undefined {
  const seen = new Set<string>();
  for (const [name] of fields) {
    if (seen.has(name)) return malformed(isParameter(name) ? `${name} is there twice` : "a parameter is there twice");
    seen.add(name);
  }
  return undefined;
}

/** RFC 6749, appendix A: all that we read is printable ASCII. The bounds on length are ours. */
function refuseUnreadable(fields: readonly Field[]): TokenRequestError | undefined {
  for (const [name, value] of fields) {
    if (!isParameter(name)) continue;
    if (value.length > PARAMETERS[name]) return malformed(`${name} is longer than ${PARAMETERS[name]} characters`);
    if (!/^[\x20-\x7e]*$/.test(value)) return malformed(`${name} has characters other than printable ASCII`);
  }
  return undefined;
}

/** RFC 6749, section 3.2: a parameter without a value counts as left out. */
function hasValue([, value]: Field): boolean {
  return value !== "";
}

/** RFC 7578 and the URL standard. The body is here as a whole and within its bound, so nothing is left to wait for. */
function parseFields(contentType: string, body: Buffer): Promise<Field[] | TokenRequestError> {
  return new Promise((resolve) => {
    const unreadable = (): void => resolve(malformed("the form cannot be read"));
    const tooMuch = (): void => resolve(malformed("the form has too many fields, or too long ones"));
    const fields: Field[] = [];
    try {
      const parser = new Busboy({ headers: { "content-type": contentType }, limits: LIMITS, isPartAFile });
      parser.on("field", (name: string | undefined, value, nameIsCut, valueIsCut) => {
        if (nameIsCut || valueIsCut) tooMuch();
        // A part without a name is nobody's parameter.
        if (name !== undefined && name !== null) fields.push([name, value]);
      });
      parser.on("filesLimit", () => resolve(malformed("the form has a file")));
      parser.on("fieldsLimit", tooMuch);
      parser.on("partsLimit", tooMuch);
      parser.on("error", unreadable);
      parser.on("finish", () => (fields.length > MOST_FIELDS ? tooMuch() : resolve(fields)));
      parser.end(body);
    } catch {
      // The parser throws for a content type without a boundary.
      unreadable();
    }
  });
}

/** Only a file name makes a part a file: some clients give every field a content type. */
function isPartAFile(
  _name: string | undefined,
  _contentType: string | undefined,
  fileName: string | undefined,
): boolean {
  return fileName !== undefined;
}

function isParameter(name: string): name is keyof typeof PARAMETERS {
  return Object.hasOwn(PARAMETERS, name);
}

function malformed(description: string): TokenRequestError {
  return new TokenRequestError("invalid_request", description);
}
