/** A database of 0.1 is rejected in words, and its balances are carried over to a new ledger. */
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/postgres/database.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { answerOf, parbook, type Settings } from "../cli/parbook.ts";
import { expectBooksBalance } from "../support/books.ts";
import { startTestService } from "../support/service.ts";
import { newDatabase } from "./new-database.ts";

const TREASURY = "0190d5a4-0000-7000-8000-000000000001";
const SHOP = "0190d5a4-0000-7000-8000-000000000002";
const DESK = "0190d5a4-0000-7000-8000-000000000003";

let old: Database;
let settings: Settings;
let file: string;

beforeEach(async () => {
  ({ database: old, settings } = await newDatabase());
  const text = await readFile(new URL("0.1.sql", import.meta.url), "utf8");
  await old.transaction((transaction) => transaction.rows(text));
  await old.rows(`grant select on all tables in schema public to ${inject("serviceRole")}`);
  const directory = await mkdtemp(join(tmpdir(), "parbook-carry-over-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  file = join(directory, "customers.json");
});

/** Closes what is open: holds go back to where they came from, with a posting for each account. */
async function finish(): Promise<void> {
  await old.rows(
    `with released as (
       select p.*, a.available + a.trading + a.pending as total
         from account a join posting p on (p.owner_id, p.asset, p.seq) = (a.owner_id, a.asset, a.seq)
        where a.trading + a.pending <> 0),
     posted as (
       insert into posting (owner_id, asset, seq, journal_id, cause, part, amount, available, trading, pending, at, slot, batch)
       select owner_id, asset, seq + 1, journal_id, 'order_released', 'available', total - available, total, 0, 0, at, slot, batch
         from released)
     update account a set available = total, trading = 0, pending = 0, seq = a.seq + 1
       from released r where (a.owner_id, a.asset) = (r.owner_id, r.asset)`,
  );
  await old.rows("update orders set status = 'CANCELLED', held = 0, closed_at = now() where closed_at is null");
  await old.rows("update conversion set status = 'CANCELLED', cancelled_at = now() where status = 'CREATED'");
}

/** What profiles have, as text. */
function balancesIn(database: Pick<Database, "rows">): Promise<unknown[]> {
  return database.rows(
    `select p.customer_id, p.nickname, a.asset, trim_scale(a.available)::text as available, a.trading + a.pending = 0 as free
       from account a join profile p on p.id = a.owner_id where a.available <> 0 order by 1, 2, 3`,
  );
}

const REJECTION =
  'this is a database of Parbook 0.1 (it has migration 0001-core.sql), whose tables this version cannot use. It was left unchanged. "parbook carry-over <file>" writes its customers and balances as a bootstrap file, with which this version starts on a new, empty database (docs/upgrade.md).\n';

test("a database of 0.1 is rejected when it is migrated, served and verified", async () => {
  const given = { ...settings, PARBOOK_PORT: "0", PARBOOK_AUTH_PORT: "0" };
  const ended = await Promise.all(["migrate", "start", "verify"].map((command) => parbook(given, command)));
  expect(ended).toEqual(ended.map(() => ({ exitCode: 1, stdout: "", stderr: REJECTION })));
});

test("a new ledger starts with the balances of 0.1", async () => {
  await finish();
  // A fee below a cent, and a profile that is out of use.
  await old.rows(
    `update posting p set available = p.available + 0.001 from account a
      where (p.owner_id, p.asset, p.seq) = (a.owner_id, a.asset, a.seq) and a.owner_id = $1 and a.asset = 'USD'`,
    [DESK],
  );
  await old.rows("update account set available = available + 0.001 where owner_id = $1 and asset = 'USD'", [DESK]);
  expect(await answerOf(settings, "carry-over", file)).toEqual({
    file,
    customers: 2,
    profiles: 3,
    balances: { BTC: "20", ETH: "100", PYUSD: "500", USD: "199429.14", USDP: "7.000001" },
    renamed: [],
    not_carried_over: {
      clients: ["acme", "desk"],
      fee_agreements: 0,
      remainders: { USD: "0.001" },
      fees: expect.any(Object),
    },
  });
  const written = JSON.parse(await readFile(file, "utf8"));
  expect(written.customers).toMatchObject([
    {
      name: "acme",
      profiles: [
        { id: TREASURY, nickname: "treasury", balances: { BTC: "10.5", USD: "73320.84" } },
        { id: SHOP, nickname: "shop", balances: { BTC: "0.02", PYUSD: "500", USD: "100.25", USDP: "7.000001" } },
      ],
    },
    {
      name: "desk",
      profiles: [{ id: DESK, nickname: "desk", balances: { BTC: "9.48", ETH: "100", USD: "126008.05" } }],
    },
  ]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  const service = await startTestService({ bootstrap: file });
  onTestFinished(() => service.close());
  await old.rows("update account set available = available - 0.001 where owner_id = $1 and asset = 'USD'", [DESK]);
  expect(await balancesIn(service.db.database)).toEqual(await balancesIn(old));
  await expectBooksBalance(service.db.database);
  expect(await verifyAll(service.db.database)).toMatchObject({ sound: true });
});

test("what a DEFAULT profile has goes to the new DEFAULT profile", async () => {
  await finish();
  await old.rows("update profile set kind = 'DEFAULT', nickname = 'main' where id = $1", [DESK]);
  await answerOf(settings, "carry-over", file);
  const { customers } = JSON.parse(await readFile(file, "utf8"));
  expect(customers[1].profiles).toEqual([
    { nickname: "default", balances: { BTC: "9.48", ETH: "100", USD: "126008.05" } },
  ]);
});

test("of two customers of one name the second one is renamed", async () => {
  await finish();
  await old.rows("update customer set name = 'Zoe' || chr(769) where name = 'acme'");
  await old.rows("update customer set name = 'Zo' || chr(233) where name = 'desk'");
  const { renamed } = (await answerOf(settings, "carry-over", file)) as { renamed: string[] };
  const { customers } = JSON.parse(await readFile(file, "utf8"));
  expect(customers.map(({ name }: { name: string }) => name)).toEqual(["Zoé", ...renamed]);
  expect(renamed).toEqual([`Zoé (${customers[1].id})`]);
  const service = await startTestService({ bootstrap: file });
  onTestFinished(() => service.close());
  expect(await balancesIn(service.db.database)).toEqual(await balancesIn(old));
  await expectBooksBalance(service.db.database);
});

test("an inactive profile is left out, unless it has something", async () => {
  await finish();
  await old.rows("update profile set status = 'INACTIVE' where id = any($1)", [[TREASURY, SHOP]]);
  await old.rows("update account set available = 0 where owner_id = $1", [TREASURY]);
  await old.rows(
    `update posting p set available = 0 from account a
      where (p.owner_id, p.asset, p.seq) = (a.owner_id, a.asset, a.seq) and a.owner_id = $1`,
    [TREASURY],
  );
  await answerOf(settings, "carry-over", file);
  const { customers } = JSON.parse(await readFile(file, "utf8"));
  expect(customers[0].profiles).toEqual([
    { id: SHOP, nickname: "shop", balances: { BTC: "0.02", PYUSD: "500", USD: "100.25", USDP: "7.000001" } },
  ]);
});

test("nothing is written while money is held, a process runs, or an account differs from its postings", async () => {
  const rejected = async (): Promise<string> => {
    const { exitCode, stderr } = await parbook(settings, "carry-over", file);
    await expect(stat(file)).rejects.toThrow("ENOENT");
    expect(exitCode).toBe(1);
    return stderr;
  };
  expect(await rejected()).toBe(
    "nothing was written: open orders hold money (4): cancel them with 0.1; unsettled conversions hold money (1): let 0.1 settle them, or cancel them\n",
  );
  await finish();
  await old.rows("update lease set expires_at = now() + interval '1 minute' where name = 'slot/1'");
  await old.rows("update account set available = available + 1 where owner_id = $1 and asset = 'USD'", [SHOP]);
  expect(await rejected()).toBe(
    'nothing was written: a process of 0.1 is running (one that was killed counts for 15 seconds): stop every one; accounts differ from their postings (1): run "parbook verify" of 0.1\n',
  );
  await old.rows("update lease set expires_at = now()");
  await old.rows("update account set available = available - 1 where owner_id = $1 and asset = 'USD'", [SHOP]);
  // Held in `pending`, by no conversion that is open.
  const hold = (table: string, amount: string) =>
    old.rows(
      `update ${table} set available = available - $2, pending = pending + $2
        where owner_id = $1 and asset = 'USD' and seq = (select seq from account where owner_id = $1 and asset = 'USD')`,
      [SHOP, amount],
    );
  for (const table of ["posting", "account"]) await hold(table, "1");
  expect(await rejected()).toBe(
    'nothing was written: accounts differ from their postings (1): run "parbook verify" of 0.1\n',
  );
  for (const table of ["posting", "account"]) await hold(table, "-1");
  await old.rows(
    `delete from posting p using account a
      where (p.owner_id, p.asset, p.seq) = (a.owner_id, a.asset, a.seq) and a.owner_id = $1 and a.asset = 'USD'`,
    [SHOP],
  );
  expect(await rejected()).toBe(
    'nothing was written: accounts differ from their postings (1): run "parbook verify" of 0.1\n',
  );
});

test("neither a file that is there nor a database of this version is taken", async () => {
  const here = import.meta.filename;
  expect(await parbook(settings, "carry-over", here)).toMatchObject({
    exitCode: 1,
    stderr: `${here} is there already: name another file\n`,
  });
  const { settings: of10 } = await newDatabase();
  await answerOf(of10, "migrate");
  expect(await parbook(of10, "carry-over", file)).toMatchObject({
    exitCode: 1,
    stderr: "this is not a database of Parbook 0.1\n",
  });
});
