/**
 * The bootstrap file: customers with their clients, profiles and opening balances, applied at every start. The whole
 * file is validated before any of it is applied.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import Type, { type Static } from "typebox";
import Value from "typebox/value";
import { readJson } from "../../api/requests/body-reader.ts";
import { DECIMAL } from "../../money/amount.ts";
import type { Uuid } from "../../std/id.ts";
import { SettingFileError } from "../setting-file.ts";

const UUID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
/** RFC 6749, appendices A.1 and A.2. */
const VISIBLE_PATTERN = "^[\\x20-\\x7e]*$";
const UUID = Type.String({ pattern: UUID_PATTERN });
const closed = { additionalProperties: false };

/** PostgreSQL has no NUL in texts. */
const TEXT_PATTERN = "^[^\\u0000]*$";

const BootstrapShape = Type.Object(
  {
    customers: Type.Array(
      Type.Object(
        {
          id: Type.Optional(UUID),
          name: Type.String({ minLength: 1, maxLength: 100, pattern: TEXT_PATTERN }),
          clients: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  client_id: Type.String({ minLength: 1, maxLength: 100, pattern: VISIBLE_PATTERN }),
                  client_secret: Type.String({ minLength: 1, maxLength: 256, pattern: VISIBLE_PATTERN }),
                  scopes: Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
                },
                closed,
              ),
            ),
          ),
          profiles: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  id: Type.Optional(UUID),
                  nickname: Type.String({ minLength: 1, maxLength: 100, pattern: TEXT_PATTERN }),
                  balances: Type.Optional(Type.Record(Type.String(), Type.String({ pattern: DECIMAL.source }))),
                },
                closed,
              ),
            ),
          ),
        },
        closed,
      ),
    ),
  },
  closed,
);

export type BootstrapFile = Static<typeof BootstrapShape>;

/** One line for each mistake found. */
export class BootstrapError extends SettingFileError {}

export async function readBootstrapFile(path: string): Promise<BootstrapFile> {
  let file: unknown;
  try {
    // Its messages do not quote what is around a mistake, which may be a secret.
    file = readJson(await readFile(path), Number.POSITIVE_INFINITY);
  } catch (error) {
    const why = (error as Error).message.replace("the body", "it");
    throw new BootstrapError(`the bootstrap file ${path} cannot be read: ${why}`);
  }
  if (Value.Check(BootstrapShape, file)) return file;
  const errors = Value.Errors(BootstrapShape, file);
  const lines = errors.flatMap(errorLines);
  if (errors.length >= MAX_ERRORS) lines.push("there may be more errors");
  throw new BootstrapError(`the bootstrap file ${path} is wrong:`, ...lines.map((line) => `  ${line}`));
}

/** The validator stops after this many. */
const MAX_ERRORS = 8;

type ShapeError = ReturnType<typeof Value.Errors>[number];

/** Validator errors as sentences. Values are omitted, because they may be secrets and the text is logged. */
function errorLines(error: ShapeError): string[] {
  const path = error.instancePath
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  // The validator reports each unknown field separately as well.
  if (error.keyword === "additionalProperties") return [];
  if (error.keyword === "boolean") return [`${fieldName(path)} is not a field of ${entryName(path.slice(0, -1))}`];
  if (error.keyword === "required")
    return error.params.requiredProperties.map((name) => `${fieldName([...path, name])} is required`);
  return [`${fieldName(path)} ${ruleOf(error)}`];
}

/** Such as `customers[0].profiles[1].nickname`. */
function fieldName(path: readonly string[]): string {
  if (path.length === 0) return "the file";
  return path.map((step, at) => (/^[0-9]+$/.test(step) ? `[${step}]` : `${at > 0 ? "." : ""}${step}`)).join("");
}

const ENTRIES: Readonly<Record<string, string>> = {
  customers: "a customer",
  clients: "a client",
  profiles: "a profile",
};

function entryName(path: readonly string[]): string {
  return ENTRIES[path.at(-2) ?? ""] ?? "the file";
}

const TYPE_RULES: Readonly<Record<string, string>> = {
  array: "must be a list, in [ ]",
  object: "must be an object, in { }",
  string: 'must be text, in " "',
};

const PATTERN_RULES: Readonly<Record<string, string>> = {
  [UUID_PATTERN]: "is not a UUID in lower case",
  [TEXT_PATTERN]: "has a NUL character, which no text may have",
  [VISIBLE_PATTERN]: "has other characters than those of printable ASCII",
  [DECIMAL.source]: 'is not a decimal number such as "1000" or "0.5"',
};

function ruleOf(error: ShapeError): string {
  switch (error.keyword) {
    case "type":
      return TYPE_RULES[String(error.params.type)] ?? error.message;
    case "pattern":
      return PATTERN_RULES[String(error.params.pattern)] ?? error.message;
    case "minLength":
    case "minItems":
      return "is empty";
    case "maxLength":
      return `has more than ${error.params.limit} characters`;
    default:
      return error.message;
  }
}

/** A stable id (UUID version 8) for an entry without one, derived from its names. */
export function idOf(...words: readonly string[]): Uuid {
  const hex = createHash("sha256").update(JSON.stringify(words)).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}` as Uuid;
}
