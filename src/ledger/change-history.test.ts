import { expect, test } from "vitest";
import { changeText, readChanges, replayVersions } from "./change-history.ts";
import { changing, key, textColumn, versionColumn } from "./columns.ts";
import { digestOf, type StateRow, stateTable } from "./tables.ts";

interface Note extends StateRow {
  readonly owner: string;
  readonly id: string;
  readonly text: string | undefined;
  readonly status: string;
}

const noteTable = stateTable<Note>({
  name: "note",
  columns: {
    id: key(textColumn("id")),
    owner: textColumn("owner"),
    text: changing(textColumn("text")),
    status: changing(textColumn("status")),
    version: versionColumn,
  },
  digested: true,
  keyOf: ({ id }) => id,
  keyValues: (id) => [id],
});

const V1: Note = { owner: "ann", id: "a", text: 'a "note"', status: "NEW", version: 1n };
const VERSIONS: readonly Note[] = [V1, { ...V1, status: "READ", version: 2n }, { ...V1, text: undefined, version: 4n }];

/** Each as its batch has it. */
const texts = VERSIONS.map((row, i) => `{"note":[${changeText(noteTable, VERSIONS[i - 1], row, [0, i])}]}`);

test("a change says what it made of the row, and nothing that stayed", () => {
  expect(texts.map((text) => JSON.parse(text).note[0].values)).toEqual([
    { text: 'a "note"', status: "NEW" },
    { status: "READ" },
    { text: null, status: "NEW" },
  ]);
  expect(readChanges(texts[1]).get("note")?.get("a")).toEqual({
    key: { id: "a" },
    version: 2n,
    values: { status: "READ" },
    digest: digestOf(noteTable, VERSIONS[1] as Note),
    callers: [0, 1],
  });
});

test("every version is replayed from any version and the changes", () => {
  const changes = texts.flatMap((text) => [...(readChanges(text).get("note")?.values() ?? [])]);
  for (const { text, ...record } of VERSIONS) {
    const replayed = [...replayVersions(noteTable, { ...record, text: text ?? null }, changes)];
    expect(replayed.map(({ digest }) => digest)).toEqual(VERSIONS.map((row) => digestOf(noteTable, row)));
    expect(Object.fromEntries(replayed[2]?.texts ?? [])).toEqual({
      ...{ id: "a", owner: "ann", text: null, status: "NEW", version: "4" },
    });
  }
});

test("the first change of a row of the catalogue says all, because no batch opened it", () => {
  const text = changeText({ ...noteTable, openedOutsideBatches: true }, V1, { ...V1, version: 2n }, [0]);
  expect(JSON.parse(text).values).toEqual({ text: 'a "note"', status: "NEW" });
});

test.each([
  ["nothing", undefined],
  ["null", "null"],
  ["no list", '{"note": 7}'],
  ["a list of other things", '{"note": [null, 7, {}, {"key": "a"}, {"key": {"id": 1}, "values": {}, "version": 1}]}'],
  ["a version that is no number", '{"note": [{"key": {"id": "a"}, "values": {}, "version": "1"}]}'],
])("what was tampered with may have any shape: %s", (_, text) => {
  expect([...(readChanges(text).get("note") ?? [])]).toEqual([]);
});
