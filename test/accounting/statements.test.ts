/** The balance sheet and the income statement that hledger makes of an export, whole, as docs/accounting.md shows how. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { exportJournals } from "../../src/accounting/export.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { required } from "../support/required.ts";
import { makeSmallBooks, type SmallBooks } from "../verify/small-ledger.ts";
import { HLEDGER_MISSING, run } from "./accountants.ts";

let db: TestDatabase;
let books: SmallBooks;
let folder: string;
beforeAll(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
  folder = await mkdtemp(join(tmpdir(), "parbook-statements-"));
  let text = "";
  for await (const piece of exportJournals(db.database, "hledger")) text += piece;
  await writeFile(join(folder, "books.journal"), text);
});
afterAll(async () => {
  await books.close();
  await db.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach((context) => required(context, HLEDGER_MISSING));

/** What a report says, line by line: no zeros behind the last digit, and names for ids. */
async function report(...args: string[]): Promise<string[]> {
  const { output, said } = await run("hledger", "-f", join(folder, "books.journal"), ...args, "-O", "csv");
  expect(said).toBe("");
  const names = [...books.names].filter(([id]) => output.includes(id));
  const named = names.reduce((text, [id, name]) => text.replaceAll(id, name), output);
  return named
    .trim()
    .replaceAll(/(\.[0-9]*?)0+(?=[ ",])/g, "$1")
    .replaceAll(/\.(?=[ ",])/g, "")
    .replaceAll(/\d{4}-\d\d-\d\d/g, "today")
    .replaceAll('""', "'")
    .replaceAll('"', "")
    .split("\n");
}

test("the balance sheet has what is held and in reserve as assets, and what customers have as liabilities", async () => {
  expect(await report("balancesheet", "--depth", "3", "--layout", "bare")).toEqual([
    ...["Balance Sheet today,','", "Account,Commodity,today"],
    "Assets,','",
    "Assets:Custody:Received,BTC,10",
    "Assets:Custody:Received,USD,101493",
    "Assets:Custody:Reserved,USD,-600",
    "Assets:Reserve:PYUSD,USD,500",
    "Assets:Reserve:USDP,USD,100",
    ...["total,BTC,10", "total,USD,101493"],
    "Liabilities,','",
    "Liabilities:Customers:Acme-acme,BTC,10",
    "Liabilities:Customers:Acme-acme,PYUSD,500",
    "Liabilities:Customers:Acme-acme,USD,100829",
    "Liabilities:Customers:Acme-acme,USDP,100",
    ...["total,BTC,10", "total,PYUSD,500", "total,USD,100829", "total,USDP,100"],
    // Coins are owed, and as many USD are in reserve; the rest is what was earned.
    ...["Net:,PYUSD,-500", "Net:,USD,664", "Net:,USDP,-100"],
  ]);
});

test("in USD, with coins at par, what is left of the assets is what the platform earned", async () => {
  expect(await report("balancesheet", "--depth", "2", "-X", "USD", "not:cur:BTC", "--layout", "bare")).toEqual([
    ...["Balance Sheet today, valued at period ends,','", "Account,Commodity,today"],
    "Assets,','",
    ...["Assets:Custody,USD,100893", "Assets:Reserve,USD,600", "total,USD,101493"],
    "Liabilities,','",
    ...["Liabilities:Customers,USD,101429", "total,USD,101429"],
    "Net:,USD,64",
  ]);
});

test("the income statement has commissions less rebates as revenue", async () => {
  expect(await report("incomestatement", "--layout", "bare")).toEqual([
    ...["Income Statement today,','", "Account,Commodity,today"],
    ...["Revenues,','", "Income:Fees:Slot-1,USD,64", "total,USD,64"],
    ...["Expenses,','", "Net:,USD,64"],
  ]);
});

test("each customer and each profile has its name beside its id", async () => {
  const customers = ["balance", "Liabilities:Customers", "--flat", "--depth", "4", "--layout", "bare"];
  expect(await report(...customers)).toEqual([
    "account,commodity,balance",
    "Liabilities:Customers:Acme-acme:Depot-depot,USD,-1003",
    "Liabilities:Customers:Acme-acme:Desk-desk,BTC,-9",
    "Liabilities:Customers:Acme-acme:Shop-shop,USD,-25",
    "Liabilities:Customers:Acme-acme:Treasury-treasury,BTC,-1",
    "Liabilities:Customers:Acme-acme:Treasury-treasury,PYUSD,-500",
    "Liabilities:Customers:Acme-acme:Treasury-treasury,USD,-79795",
    "Liabilities:Customers:Acme-acme:Treasury-treasury,USDP,-100",
    "Liabilities:Customers:Acme-acme:Vault-vault,USD,-20006",
    ...["total,BTC,-10", "total,PYUSD,-500", "total,USD,-100829", "total,USDP,-100"],
  ]);
});
