/**
 * Recorded examples in the words of a dialect. Values are exchanged by their schema where it says what they are. Problems
 * quote words in the middle of their texts, and an event's object is of any kind: there each word of Parbook's is exchanged
 * wherever it stands, because the story that is recorded uses none of them by chance.
 */
import type { Dialect } from "../../web/dialect/dialect.ts";
import { exchangeIn } from "../dialect/schema-words.ts";
import type { Json } from "./document-schemas.ts";

/** A body or parameter of this schema. */
export function exampleIn(recorded: unknown, schema: Json, dialect: Dialect): unknown {
  if (dialect.isOwn || recorded === undefined) return recorded;
  if (schema.title === "Token") return { ...(recorded as object), scope: scopesIn(recorded as Token, dialect) };
  if (JSON.stringify(schema).includes('"x-word":"done"')) return everyWordIn(recorded, dialect);
  const exchange = exchangeIn(schema, dialect, "given");
  return exchange === undefined ? recorded : exchange(recorded);
}

interface Token {
  readonly scope: string;
}

const scopesIn = ({ scope }: Token, { scopes }: Dialect): string => scope.split(" ").map(scopes.given).join(" ");

interface RecordedProblem {
  readonly type: string;
  readonly title: string;
}

/** @param types what comes before the name of a problem in its type, as it was recorded */
export function problemIn(recorded: unknown, types: string, dialect: Dialect): unknown {
  // The token endpoint has errors of its standard, which have no type.
  if (dialect.isOwn || !isProblem(recorded)) return everyWordIn(recorded, dialect);
  const { type, title, ...rest } = recorded;
  return {
    type: dialect.problemTypes === undefined ? type : type.replace(types, dialect.problemTypes),
    title: dialect.problemTitles.given(title),
    ...(everyWordIn(rest, dialect) as object),
  };
}

const isProblem = (recorded: unknown): recorded is RecordedProblem =>
  typeof recorded === "object" && recorded !== null && "type" in recorded && "title" in recorded;

/** Such as `transfer:read_transfer`, `PYUSD` and `conversion.settled`, without the full stop behind them. */
const WORD = /[A-Za-z0-9]+(?:[_.:-]+[A-Za-z0-9]+)*/g;

function everyWordIn(value: unknown, dialect: Dialect): unknown {
  if (dialect.isOwn) return value;
  if (typeof value === "string") return value.replace(WORD, (word) => wordIn(word, dialect));
  if (Array.isArray(value)) return value.map((inner) => everyWordIn(inner, dialect));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, everyWordIn(inner, dialect)]));
}

/** What the word is of any kind. */
function wordIn(word: string, { scopes, markets, assets, enums }: Dialect): string {
  const given = [scopes, markets, assets, enums].map((words) => words.given(word));
  return given.find((other) => other !== word) ?? word;
}
