/**
 * What a batch says of each row that it changed (docs/decisions/0029-history-can-be-replayed.md): by table, in key order,
 *
 *     {"orders": [{"key": {"profile_id": "...", "id": "..."}, "version": 2, "values": {"status": "OPEN", ...},
 *                  "digest": "...", "callers": [0]}]}
 *
 * `values` has each changing column whose value is not that of the version before, as PostgreSQL's text; null is null.
 */
import {
  type AnyStateTable,
  digestOf,
  digestOfTexts,
  type SqlRecord,
  type StateRow,
  type StateTable,
  type TableColumn,
} from "./tables.ts";

export interface RowChange {
  /** By column name. */
  readonly key: Readonly<Record<string, string>>;
  readonly version: bigint;
  readonly values: Readonly<Record<string, string | null>>;
  readonly digest: string;
  /** The numbers of the callers who requested it. */
  readonly callers: readonly number[];
}

/** One change as JSON text. @param before undefined: there was no row */
export function changeText<Row extends StateRow>(
  table: StateTable<Row>,
  before: Row | undefined,
  row: Row,
  callers: Iterable<number>,
): string {
  // What the catalogue wrote is in no batch, so the first change has every value.
  const replayed = table.openedOutsideBatches === true && before?.version === 1n ? undefined : before;
  const values: Record<string, string | null> = {};
  for (const column of table.changing) {
    const text = column.text(row);
    if (text !== (replayed === undefined ? null : column.text(replayed))) values[column.name] = text;
  }
  const key = Object.fromEntries(table.keys.map((column) => [column.name, column.text(row)]));
  const parts = [
    `"key":${JSON.stringify(key)}`,
    `"version":${row.version}`,
    `"values":${JSON.stringify(values)}`,
    `"digest":"${digestOf(table, row)}"`,
    `"callers":[${[...callers]}]`,
  ];
  return `{${parts}}`;
}

/** The changes of a batch by table and key text. The column's type guarantees JSON, but tampered text may have any shape. */
export function readChanges(text: string | undefined): Map<string, Map<string, RowChange>> {
  const tables = Object.entries((JSON.parse(text ?? "{}") ?? {}) as Readonly<Record<string, unknown>>);
  return new Map(tables.map(([table, entries]) => [table, byKey(Array.isArray(entries) ? entries : [])]));
}

function byKey(entries: readonly unknown[]): Map<string, RowChange> {
  const changes = entries.flatMap((entry) => readChange(entry) ?? []);
  return new Map(changes.map((change) => [Object.values(change.key).join("/"), change]));
}

function readChange(entry: unknown): RowChange | undefined {
  const { key, version, values, digest, callers } = (entry ?? {}) as Readonly<Record<string, unknown>>;
  if (!isTexts(key) || !isTexts(values) || !Number.isSafeInteger(version)) return undefined;
  return {
    key: key as RowChange["key"],
    version: BigInt(version as number),
    values,
    digest: String(digest),
    callers: Array.isArray(callers) ? callers.filter(Number.isSafeInteger) : [],
  };
}

function isTexts(value: unknown): value is Readonly<Record<string, string | null>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => text === null || typeof text === "string");
}

/** A row as it was in one version: the text or null of each column. */
export interface ReplayedVersion {
  readonly change: RowChange;
  readonly texts: ReadonlyMap<string, string | null>;
  /** Of these texts: it is the change's, unless something is wrong. */
  readonly digest: string;
}

/**
 * Replays every version of a row, from what never changes in it and from its changes.
 * @param record any version of the row
 * @param changes in the order of versions
 */
export function* replayVersions(
  table: AnyStateTable,
  record: SqlRecord,
  changes: readonly RowChange[],
): Generator<ReplayedVersion> {
  const row = table.read(record);
  const overwritten = new Set<TableColumn<StateRow>>([...table.changing, table.version]);
  const fixed = table.hashed.filter((column) => !overwritten.has(column));
  const texts = new Map(fixed.map((column) => [column.name, column.text(row)]));
  for (const change of changes) {
    for (const [name, text] of Object.entries(change.values)) texts.set(name, text);
    texts.set(table.version.name, change.version.toString());
    const digest = digestOfTexts(table.hashed, ({ name }) => texts.get(name) ?? null);
    yield { change, texts: new Map(texts), digest };
  }
}
