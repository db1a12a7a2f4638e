/**
 * The file of a dialect (docs/dialects.md): words of another brand. It is read before anything is built, and compared with
 * the words that there are when everything is built; all mistakes of either kind are reported together.
 */
import { type DialectWords, OWN_WORDS } from "../web/dialect/dialect.ts";
import { isParameter } from "../web/dialect/exchanged-paths.ts";
import { jsonOf, readSettingFile, SettingFileError } from "./setting-file.ts";

/** The words of the file that can be used, and a line for each that cannot. */
export interface DialectFile {
  readonly path: string;
  readonly words: DialectWords;
  readonly mistakes: readonly string[];
}

/** The words that Parbook has. Undefined: not known to a process without the API. */
export interface KnownWords {
  readonly assets: ReadonlySet<string>;
  readonly markets: ReadonlySet<string>;
  readonly scopes: ReadonlySet<string>;
  readonly problem_titles: ReadonlySet<string>;
  readonly enums: ReadonlySet<string> | undefined;
  readonly paths: ReadonlySet<string> | undefined;
}

type Kind = keyof KnownWords;

interface Format {
  readonly what: string;
  readonly pattern: RegExp;
}

const CODE = "of letters, digits and _ . -";
const FORMATS: Readonly<Record<Kind, Format>> = {
  assets: { what: `a code ${CODE}, 1 to 100 characters`, pattern: /^[A-Za-z0-9_.-]{1,100}$/ },
  // A market in a path has no more.
  markets: { what: `a code ${CODE}, 1 to 16 characters`, pattern: /^[A-Za-z0-9_.-]{1,16}$/ },
  enums: { what: `a word ${CODE}, 1 to 100 characters`, pattern: /^[A-Za-z0-9_.-]{1,100}$/ },
  scopes: {
    what: "a scope: 1 to 100 visible ASCII characters without quotes and backslashes",
    pattern: /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/,
  },
  paths: {
    what: "a path such as /v2/profiles/{id}: letters, digits and _ . - between slashes",
    pattern: /^(?=.{1,200}$)(?:\/(?:[A-Za-z0-9_.-]+|\{[a-z_]+\}))+$/,
  },
  problem_titles: { what: "a title of 1 to 100 printable ASCII characters", pattern: /^[\x20-\x7e]{1,100}$/ },
};
const KINDS = Object.keys(FORMATS) as Kind[];
const URL_FORMAT = /^(?=.{1,500}$)https?:\/\/[\x21-\x7e]+$/;

/**
 * @throws SettingFileError when it cannot be read at all
 */
export async function readDialectFile(path: string): Promise<DialectFile> {
  const file = parsed(path, await readSettingFile("PARBOOK_DIALECT", path));
  const mistakes: string[] = [];
  const words: Partial<Record<Kind, ReadonlyMap<string, string>>> = {};
  for (const [name, value] of Object.entries(file)) {
    const kind = KINDS.find((known) => known === name);
    if (kind !== undefined) words[kind] = readWords(kind, value, mistakes);
    else if (name !== "problem_types") mistakes.push(`${name} is not one of ${KINDS.join(", ")}, problem_types`);
    else if (typeof value !== "string" || !URL_FORMAT.test(value))
      mistakes.push("problem_types is not the beginning of a URL, such as https://example.com/problems/");
  }
  const { problem_types: problemTypes } = file;
  const { problem_titles: problemTitles = OWN_WORDS.problemTitles, ...exchanged } = words;
  const types = typeof problemTypes === "string" ? problemTypes : undefined;
  return { path, words: { ...OWN_WORDS, ...exchanged, problemTitles, problemTypes: types }, mistakes };
}

function parsed(path: string, bytes: Buffer): Readonly<Record<string, unknown>> {
  const file = jsonOf(`the dialect ${path}`, bytes);
  if (typeof file !== "object" || file === null || Array.isArray(file))
    throw new SettingFileError(`the dialect ${path} is not a JSON object`);
  return file as Readonly<Record<string, unknown>>;
}

function readWords(kind: Kind, value: unknown, mistakes: string[]): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    mistakes.push(`${kind} is not an object of words`);
    return words;
  }
  const { what, pattern } = FORMATS[kind];
  const sources = new Map<string, string>();
  for (const [ours, theirs] of Object.entries(value)) {
    const other = typeof theirs === "string" ? sources.get(theirs) : undefined;
    if (typeof theirs !== "string" || !pattern.test(theirs))
      mistakes.push(`${kind}: ${shown(ours)} does not become ${what}`);
    else if (theirs === ours) mistakes.push(`${kind}: ${shown(ours)} becomes itself`);
    else if (other !== undefined) mistakes.push(`${kind}: ${shown(other)} and ${shown(ours)} both become ${theirs}`);
    else words.set(ours, theirs);
    if (typeof theirs === "string") sources.set(theirs, ours);
  }
  return words;
}

/** @throws SettingFileError with every mistake of the file */
export function rejectMistakes({ path, words, mistakes }: DialectFile, known: KnownWords): void {
  const { problemTitles, ...others } = words;
  const byKind: Readonly<Record<Kind, ReadonlyMap<string, string>>> = { ...others, problem_titles: problemTitles };
  const lines = [...mistakes, ...KINDS.flatMap((kind) => mistakesAmong(kind, byKind[kind], known[kind]))];
  if (lines.length === 0) return;
  throw new SettingFileError(`the dialect ${path} is wrong:`, ...lines.map((line) => `  ${line}`));
}

function mistakesAmong(
  kind: Kind,
  words: ReadonlyMap<string, string>,
  known: ReadonlySet<string> | undefined,
): string[] {
  if (known === undefined) return [];
  return [...words].flatMap(([ours, theirs]) => {
    if (!known.has(ours) || (kind === "paths" && !ours.startsWith("/v2/")))
      return [`${kind}: ${shown(ours)} is not one that Parbook has`];
    const taken = kind === "paths" ? pathInTheWay(ours, theirs, words, known) : wordInTheWay(theirs, words, known);
    if (taken !== undefined) return [`${kind}: ${shown(ours)} becomes ${theirs}, but that is ${taken}`];
    const isSame = kind !== "paths" || parametersOf(ours) === parametersOf(theirs);
    return isSame ? [] : [`paths: ${ours} becomes ${theirs}, which has other parameters`];
  });
}

function wordInTheWay(
  theirs: string,
  words: ReadonlyMap<string, string>,
  known: ReadonlySet<string>,
): string | undefined {
  return known.has(theirs) && !words.has(theirs) ? "a word of Parbook's that keeps its meaning" : undefined;
}

/** Two paths that one request can mean may be told apart only as ours are, by which one has a parameter. */
function pathInTheWay(
  ours: string,
  theirs: string,
  words: ReadonlyMap<string, string>,
  known: ReadonlySet<string>,
): string | undefined {
  const other = [...known].find(
    (path) => path !== ours && overlap(words.get(path) ?? path, theirs) && !overlap(path, ours),
  );
  return other && `also the path of ${other}`;
}

function overlap(one: string, other: string): boolean {
  const [these, those] = [one.split("/"), other.split("/")];
  if (these.at(-1) === "*") return other.startsWith(one.slice(0, -1));
  return (
    these.length === those.length &&
    these.every((segment, at) => segment === those[at] || isParameter(segment) || isParameter(those[at] ?? ""))
  );
}

const parametersOf = (path: string): string => path.split("/").filter(isParameter).toSorted().join();

const shown = (text: string): string => JSON.stringify(text.slice(0, 100));
