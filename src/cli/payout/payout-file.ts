/**
 * The file of a payout: CSV with a transfer in each line. Its result is the same file with what became of each line, and can
 * be run again: then what is done is left out.
 */
import { parse } from "csv-parse/sync";
import { CHECKS } from "../../api/problems/field-formats.ts";
import { isComposed, isFullyVisible } from "../../std/printable.ts";

/** What became of a line. */
export interface LineResult {
  readonly status: string;
  readonly transferId?: string | undefined;
  readonly detail?: string | undefined;
}

export interface PayoutLine {
  /** From 1, of the file. */
  readonly number: number;
  /** In the order of the columns, but for those of a result. */
  readonly cells: readonly string[];
  /** The body of a transfer. */
  readonly item: Readonly<Record<string, unknown>>;
  /** Of an earlier run. */
  readonly result: LineResult | undefined;
}

export interface Payout {
  readonly columns: readonly string[];
  readonly lines: readonly PayoutLine[];
  /** A sentence for each line that cannot be sent. */
  readonly wrong: readonly string[];
}

const REQUIRED = ["from_profile_id", "to_profile_id", "amount", "asset", "ref_id"];
const OPTIONAL = ["from_identity_id", "from_account_id", "to_identity_id", "to_account_id"];
const PAIRS = /^(metadata|recipient_metadata)\.(.+)$/;
const RESULT = ["status", "transfer_id", "detail"];

const isColumn = (name: string): boolean => [...REQUIRED, ...OPTIONAL, ...RESULT].includes(name) || PAIRS.test(name);

const DONE: ReadonlySet<string> = new Set(["COMPLETED", "EXISTS"]);

/** Whether no earlier run has done it. */
export const isOpenLine = ({ result }: PayoutLine): boolean => !DONE.has(result?.status ?? "");

const MOST_CHARACTERS = 100;

/** 12.500 is twelve and a half. A spreadsheet may have meant a thousand times as much, which no later line would show. */
const THOUSANDS = /^[1-9][0-9]{0,2}\.[0-9]{2}0$/;
const MAY_BE_THOUSANDS = "may be thousands, separated by a point: leave out the point, or the zeros at its end";

interface Parsed {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

type Cells = ReadonlyMap<string, string>;

/** @throws CsvError if the text is not CSV */
export function readPayout(text: string): Payout {
  const options = { bom: true, info: true, relaxColumnCount: true, skipEmptyLines: true, trim: true };
  // Its types do not know what `info` makes of the result.
  const parsed = parse(text, options) as unknown as readonly Parsed[];
  const [head, ...rows] = parsed.map(({ record, info }) => ({ cells: record, number: info.lines }));
  const columns = head?.cells ?? [];
  const wrong = [...wrongColumns(columns)];
  if (wrong.length > 0) return { columns: [], lines: [], wrong };
  if (rows.length === 0) return { columns: [], lines: [], wrong: ["the file has no transfers"] };
  const numbers = new Map<string, number>();
  const lines = rows.map(({ cells, number }) => {
    const named: Cells = new Map(columns.map((name, i) => [name, cells[i] ?? ""]));
    const rules = [...wrongCells(cells, columns, named), ...repeated(named.get("ref_id") ?? "", number, numbers)];
    wrong.push(...rules.map((rule) => `line ${number}: ${rule}`));
    return lineOf(number, columns, cells, named);
  });
  return { columns: columns.filter((name) => !RESULT.includes(name)), lines, wrong };
}

function wrongColumns(columns: readonly string[]): string[] {
  const missing = REQUIRED.filter((name) => !columns.includes(name));
  const unknown = columns.filter((name) => !isColumn(name));
  const twice = columns.filter((name, i) => columns.indexOf(name) !== i);
  return [
    ...missing.map((name) => `line 1: there is no column ${name}`),
    ...unknown.map((name) => `line 1: ${JSON.stringify(name)} is not a column of a payout`),
    ...twice.map((name) => `line 1: there are two columns ${name}`),
  ];
}

function wrongCells(cells: readonly string[], columns: readonly string[], named: Cells): string[] {
  if (cells.length !== columns.length) return [`it has ${cells.length} cells, but there are ${columns.length} columns`];
  return columns.flatMap((name) => {
    const value = named.get(name) ?? "";
    const rule = RESULT.includes(name) ? undefined : brokenRule(name, value);
    return rule === undefined
      ? []
      : [`${name}${value === "" ? "" : ` ${JSON.stringify(value.slice(0, 100))}`} ${rule}`];
  });
}

function brokenRule(name: string, value: string): string | undefined {
  if (value === "") return REQUIRED.includes(name) ? "is empty" : undefined;
  if (name.endsWith("_profile_id")) return CHECKS.profile_id(value);
  if (name === "amount") return CHECKS.amount(value) ?? (THOUSANDS.test(value) ? MAY_BE_THOUSANDS : undefined);
  if (name === "ref_id" && !isFullyVisible(value)) return "has an invisible character";
  if (name === "ref_id" && !isComposed(value))
    return "has a letter and its accent in two characters (not in Unicode's form NFC)";
  if (value.includes("\0")) return "contains the character NUL";
  return Array.from(value).length > MOST_CHARACTERS ? `has more than ${MOST_CHARACTERS} characters` : undefined;
}

function repeated(refId: string, number: number, numbers: Map<string, number>): string[] {
  const earlier = numbers.get(refId);
  if (earlier !== undefined) return [`ref_id ${JSON.stringify(refId)} is that of line ${earlier} too`];
  if (refId !== "") numbers.set(refId, number);
  return [];
}

function lineOf(number: number, columns: readonly string[], cells: readonly string[], named: Cells): PayoutLine {
  const item: Record<string, unknown> = {};
  for (const [name, value] of named) {
    if (value === "" || RESULT.includes(name)) continue;
    const [, object, key] = PAIRS.exec(name) ?? [];
    if (object === undefined || key === undefined) item[name] = value;
    else item[object] = { ...(item[object] as object | undefined), [key]: value };
  }
  const status = named.get("status") ?? "";
  const [transferId, detail] = [named.get("transfer_id") || undefined, named.get("detail") || undefined];
  return {
    number,
    cells: cells.filter((_, i) => !RESULT.includes(columns[i] ?? "")),
    item,
    result: status === "" ? undefined : { status, transferId, detail },
  };
}

/** @param resultOf undefined for a line that was not sent */
export function resultText({ columns, lines }: Payout, resultOf: (line: PayoutLine) => LineResult | undefined): string {
  const rows = lines.map((line) => {
    const { status = "", transferId = "", detail = "" } = resultOf(line) ?? {};
    return [...line.cells, status, transferId, detail];
  });
  return `${[[...columns, ...RESULT], ...rows].map((cells) => cells.map(cellText).join(",")).join("\n")}\n`;
}

/** RFC 4180, section 2. */
const cellText = (value: string): string =>
  /[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
