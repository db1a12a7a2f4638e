/** Parses the body of a token request: a form in either encoding. */
import { Busboy } from "@fastify/busboy";
import { CLIENT_ID_MAX_LENGTH, SECRET_MAX_LENGTH } from "../../customers/clients/clients.ts";
import { type Check, done, PASSED, type Rejected, type Result } from "../../std/result.ts";
import { rejectToken, type TokenRejection } from "./token-error.ts";

/** The parameters that were sent with a value. */
export type Form = ReadonlyMap<string, string>;

/** The parameters that are read, with their maximum lengths. Others are ignored. */
const PARAMETERS = {
  grant_type: 100,
  client_id: CLIENT_ID_MAX_LENGTH,
  client_secret: SECRET_MAX_LENGTH,
  scope: 2_000,
} as const;

type Field = readonly [name: string, value: string];

const MOST_FIELDS = 20;

/**
 * Limits of the parser. It silently drops fields beyond its limit when the form arrives in one piece, so it may read one
 * more than we accept.
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

export async function readForm(contentType: string | undefined, body: Buffer): Promise<Result<Form, TokenRejection>> {
  if (contentType === undefined || !FORM_TYPES.test(contentType)) {
    return malformed("the body must be multipart/form-data or application/x-www-form-urlencoded");
  }
  if (/^multipart/i.test(contentType) && hasManyParts(body)) return tooManyFields();
  const fields = await parseFields(contentType, body);
  if (fields.kind === "rejected") return fields;
  for (const check of [checkDistinct(fields.value), checkReadable(fields.value)]) {
    if (check.kind === "rejected") return check;
  }
  return done(new Map(fields.value.filter(hasValue)));
}

/** RFC 6749, section 3.2: no parameter may occur twice, not even an unknown one. */
function checkDistinct(fields: readonly Field[]): Check<TokenRejection> {
  const seen = new Set<string>();
  for (const [name] of fields) {
    if (seen.has(name)) return malformed(isParameter(name) ? `${name} occurs twice` : "a parameter occurs twice");
    seen.add(name);
  }
  return PASSED;
}

/** RFC 6749, appendix A: printable ASCII. The maximum lengths are ours. */
function checkReadable(fields: readonly Field[]): Check<TokenRejection> {
  for (const [name, value] of fields) {
    if (!isParameter(name)) continue;
    if (value.length > PARAMETERS[name]) return malformed(`${name} is longer than ${PARAMETERS[name]} characters`);
    if (!/^[\x20-\x7e]*$/.test(value)) return malformed(`${name} contains characters other than printable ASCII`);
  }
  return PASSED;
}

/** RFC 6749, section 3.2: a parameter without a value counts as absent. */
function hasValue([, value]: Field): boolean {
  return value !== "";
}

/**
 * Counted before the form is parsed: the parser reads on past its limits, and an empty part of nine bytes takes it 5 us. A
 * boundary begins a line, whatever it is; the last one ends the form, and one line may come before the first.
 */
function hasManyParts(body: Buffer): boolean {
  let lines = 0;
  for (let at = body.indexOf("\r\n--"); at !== -1; at = body.indexOf("\r\n--", at + 4)) {
    lines += 1;
    if (lines > MOST_FIELDS + 1) return true;
  }
  return false;
}

/** RFC 7578 and the URL standard. The body is complete, so the parser finishes synchronously. */
function parseFields(contentType: string, body: Buffer): Promise<Result<Field[], TokenRejection>> {
  return new Promise((resolve) => {
    const unreadable = (): void => resolve(malformed("the form cannot be read"));
    const tooMuch = (): void => resolve(tooManyFields());
    const fields: Field[] = [];
    try {
      const parser = new Busboy({ headers: { "content-type": contentType }, limits: LIMITS, isPartAFile });
      parser.on("field", (name: string | undefined, value, nameIsCut, valueIsCut) => {
        if (nameIsCut || valueIsCut) tooMuch();
        // A part without a name is no parameter.
        if (name !== undefined && name !== null) fields.push([name, value]);
      });
      parser.on("filesLimit", () => resolve(malformed("the form contains a file")));
      parser.on("fieldsLimit", tooMuch);
      parser.on("partsLimit", tooMuch);
      parser.on("error", unreadable);
      parser.on("finish", () => (fields.length > MOST_FIELDS ? tooMuch() : resolve(done(fields))));
      parser.end(body);
    } catch {
      // The parser throws for a content type without a boundary.
      unreadable();
    }
  });
}

/** By file name only: some clients give every field a content type. */
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

const tooManyFields = () => malformed("the form has too many or too long fields");

function malformed(description: string): Rejected<TokenRejection> {
  return rejectToken("invalid_request", description);
}
