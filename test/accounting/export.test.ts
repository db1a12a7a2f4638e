/**
 * The export, judged by programs that do not know Parbook. Where one is missing its tests say so and are skipped,
 * unless skipping is forbidden (`required`).
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { exportJournals, type Format } from "../../src/accounting/export.ts";
import { accountKey, journal } from "../../src/ledger/accounts.ts";
import { accept } from "../../src/ledger/decision.ts";
import { depositEntries } from "../../src/ledger/external-transfer-entries.ts";
import { type ChainHead, readHeads } from "../../src/ledger/stored-batches.ts";
import { amountOf } from "../../src/money/amount.ts";
import type { AssetCode } from "../../src/money/asset.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newId, newProfiles, startLane, TESTER } from "../support/movements.ts";
import { required } from "../support/required.ts";
import { ACCOUNTANTS } from "./accountants.ts";
import { makeLargeBooks } from "./large-books.ts";

let db: TestDatabase;
let folder: string;
let ours: ReadonlyMap<string, string>;

beforeAll(async () => {
  db = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), "parbook-export-"));
  await makeLargeBooks(db);
  await db.owner.rows("insert into customer (id, name, created_at) values ($1, 'Zenith', now())", [newId()]);
  ours = await ourBalances();
});
afterAll(async () => {
  await db.close();
  await rm(folder, { recursive: true, force: true });
});

/** Every part of every account that is not zero, named as in docs/accounting.md, in SQL that shares nothing with the export. */
async function ourBalances(): Promise<Map<string, string>> {
  const rows = await db.database.rows<{ name: string; amount: string }>(
    `select named.name || ' ' || asset as name, trim_scale(named.amount)::text as amount
       from account a left join profile p on p.id = a.owner_id left join customer c on c.id = p.customer_id
      cross join lateral (
            select 'Liabilities:Customers:'
                     || coalesce(c.name || '-' || c.id || ':' || initcap(p.nickname) || '-' || p.id, 'Unknown:Profile-' || owner_id)
                     || ':' || initcap(part) as name, - amount as amount
              from (values ('available', available), ('trading', trading), ('pending', pending)) as parts(part, amount)
             where house is null
             union all
            select path || ':Slot-' || ('x' || right(owner_id::text, 2))::bit(8)::integer, sign * available
              from (values ('world', 'Assets:Custody:Received', -1),
                           ('reserve', 'Assets:Reserve:' || coin || ':' || initcap(custodian), 1),
                           ('reserve', 'Assets:Custody:Reserved:' || coin || ':' || initcap(custodian), -1),
                           ('reserve', 'Equity:Backing:' || coin || ':' || initcap(custodian), -1),
                           ('issuance', 'Equity:Backing:Issued', -1),
                           ('fees', 'Income:Fees', -1)) as kinds(kind, path, sign)
             where kind = house) as named
      where named.amount <> 0`,
  );
  return new Map(rows.map(({ name, amount }) => [name, amount]));
}

async function exported(format: Format, heads?: readonly ChainHead[]): Promise<string> {
  let text = "";
  for await (const piece of exportJournals(db.database, format, { heads })) text += piece;
  return text;
}

