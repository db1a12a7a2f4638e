/** What an export is made of, whole, without the programs that read it (docs/accounting.md). */
import { expect, test } from "vitest";
import { houseOf, houseOwnerId, reserveOf } from "../ledger/house-accounts.ts";
import type { JournalPosting, StoredBatch } from "../ledger/stored-batches.ts";
import { amountOf } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import type { Database } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import { ChartOfAccounts } from "./chart-of-accounts.ts";
import { Days } from "./days.ts";
import { FORMATS, type Format } from "./export.ts";
import type { ExportedJournal } from "./journal-text.ts";
import type { Closing } from "./store.ts";

const USDG = "USDG" as AssetCode;
const CUSTOMER = "0190d5a4-0000-7000-8000-00000000000c" as Uuid;
const PROFILE = "0190d5a4-0000-7000-8000-00000000000d" as Uuid;
const MINTED = "0190d5a4-0000-7000-8000-000000000010" as Uuid;
/** The odd one beside it releases what the even one held. */
const [HELD, RELEASED] = ["0190d5a4-0000-7000-8000-000000000020", "0190d5a4-0000-7000-8000-000000000021"] as [
  Uuid,
  Uuid,
];
const [WORLD, RESERVE, ISSUANCE] = (["world", reserveOf(USDG), "issuance"] as const).map((name) =>
  houseOwnerId(name, 2),
) as [Uuid, Uuid, Uuid];
const EVENING = Date.parse("2026-11-21T23:59:59.999Z") as Instant;
const NEXT_DAY = Date.parse("2026-11-22T00:00:00.000Z") as Instant;

async function chart(): Promise<ChartOfAccounts> {
  const named = { id: PROFILE, customer_id: CUSTOMER, customer: "本店", nickname: "—" };
  const database = { rows: async () => [named] } as unknown as Database;
  const houses = new Map(
    (["world", reserveOf(USDG), "issuance"] as const).map((name) => [
      houseOwnerId(name, 2),
      must(houseOf(name), "it is a house account"),
    ]),
  );
  const made = new ChartOfAccounts(database, houses, []);
  await made.readNames([PROFILE, WORLD]);
  return made;
}

const posting = (ownerId: Uuid, asset: string, amount: string, part = "available") =>
  ({ ownerId, asset, amount: amountOf(amount), part }) as JournalPosting;

function journal(
  id: Uuid,
  cause: string,
  n: bigint,
  at: Instant,
  postings: readonly JournalPosting[],
): ExportedJournal {
  const batch = { slot: 2, n, at } as StoredBatch;
  return { id, batch, postings: postings.map((one) => ({ ...one, cause }) as JournalPosting) };
}

const JOURNALS = [
  journal(MINTED, "deposit", 7n, EVENING, [
    posting(WORLD, "USD", "-12.5"),
    posting(RESERVE, "USD", "12.5"),
    posting(ISSUANCE, "USDG", "-12.5"),
    posting(PROFILE, "USDG", "12.5"),
  ]),
  journal(RELEASED, "withdrawal_released", 8n, NEXT_DAY, [
    posting(PROFILE, "TRUE", "-2", "pending"),
    posting(PROFILE, "TRUE", "2"),
  ]),
];

const closing = (ownerId: Uuid, asset: string, isFirst: boolean, available: string, trading = "0", pending = "0") => {
  const [a, t, p] = [available, trading, pending].map(amountOf);
  return { ownerId, asset, isFirst, available: a, trading: t, pending: p } as Closing;
};

const CLOSINGS = [
  closing(PROFILE, "TRUE", true, "2", "0.5", "0.000000000000000001"),
  closing(PROFILE, "USDG", false, "12.5"),
  closing(RESERVE, "USD", true, "12.5"),
];

/** The parts of an export in their order. */
async function exported(format: Format): Promise<string[]> {
  const { opening, journal: journalText, closing: closingText, end } = FORMATS[format];
  const days = new Days();
  for (const at of [NEXT_DAY, EVENING, NEXT_DAY, NEXT_DAY - 1]) days.add(at as Instant);
  const accounts = await chart();
  const assets = [
    { code: "1INCH", kind: "crypto" },
    { code: "USD", kind: "fiat" },
    { code: "USDG", kind: "stablecoin" },
  ] as Pick<Asset, "code" | "kind">[];
  const journals = JOURNALS.map((one) => journalText(one, accounts));
  return [opening(assets), ...journals, closingText(CLOSINGS, accounts, days), end({ journals: 2, postings: 6 })];
}

const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join("");
const OF_PROFILE = `Liabilities:Customers:Customer-${CUSTOMER}:Profile-${PROFILE}`;

