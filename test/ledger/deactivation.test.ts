/**
 * A deactivation against transfers to the same profile through another node, which remembers the profile as active and takes
 * no lock on it (docs/decisions/0004-profiles-are-guarded-by-a-share-lock.md). Whichever comes first, no money is in an
 * inactive profile.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Catalogue, loadCatalogue } from "../../src/catalogue/catalogue.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { createCustomers } from "../../src/customers/customers.ts";
import { createProfiles } from "../../src/customers/profiles/profiles.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import { Unavailable } from "../../src/ledger/decision.ts";
import { amountOf } from "../../src/money/amount.ts";
import type { Database } from "../../src/postgres/database.ts";
import { systemClock } from "../../src/std/clock.ts";
import { IdSource, type Uuid } from "../../src/std/id.ts";
import { createTransfers } from "../../src/transfers/transfers.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newId, startLane, TESTER } from "../support/movements.ts";
import { openTransaction, standStillOnceLocked, untilBlocked } from "../support/postgres/rows-in-the-way.ts";

let db: TestDatabase;
let catalogue: Catalogue;
let ours: Awaited<ReturnType<typeof startNode>>;
let theirs: Awaited<ReturnType<typeof startNode>>;
let customerId: CustomerId;
/** The one that is deactivated. Its accounts are locked before those of the payer, which was made after it. */
let profile: ProfileId;
let payer: ProfileId;

beforeAll(async () => {
  db = await testDatabase();
  catalogue = await loadCatalogue(db.database);
});
afterAll(async () => {
  catalogue.close();
  await db.close();
});
beforeEach(async () => {
  ours = await startNode("ours", db.database);
  theirs = await startNode("theirs", db.another());
  customerId = newId() as string as CustomerId;
  await ours.customers.ensure(customerId, `Acme ${customerId}`, TESTER);
  profile = await newProfile("shop");
  payer = await newProfile("treasury");
  for (const asset of ["BTC", "ETH", "USD"]) await deposit(payer, asset, "10");
  // Two accounts that are there and empty.
  for (const asset of ["BTC", "USD"]) {
    await deposit(profile, asset, "1");
    await ours.transfers.move({ ...request(asset), from: { profileId: profile }, to: { profileId: payer } }, TESTER);
  }
});
afterEach(async () => {
  await ours.lane.stop();
  await theirs.lane.stop();
  await expectBooksBalance(db.owner);
  const stranded = await db.owner.rows(
    `select p.id, a.asset from profile p join account a on a.owner_id = p.id
      where p.status = 'INACTIVE' and (a.available <> 0 or a.last_deactivation <> p.last_deactivation)`,
  );
  expect(stranded).toEqual([]);
  const { checks } = await verifyAll(db.database);
  expect(checks.flatMap(({ first }) => first ?? [])).toEqual([]);
});

async function startNode(holder: string, database: Database, known = catalogue) {
  const { lane } = await startLane(database, { holder });
  const parts = { database, lane, catalogue: known, ids: new IdSource(), clock: systemClock };
  const [customers, profiles, transfers] = [createCustomers(parts), createProfiles(parts), createTransfers(parts)];
  return { lane, customers, profiles, transfers };
}

async function newProfile(nickname: string): Promise<ProfileId> {
  const outcome = await ours.profiles.create({ customerId, nickname, description: undefined }, TESTER);
  return outcome.kind === "done" ? outcome.value.id : expect.fail(outcome.kind);
}

async function deposit(profileId: ProfileId, asset: string, amount: string): Promise<void> {
  const type = "WIRE_DEPOSIT";
  const { kind } = await ours.transfers.deposit(
    { customerId, profileId, asset, amount: amountOf(amount), type, details: {} },
    TESTER,
  );
  expect(kind).toBe("done");
}

const request = (asset: string) =>
  ({
    customerId,
    kind: "internal",
    asset,
    amount: amountOf("1"),
    from: { profileId: payer },
    to: { profileId: profile },
  }) as const;

/** What a transfer to the profile through their node becomes. */
async function pay(asset: string): Promise<string> {
  const outcome = await theirs.transfers.move(request(asset), TESTER);
  return outcome.kind === "rejected" ? outcome.rejection.code : outcome.kind;
}

/** Makes their node remember both profiles, and these accounts. */
async function remember(...assets: string[]): Promise<void> {
  for (const asset of assets) {
    expect(await pay(asset)).toBe("done");
    const back = { from: { profileId: profile }, to: { profileId: payer } };
    expect((await theirs.transfers.move({ ...request(asset), ...back }, TESTER)).kind).toBe("done");
  }
}

async function deactivate(node = ours): Promise<string> {
  const outcome = await node.transfers.deactivate(customerId, profile, TESTER);
  return outcome.kind === "rejected" ? outcome.rejection.code : outcome.value.status;
}

/** Holds a row until it is released. */
async function hold(text: string, values: readonly Uuid[]): Promise<() => Promise<void>> {
  const session = await openTransaction(db.owner);
  await session.query(`${text} for update`, [...values]);
  return async () => {
    await session.query("rollback");
    await session.end();
  };
}

const holdAccount = (owner: ProfileId, asset: string) =>
  hold(`select from account where owner_id = $1 and asset = '${asset}'`, [owner]);

test("a transfer between accounts that are there takes no lock on their profiles", async () => {
  await remember("USD");
  const release = await hold("select from profile where id in ($1, $2)", [profile, payer]);
  expect(await pay("USD")).toBe("done");
  await release();
});