async function fileOf(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

test("the test ledger has amounts that are hard to add up", () => {
  const amounts = [...ours.values()];
  expect(amounts.filter((amount) => amount.length > 45).length).toBeGreaterThan(1);
  expect(amounts).toContain("-0.000000000000000001");
  for (const account of [
    "Received:Slot-2",
    "Reserve:USDP:Default:Slot-1",
    "Reserve:USDG:Default:Slot-2",
    "Issued:Slot-2",
    "Fees:Slot-1",
    ":Trading",
    ":Pending",
  ])
    expect([...ours.keys()].some((name) => name.includes(`${account} `))).toBe(true);
});

test("every journal is there once, with its cause and what it leads to", async () => {
  const text = await exported("hledger");
  const journals = await db.database.rows<{ journal_id: string; cause: string; record: string }>(
    `select distinct p.journal_id, p.cause,
            case when p.cause = 'order_filled' then 'execution: ' || e.id
                 when p.cause::text like 'conversion%' then 'conversion: ' || c.id
                 when p.cause::text like 'order%' then 'order: '
                 when p.cause::text like 'legal_hold%' then 'legal-hold: ' else 'transfer: ' || coalesce(t.id, p.journal_id) end as record
       from posting p
       left join execution e on p.cause = 'order_filled' and e.slot = p.slot and e.batch = p.batch and e.id % 2 = 0
       left join conversion c on c.id in (p.journal_id, (left(p.journal_id::text, 35) ||
                   to_hex(('x' || right(p.journal_id::text, 1))::bit(4)::integer # 1))::uuid)
       left join transfer t on left(t.id::text, 35) = left(p.journal_id::text, 35)`,
  );
  for (const { journal_id, cause, record } of journals) {
    const [, head = "", ...more] =
      new RegExp(`\\n\\S+ \\* \\(${journal_id}\\) (.*)((?:\\n    ; .*)*)`).exec(text) ?? [];
    expect(head).toBe(cause);
    expect(more.join("")).toContain(`\n    ; ${record}`);
  }
  const postings = await db.database.rows("select from posting");
  expect(text.match(/^; The end: .*$/m)?.[0]).toBe(
    `; The end: ${journals.length} journals, ${postings.length} postings.`,
  );
  await expectBooksBalance(db.database);
});

test("how much will be exported is known before, to the last batch", async () => {
  let [announced, done] = [0, 0];
  const counting = { onBegin: (batches: number) => (announced = batches), onBatch: () => (done += 1) };
  for await (const _ of exportJournals(db.database, "ledger", counting));
  expect([announced, announced > 10]).toEqual([done, true]);
});

test("every part of every account is asserted, also where it is zero", async () => {
  const accounts = await db.database.rows<{ parts: number }>(
    "select case when house is null or house = 'reserve' then 3 else 1 end as parts from account",
  );
  const asserted = {
    ledger: /^ {4}(\S+) {2}0 "(\S+)" = (\S+) /gm,
    beancount: /^\S+ balance (\S+) {2}(\S+) ~ 0 (\S+)$/gm,
  };
  const inLedger = [...(await exported("ledger")).matchAll(asserted.ledger)];
  const inBeancount = [...(await exported("beancount")).matchAll(asserted.beancount)];
  const found = [
    inLedger.map(([, account, asset, amount]) => [`${account} ${asset}`, amount]),
    inBeancount.map(([, account, amount, asset]) => [`${account} ${asset?.replace("A-", "")}`, amount]),
  ];
  for (const all of found) {
    expect(all.length).toBe(accounts.reduce((sum, { parts }) => sum + parts, 0));
    expect(new Map(all.filter(([, amount]) => amount !== "0").sort() as [string, string][])).toEqual(ours);
  }
});

test("journals of several slots stand in the order of their times", async () => {
  const times = [...(await exported("ledger")).matchAll(/^ {4}; at: (\S+)\n {4}; batch: ([0-9]+)/gm)];
  expect(new Set(times.map(([, , slot]) => slot)).size).toBe(2);
  const moments = times.map(([, at]) => at as string);
  expect(moments).toEqual(moments.toSorted());
  // Neither slot stands as a block.
  expect(times.findLastIndex(([, , slot]) => slot === "1")).toBeGreaterThan(
    times.findIndex(([, , slot]) => slot === "2"),
  );
});

describe.each(ACCOUNTANTS)("$format", ({ format, missing, object, balances }) => {
  beforeEach((context) => required(context, missing));

  test("finds no error, and computes the same balances to the last digit", async () => {
    const file = await fileOf(`books.${format}`, await exported(format));
    expect(await object(file)).toBe("");
    expect(await balances(file)).toEqual(ours);
  });

  test("says no when one digit is another", async () => {
    const text = await exported(format);
    const closings = text.search(format === "beancount" ? / balance / : / closing balances/);
    const last = (from: number, to: number): number =>
      from + text.slice(from, to).lastIndexOf("0.000000000000000001") + 19;
    for (const place of [last(0, closings), last(closings, text.length)]) {
      expect(text[place]).toBe("1");
      const file = await fileOf("changed", `${text.slice(0, place)}2${text.slice(place + 1)}`);
      expect(await object(file)).toMatch(/balance/i);
    }
    // A journal that does not sum to zero is noticed by itself, also where it is less than half of what is written of it.
    const [posted, left] = [/:Available {2}-12\.5 /, format === "beancount" ? /-37\.5 ~ 0 USD/ : /= -37\.5 /];
    expect([text.match(posted)?.length, text.match(left)?.length]).toEqual([1, 1]);
    const both = text.replace(posted, ":Available  -12.51 ").replace(left, (found) => found.replace("37.5", "37.51"));
    expect(await object(await fileOf("changed", both))).toMatch(/balance/i);
    const [whole] = /89999999999999999999999999999\.123456789012345678/.exec(text) ?? [];
    const file = await fileOf("changed", text.replace(whole as string, `7${whole?.slice(1)}`));
    expect(await object(file)).toMatch(/balance/i);
  });
});

test("an export that ends at earlier heads shows the balances and the accounts of then", async () => {
  const everything = async (heads?: readonly ChainHead[]) =>
    `${await exported("ledger", heads)}${await exported("beancount", heads)}`;
  // While this one has its slot, the other writes one that has fewer batches.
  const { lane: idle } = await startLane(db.database);
  const { lane, fund } = await startLane(db.database);
  const profiles = newProfiles(1);
  const eth = depositEntries(profiles[0], { code: "ETH" as AssetCode, kind: "crypto", precision: 18 }, amountOf("1"));
  const then: { heads: ChainHead[]; text: string }[] = [];
  for (let times = 0; times < 9; times += 1) {
    then.push({ heads: await readHeads(db.database), text: await everything() });
    await fund(profiles, "3");
    if (times !== 4) continue;
    // By then its account of USD, which comes after it, has postings with the same numbers.
    const dependsOn = eth.map(({ owner, asset }) => accountKey(owner, asset));
    const decide = () => accept(undefined, { journals: [journal(newId(), "deposit", eth)] });
    await lane.execute({ queueKey: "house", caller: TESTER, dependsOn, decide });
  }
  const heads = await readHeads(db.database);
  expect(heads.map(({ slot }) => slot)).toEqual([1, 2]);
  expect(heads[1]?.n).toBeLessThan(heads[0]?.n ?? 0n);
  await lane.stop();
  await idle.stop();
  for (const { heads: until, text } of then) expect(await everything(until)).toBe(text);
  expect(new Set(then.map(({ text }) => text)).size).toBe(9);
});

test("an export that ends at earlier heads leaves out later journals", async () => {
  const heads = await readHeads(db.database);
  const before = await exported("ledger");
  const { lane, fund } = await startLane(db.database);
  // More accounts than are read at once.
  await fund(newProfiles(1_001), "7");
  await lane.stop();
  expect(await exported("ledger", heads)).toBe(before);
  expect([...(await exported("ledger")).matchAll(/:Available {2}0 "USD" = -7 "USD"$/gm)].length).toBe(1_001);
});

test("an account is opened once, also of a profile whose accounts are not read at once", async () => {
  const others = newProfiles(1_000);
  const [last] = newProfiles(1);
  const { lane, fund } = await startLane(db.database);
  await fund([last], "7");
  const eth = depositEntries(last, { code: "ETH" as AssetCode, kind: "crypto", precision: 18 }, amountOf("1"));
  const dependsOn = eth.map(({ owner, asset }) => accountKey(owner, asset));
  const decide = () => accept(undefined, { journals: [journal(newId(), "deposit", eth)] });
  await lane.execute({ queueKey: "house", caller: TESTER, dependsOn, decide });
  // A thousand accounts are read at once: the last of them is to be its first one.
  const [before] = await db.database.rows<{ n: number }>(
    "select count(*)::integer as n from account where owner_id < $1",
    [last],
  );
  await fund(others.slice(0, 999 - ((before?.n ?? 0) % 1_000)), "7");
  await lane.stop();
  const text = await exported("beancount");
  const opened = [...text.matchAll(/^\S+ open (\S+)$/gm)].map(([, account]) => account as string);
  expect(opened.filter((account) => account.includes(last))).toHaveLength(3);
  expect(opened.filter((account, i) => opened.indexOf(account) !== i)).toEqual([]);
  // And it has two balances.
  expect([...text.matchAll(new RegExp(`balance \\S+-${last}:Available `, "g"))]).toHaveLength(2);
});
