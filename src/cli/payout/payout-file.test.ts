import { expect, test } from "vitest";
import { isOpenLine, readPayout, resultText } from "./payout-file.ts";

const ID = "0190d5a4-1111-7000-8000-000000000004";
const HEAD = "ref_id,amount,asset,from_profile_id,to_profile_id";
const line = (refId: string): string => `${refId},5,USD,default,${ID}`;
const item = (refId: string) => ({
  ...{ ref_id: refId, amount: "5", asset: "USD", from_profile_id: "default", to_profile_id: ID },
});

test("a line is the body of a transfer, with every column that there may be, and empty cells are absent", () => {
  const ids = "from_identity_id,from_account_id,to_identity_id,to_account_id";
  const pairs = "metadata.a,metadata.b.c,recipient_metadata.d";
  // As spreadsheets write it: with a byte order mark, and quotes around what needs none.
  const text = `\ufeff"ref_id"${HEAD.slice("ref_id".length)},${ids},${pairs}\r\n${line("one")},i,j,k,l,"m ""n""", o ,p\r\n\r\n${line("two")},,,,,,,\r\n`;
  const { columns, lines, wrong } = readPayout(text);
  expect([columns, wrong]).toEqual([`${HEAD},${ids},${pairs}`.split(","), []]);
  const details = { from_identity_id: "i", from_account_id: "j", to_identity_id: "k", to_account_id: "l" };
  expect(lines.map((each) => [each.number, each.item, each.result])).toEqual([
    [
      2,
      { ...item("one"), ...details, metadata: { a: 'm "n"', "b.c": "o" }, recipient_metadata: { d: "p" } },
      undefined,
    ],
    [4, item("two"), undefined],
  ]);
});

test("a result has the lines as they were, and what became of each, and is read as it was written", () => {
  const notes = ["plain", '"a, b"', '"he said ""c"""', '"d\ne"', '"f\rg"'];
  const text = [`${HEAD},metadata.note`, ...notes.map((note, i) => `${line(`r-${i}`)},${note}`)].join("\n");
  const payout = readPayout(text);
  const results = [
    { status: "COMPLETED", transferId: ID },
    { status: "REJECTED", detail: 'profile "x", not found' },
    { status: "EXISTS", transferId: ID, detail: "earlier" },
  ];
  const written = resultText(payout, (each) => results[payout.lines.indexOf(each)]);
  expect(written).toBe(
    [
      `${HEAD},metadata.note,status,transfer_id,detail`,
      `${line("r-0")},plain,COMPLETED,${ID},`,
      `${line("r-1")},"a, b",REJECTED,,"profile ""x"", not found"`,
      `${line("r-2")},"he said ""c""",EXISTS,${ID},earlier`,
      `${line("r-3")},"d\ne",,,`,
      `${line("r-4")},"f\rg",,,`,
      "",
    ].join("\n"),
  );
  const again = readPayout(written);
  expect(again.columns).toEqual(payout.columns);
  expect(again.lines.map((each) => each.item)).toEqual(payout.lines.map((each) => each.item));
  expect(again.lines.map(({ result }) => result)).toEqual([
    { status: "COMPLETED", transferId: ID, detail: undefined },
    { status: "REJECTED", transferId: undefined, detail: 'profile "x", not found' },
    { status: "EXISTS", transferId: ID, detail: "earlier" },
    undefined,
    undefined,
  ]);
  expect(resultText(again, ({ result }) => result)).toBe(written);
});

test("an amount that may have a point between thousands is rejected: it would be paid once, and too little", () => {
  const of = (amount: string) => line("r").replace(",5,", `,${amount},`);
  const may = "may be thousands, separated by a point: leave out the point, or the zeros at its end";
  for (const amount of ["1.000", "12.500", "250.110"])
    expect(readPayout(`${HEAD}\n${of(amount)}\n`).wrong).toEqual([`line 2: amount ${JSON.stringify(amount)} ${may}`]);
  for (const amount of ["1000", "12.5", "12.50", "0.500", "1.0000", "1.234", "1000.000"])
    expect(readPayout(`${HEAD}\n${of(amount)}\n`).wrong, amount).toEqual([]);
});

test("a ref_id with an invisible character is rejected: once corrected, it would be paid again", () => {
  const payout = readPayout(`${HEAD}\n${line("one\u200b")}\n${line("t\u00a0wo")}\n${line(" three\u00a0")}\n`);
  expect(payout.wrong).toEqual([
    'line 2: ref_id "one\u200b" has an invisible character',
    'line 3: ref_id "t\u00a0wo" has an invisible character',
  ]);
  expect(payout.lines[2]?.item).toMatchObject({ ref_id: "three" });
});

test("a ref_id whose letter and accent are two characters is rejected: with one it looks the same, and would be paid again", () => {
  const payout = readPayout(`${HEAD}\n${line("\u00c4-17")}\n${line("A\u0308-17")}\n`);
  expect(payout.wrong).toEqual([
    'line 3: ref_id "A\u0308-17" has a letter and its accent in two characters (not in Unicode\'s form NFC)',
  ]);
});

test("only what was carried out or was there already is done: all else is sent again", () => {
  const statuses = ["COMPLETED", "EXISTS", "REJECTED", "NOT_TRIED", "UNKNOWN", "completed", ""];
  const rows = statuses.map((status, i) => `${line(`r-${i}`)},${status}`);
  const { lines } = readPayout([`${HEAD},status`, ...rows].join("\n"));
  expect(lines.filter(isOpenLine).map(({ number }) => statuses[number - 2])).toEqual(statuses.slice(2));
});

test("of what is wrong each line says all, a text is measured in characters, and what is empty is not repeated", () => {
  const long = (count: number) => "\u{1f7e1}".repeat(count);
  const rows = [`${line("")},${long(100)}`, `${line("")},${long(101)}`];
  expect(readPayout([`${HEAD},metadata.a`, ...rows].join("\n")).wrong).toEqual([
    "line 2: ref_id is empty",
    "line 3: ref_id is empty",
    `line 3: metadata.a ${JSON.stringify(long(50))} has more than 100 characters`,
  ]);
});

test("a file without transfers is none", () => {
  expect(readPayout(`${HEAD}\n`)).toEqual({ columns: [], lines: [], wrong: ["the file has no transfers"] });
  expect(readPayout("").wrong).toEqual(
    ["from_profile_id", "to_profile_id", "amount", "asset", "ref_id"].map(
      (name) => `line 1: there is no column ${name}`,
    ),
  );
});