test("a transfer that opens an account waits for the profile", async () => {
  await remember("USD");
  const release = await hold("select from profile where id = $1", [profile]);
  const paying = pay("ETH");
  await untilBlocked(db);
  await release();
  expect(await paying).toBe("done");
});

test("a rejection waits for nobody", async () => {
  await remember("USD");
  const release = await hold("select from profile where id = $1", [profile]);
  const paying = theirs.transfers.move({ ...request("USD"), amount: amountOf("1000") }, TESTER);
  expect(await paying).toMatchObject({ kind: "rejected", rejection: { code: "insufficient_funds" } });
  await release();
});

test("a transfer after the deactivation, from a memory of before it, is rejected", async () => {
  await remember("BTC", "USD");
  expect(await deactivate()).toBe("INACTIVE");
  expect(await pay("USD")).toBe("profile_not_found");
});

test("a profile remembered from before the deactivation and an account read after it do not fit together", async () => {
  await remember("USD");
  expect(await deactivate()).toBe("INACTIVE");
  expect(await pay("BTC")).toBe("profile_not_found");
});

test("after a deposit has reactivated a profile, one deactivation older than the next is no proof", async () => {
  await remember("USD");
  expect(await deactivate()).toBe("INACTIVE");
  await deposit(profile, "ETH", "1");
  await ours.transfers.move({ ...request("ETH"), from: { profileId: profile }, to: { profileId: payer } }, TESTER);
  // Their node has missed both until now.
  expect(await pay("BTC")).toBe("done");
  await ours.transfers.move({ ...request("BTC"), from: { profileId: profile }, to: { profileId: payer } }, TESTER);
  // Now it remembers the profile as reactivated, and the first deactivation in its account.
  expect(await deactivate()).toBe("INACTIVE");
  expect([await pay("ETH"), await pay("BTC"), await pay("USD")]).toEqual(Array(3).fill("profile_not_found"));
});

test("an account that is not there is not opened by a node that has missed the deactivation", async () => {
  await remember("USD");
  expect(await deactivate()).toBe("INACTIVE");
  expect(await pay("ETH")).toBe("profile_not_found");
});

test("a deactivation waits for a transfer that has changed an account, and finds its money", async () => {
  await remember("USD");
  const release = await holdAccount(payer, "USD");
  const paying = pay("USD");
  await untilBlocked(db);
  const deactivating = deactivate();
  await untilBlocked(db, 2);
  await release();
  expect([await paying, await deactivating]).toEqual(["done", "profile_not_empty"]);
});

test("a deactivation waits for a transfer that opens an account, and finds its money", async () => {
  await remember("USD");
  const release = await holdAccount(payer, "ETH");
  const paying = pay("ETH");
  await untilBlocked(db);
  const deactivating = deactivate();
  await untilBlocked(db, 2);
  await release();
  expect([await paying, await deactivating]).toEqual(["done", "profile_not_empty"]);
});

test("a transfer waits for a deactivation that has locked the accounts, and is rejected", async () => {
  await remember("BTC", "USD");
  const { stopped, goOn } = standStillOnceLocked(db.database);
  const deactivating = deactivate();
  await stopped;
  const paying = pay("BTC");
  await untilBlocked(db);
  goOn();
  expect([await deactivating, await paying]).toEqual(["INACTIVE", "profile_not_found"]);
});

test("a transfer that overtakes a deactivation between the profile and its accounts is found by it", async () => {
  await remember("BTC", "USD");
  const release = await holdAccount(profile, "BTC");
  const deactivating = deactivate();
  await untilBlocked(db);
  expect(await pay("USD")).toBe("done");
  await release();
  expect(await deactivating).toBe("profile_not_empty");
});

test("an account in an asset that this node does not know yet is counted, so the profile stays active", async () => {
  const known: Catalogue = {
    ...catalogue,
    findAsset: (code) => (code === "ETH" ? undefined : catalogue.findAsset(code)),
    listAssets: () => catalogue.listAssets().filter(({ code }) => code !== "ETH"),
  };
  const behind = await startNode("behind", db.another(), known);
  expect(await pay("ETH")).toBe("done");
  await expect(deactivate(behind)).rejects.toThrow(Unavailable);
  const found = await ours.profiles.find(customerId, profile);
  expect(found).toMatchObject({ status: "ACTIVE", lastDeactivation: 0n });
  // Its catalogue has the asset after the next refresh.
  expect(await deactivate()).toBe("profile_not_empty");
  await behind.lane.stop();
});

test("transfers and deactivations at full speed on two nodes leave no money in an inactive profile", async () => {
  await remember("BTC", "USD");
  for (let round = 0; round < 20; round += 1) {
    const outcomes = await Promise.all([
      ...["BTC", "USD", "BTC"].map(pay),
      ...(round % 2 === 0 ? [deactivate()] : [deposit(profile, "USD", "1"), deactivate()]),
    ]);
    expect(outcomes.every((outcome) => outcome === undefined || typeof outcome === "string")).toBe(true);
    for (const asset of ["BTC", "USD"]) {
      const [row] = await db.owner.rows<{ available: string }>(
        `select available from account where owner_id = $1 and asset = '${asset}'`,
        [profile],
      );
      const amount = amountOf(row?.available ?? "0");
      if (amount > 0n)
        await ours.transfers.move(
          { ...request(asset), amount, from: { profileId: profile }, to: { profileId: payer } },
          TESTER,
        );
    }
  }
});