test("hledger and Ledger read journals with their tags, and balances on the last day", async () => {
  const parts = await exported("hledger");
  expect(parts).toEqual([
    lines(
      ...["; Parbook ledger export. The last line marks the end.", ""],
      ...['commodity "1INCH"', '    format 1.000000000000000000 "1INCH"', ""],
      ...['commodity "USD"', '    format 1.000000000000000000 "USD"', ""],
      ...['commodity "USDG"', '    format 1.000000000000000000 "USDG"', ""],
      ...['P 1970-01-01 "USDG" 1 "USD"', ""],
    ),
    lines(
      `2026-11-21 * (${MINTED}) deposit`,
      "    ; at: 2026-11-21T23:59:59.999Z",
      "    ; batch: 2/7",
      `    ; transfer: ${MINTED}`,
      '    Assets:Custody:Received:Slot-2  12.5 "USD"',
      '    Assets:Reserve:USDG:Default:Slot-2  12.5 "USD"',
      '    Assets:Custody:Reserved:USDG:Default:Slot-2  -12.5 "USD"',
      '    Equity:Backing:USDG:Default:Slot-2  -12.5 "USD"',
      '    Equity:Backing:Issued:Slot-2  12.5 "USDG"',
      `    ${OF_PROFILE}:Available  -12.5 "USDG"`,
      "",
    ),
    lines(
      `2026-11-22 * (${RELEASED}) withdrawal_released`,
      "    ; at: 2026-11-22T00:00:00.000Z",
      "    ; batch: 2/8",
      `    ; transfer: ${HELD}`,
      `    ${OF_PROFILE}:Pending  2 "TRUE"`,
      `    ${OF_PROFILE}:Available  -2 "TRUE"`,
      "",
    ),
    lines(
      "2026-11-22 * closing balances",
      `    ${OF_PROFILE}:Available  0 "TRUE" = -2 "TRUE"`,
      `    ${OF_PROFILE}:Trading  0 "TRUE" = -0.5 "TRUE"`,
      `    ${OF_PROFILE}:Pending  0 "TRUE" = -0.000000000000000001 "TRUE"`,
      `    ${OF_PROFILE}:Available  0 "USDG" = -12.5 "USDG"`,
      `    ${OF_PROFILE}:Trading  0 "USDG" = 0 "USDG"`,
      `    ${OF_PROFILE}:Pending  0 "USDG" = 0 "USDG"`,
      '    Assets:Reserve:USDG:Default:Slot-2  0 "USD" = 12.5 "USD"',
      '    Assets:Custody:Reserved:USDG:Default:Slot-2  0 "USD" = -12.5 "USD"',
      '    Equity:Backing:USDG:Default:Slot-2  0 "USD" = -12.5 "USD"',
      "",
    ),
    lines("; The end: 2 journals, 6 postings."),
  ]);
  expect(await exported("ledger")).toEqual(parts);
});

/** It checks a balance at the beginning of its day, and knows no account before it is opened. */
test("Beancount reads accounts that are opened once, on the first day, and balances on the day after the last", async () => {
  const opened = (account: string): string => `2026-11-21 open ${account}`;
  const balance = (account: string, amount: string, asset: string): string =>
    `2026-11-23 balance ${account}  ${amount} ~ 0 ${asset}`;
  expect(await exported("beancount")).toEqual([
    lines(
      "; Parbook ledger export. The last line marks the end.",
      'option "title" "Parbook"',
      'option "inferred_tolerance_multiplier" "0"',
      "1970-01-01 price USDG 1 USD",
      "",
    ),
    lines(
      `2026-11-21 * "deposit" "${MINTED}" ^transfer-${MINTED}`,
      '  at: "2026-11-21T23:59:59.999Z"',
      '  batch: "2/7"',
      `  transfer: "${MINTED}"`,
      "  Assets:Custody:Received:Slot-2  12.5 USD",
      "  Assets:Reserve:USDG:Default:Slot-2  12.5 USD",
      "  Assets:Custody:Reserved:USDG:Default:Slot-2  -12.5 USD",
      "  Equity:Backing:USDG:Default:Slot-2  -12.5 USD",
      "  Equity:Backing:Issued:Slot-2  12.5 USDG",
      `  ${OF_PROFILE}:Available  -12.5 USDG`,
      "",
    ),
    lines(
      `2026-11-22 * "withdrawal_released" "${RELEASED}" ^transfer-${HELD}`,
      '  at: "2026-11-22T00:00:00.000Z"',
      '  batch: "2/8"',
      `  transfer: "${HELD}"`,
      // A word that Beancount reserves.
      `  ${OF_PROFILE}:Pending  2 A-TRUE`,
      `  ${OF_PROFILE}:Available  -2 A-TRUE`,
      "",
    ),
    lines(
      ...[opened(`${OF_PROFILE}:Available`), balance(`${OF_PROFILE}:Available`, "-2", "A-TRUE")],
      ...[opened(`${OF_PROFILE}:Trading`), balance(`${OF_PROFILE}:Trading`, "-0.5", "A-TRUE")],
      ...[opened(`${OF_PROFILE}:Pending`), balance(`${OF_PROFILE}:Pending`, "-0.000000000000000001", "A-TRUE")],
      balance(`${OF_PROFILE}:Available`, "-12.5", "USDG"),
      balance(`${OF_PROFILE}:Trading`, "0", "USDG"),
      balance(`${OF_PROFILE}:Pending`, "0", "USDG"),
      ...["Assets:Reserve:USDG", "Assets:Custody:Reserved:USDG", "Equity:Backing:USDG"].flatMap((path, i) => [
        opened(`${path}:Default:Slot-2`),
        balance(`${path}:Default:Slot-2`, i === 0 ? "12.5" : "-12.5", "USD"),
      ]),
      "",
    ),
    lines("; The end: 2 journals, 6 postings."),
  ]);
});

test("in Beancount a code that is a reserved word, or begins with a digit, has a prefix, and no other", () => {
  const codes = ["TRUE", "FALSE", "NULL", "1INCH", "TRUEUSD", "USDNULL", "NULLS"] as AssetCode[];
  const prices = FORMATS.beancount
    .opening(codes.map((code) => ({ code, kind: "stablecoin" })))
    .match(/(?<=price )\S+/g);
  expect(prices).toEqual(["A-TRUE", "A-FALSE", "A-NULL", "A-1INCH", "TRUEUSD", "USDNULL", "NULLS"]);
});
