/** Rows that other transactions hold are found, and not waited for. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { activeProfileKey, profileKey } from "../../src/customers/profiles/profiles.ts";
import { type Key, keyName, readKeys } from "../../src/ledger/tables.ts";
import { lockUnheld } from "../../src/ledger/writer/unheld-rows.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { pendingFor } from "../support/held-rows.ts";
import { newProfiles } from "../support/movements.ts";
import { insertProfile, openTransaction } from "../support/postgres/rows-in-the-way.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());
afterEach(async () => {
  await expectBooksBalance(db.owner);
});

test("a profile that may be changed is locked, as the recipient of an order, and one that has to be active only is not", async () => {
  const [recipient] = newProfiles(1);
  await insertProfile(db.owner, recipient);
  const [changes, needsActive] = [[profileKey(recipient)], [activeProfileKey(recipient)]];
  await db.owner.transaction(async (transaction) => {
    expect(await readKeys(transaction, [...needsActive, ...changes], 1, "locked")).toHaveLength(1);
    const found = (keys: readonly Key[]) => db.owner.transaction((other) => readKeys(other, keys, 1, "skip locked"));
    expect(await found(changes)).toEqual([]);
    expect(await found([...changes, ...needsActive])).toEqual([]);
    expect((await found(needsActive)).map(keyName)).toEqual(changes.map(keyName));
  });
});

test("who depends on a row that is held is held too, though only another was to lock it", async () => {
  const [recipient] = newProfiles(1);
  await insertProfile(db.owner, recipient);
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select from profile where id = $1 for update", [recipient]);
  const both = [profileKey(recipient), activeProfileKey(recipient)].map((key) => pendingFor("acme", [key]));
  const { free, held } = await db.owner.transaction((transaction) => lockUnheld(transaction, both, 1, () => false));
  expect([free, held.map(({ pending }) => pending)]).toEqual([[], both]);
  await inTheWay.query("rollback");
  await inTheWay.end();
});
