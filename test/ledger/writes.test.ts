/** Who made each write: every way in by which something is written is used once, and asked for afterwards. */
import { expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { openProfile, profileTable } from "../../src/customers/profiles/profiles.ts";
import type { Caller } from "../../src/ledger/caller.ts";
import { accept, type Command } from "../../src/ledger/decision.ts";
import { listWrites, type Write, type WritesPosition, type WritesQuery } from "../../src/ledger/list-writes.ts";
import { change, keyOf } from "../../src/ledger/tables.ts";
import { must } from "../../src/std/assert.ts";
import { type Instant, systemClock } from "../../src/std/clock.ts";
import { siblingId } from "../../src/std/id.ts";
import { answerOf, parbook } from "../cli/parbook.ts";
import { expectBooksBalance } from "../support/books.ts";
import { testDatabase } from "../support/database.ts";
import { newProfiles, startLane, TESTER } from "../support/movements.ts";
import { startTestService, urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";

interface Listed {
  readonly items: readonly {
    readonly what: string;
    readonly key: string;
    readonly details: object;
    readonly caller?: object;
  }[];
}

/** "client operation" and so on: what can be said of a caller without ids that differ in each run. */
function shown(caller: object | undefined): string {
  const { client, house, operator, operation } = (caller ?? {}) as Readonly<Record<string, string>>;
  return client !== undefined ? `client: ${operation}` : house !== undefined ? house : `${operator}: ${operation}`;
}

test("the operator can ask which client, token, address and operation made each write", async () => {
  const service = await startTestService();
  const acme = await service.customer();
  const { defaultProfile: home } = acme;
  const send = async (method: string, path: string, body?: object) => {
    const answer = await service.call(method, path, { as: acme.token, ...(body && { body }) });
    expect([path, answer.status, answer.status === 200 ? "" : answer.body]).toEqual([path, 200, ""]);
    return answer.body;
  };
  const { id: shop } = await send("POST", "/v2/profiles", { nickname: "shop" });
  await send("PUT", `/v2/profiles/${shop}`, { description: "sells" });
  await send("POST", `/v2/sandbox/profiles/${home}/deposit`, { asset: "USD", amount: "100" });
  const asked = { amount: "25", asset: "USD", ref_id: "rent" };
  const between = { from_profile_id: home, to_profile_id: shop };
  const rent = await send("POST", "/v2/transfer/internal", { ...between, ...asked });
  await send("POST", "/v2/transfer/platform", {
    from_profile_id: shop,
    to_profile_id: home,
    amount: "25",
    asset: "USD",
  });
  const conversion = { profile_id: home, amount: "10", source_asset: "USD", target_asset: "USDP" };
  const minted = await send("POST", "/v2/conversion/stablecoins", conversion);
  const resting = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.001", price: "100" };
  const order = await send("POST", `/v2/profiles/${home}/orders`, resting);
  await send("DELETE", `/v2/profiles/${home}/orders/${order.id}`);
  await until("the order is cancelled", async () => {
    const { status } = await send("GET", `/v2/profiles/${home}/orders/${order.id}`);
    return status === "CANCELLED";
  });
  await until("the conversion is settled", async () => {
    const { status } = await send("GET", `/v2/conversion/stablecoins/${minted.id}`);
    return status === "SETTLED";
  });
  await send("PUT", `/v2/profiles/${shop}/deactivate`);
  await expectBooksBalance(service.db.owner);
  await service.stop();

  const settings = { PARBOOK_DATABASE_URL: urlOf(service.db), PARBOOK_MIGRATE_URL: urlOf(service.db, "owner") };
  const all = (await answerOf(settings, "audit", "writes")) as Listed;
  const ofTables = (what: string) => all.items.filter((item) => item.what === what).map(({ caller }) => shown(caller));
  expect(ofTables("transfer")).toEqual([
    "client: POST /v2/sandbox/profiles/:id/deposit",
    "client: POST /v2/transfer/internal",
    "client: POST /v2/transfer/platform",
  ]);
  // The first is the customer's DEFAULT profile.
  expect(ofTables("profile")).toEqual([
    "tester: test",
    "client: POST /v2/profiles",
    "client: PUT /v2/profiles/:id",
    "client: PUT /v2/profiles/:id/deactivate",
  ]);
  expect(ofTables("conversion")).toEqual(["client: POST /v2/conversion/stablecoins", "settlement"]);
  const ofOrder = ofTables("orders");
  expect(ofOrder[0]).toBe("client: POST /v2/profiles/:profile_id/orders");
  // Whether the engine took the order before it was asked to cancel it is up to time.
  expect(new Set(ofOrder.slice(1))).toEqual(new Set(["engine", "client: DELETE /v2/profiles/:profile_id/orders/:id"]));

  const token = JSON.parse(Buffer.from(acme.token.split(".")[1] ?? "", "base64url").toString()).jti;
  const caller = { client: acme.clientId, token, address: "127.0.0.1", operation: "POST /v2/transfer/internal" };
  const { id, token: tokenId, address, operation } = { id: `${home}/${shop}/${rent.id}`, ...caller };
  expect(all.items.find(({ key }) => key === id)?.caller).toEqual(caller);
  const listed = await parbook(settings, "audit", "writes", "--ref", "rent", "--client", acme.clientId);
  expect(listed.stdout.split("\n").slice(1)).toEqual([
    expect.stringMatching(
      new RegExp(
        `  transfer  ${rent.id}  type INTERNAL_TRANSFER, amount 25, asset USD  Test ${acme.id}  ` +
          `${acme.clientId}  ${tokenId}  ${address}  ${operation}$`,
      ),
    ),
    "",
  ]);
  const conversionAsked = { amount: "10", source_asset: "USD", target_asset: "USDP" };
  const details = (what: string) => all.items.filter((item) => item.what === what).map((item) => item.details);
  expect(details("conversion")).toEqual([
    { ...conversionAsked, status: "CREATED" },
    { ...conversionAsked, status: "SETTLED" },
  ]);
  const bid = { market: "BTCUSD", side: "BUY", type: "LIMIT", base_amount: "0.001", price: "100" };
  for (const of of details("orders")) expect(of).toMatchObject(bid);
  expect(new Set(all.items.map(({ what }) => what))).not.toContain("market_head");
  const settled = await parbook(settings, "audit", "writes", "--id", minted.id);
  expect(settled.stdout.trimEnd().split("\n").slice(1)).toEqual([
    expect.stringMatching(new RegExp(` ${acme.clientId} .* POST /v2/conversion/stablecoins$`)),
    expect.stringMatching(new RegExp(` Test ${acme.id} +house: settlement$`)),
  ]);
  // The recipient's record of it has an id of its own.
  const received = (await answerOf(settings, "audit", "writes", "--id", siblingId(rent.id))) as Listed;
  expect(received.items.map(({ key }) => key)).toEqual([id]);
  await service.close();
});

test("writes are listed in pages from a time on, with a note where older ones have no caller", async () => {
  const db = await testDatabase();
  // Each writes a slot of its own, the second one fewer batches than the first.
  const lanes = [await startLane(db.database), await startLane(db.another())] as const;
  const ids = newProfiles(4);
  for (const [i, id] of ids.entries()) {
    await db.owner.rows(
      "insert into customer (id, name, created_at) values ($1, 'Acme ' || gen_random_uuid(), now())",
      [id],
    );
    const profile = { customerId: id as string as CustomerId, nickname: "x", description: undefined };
    await lanes[i < 3 ? 0 : 1].lane.execute(openProfile(id, "DEFAULT", systemClock.now(), profile, TESTER));
  }
  for (const { lane } of lanes) await lane.stop();
  const start = systemClock.now() - 60_000;
  const page = (asked: Partial<WritesQuery>) =>
    listWrites(db.database, [], { since: start as Instant, isWanted: () => true, limit: 1, ...asked });
  const found: Write[] = [];
  let next: WritesPosition | undefined;
  do {
    const { writes, next: further } = await page({ after: next });
    expect(writes.length).toBeLessThanOrEqual(1);
    found.push(...writes);
    next = further;
  } while (next !== undefined && found.length < 10);
  expect(found.map(({ slot, table, key, caller }) => [slot, table, key, caller])).toEqual(
    ids.map((id, i) => [i < 3 ? 1 : 2, "profile", id, TESTER]),
  );
  expect(await page({ since: (start + 86_400_000) as Instant })).toEqual({ writes: [], next: undefined });
  // Nor does a slot that comes behind the end of a page give any that are older.
  const tomorrow = (start + 86_400_000) as Instant;
  expect((await page({ since: tomorrow, after: { slot: 1, batch: 1_000n } })).writes).toEqual([]);
  const last = found.at(-1) as Write;
  expect((await page({ since: last.at, limit: 100 })).writes.at(-1)).toEqual(last);
  await db.owner.rows("update batch set callers = null, changes = replace(changes::text, '[0]', '[]')::json");
  const { writes } = await page({ limit: 100 });
  expect(writes.map(({ caller }) => caller)).toEqual(ids.map(() => undefined));
  await db.close();
});

test("a row that several callers have changed in one batch is listed for each of them", async () => {
  const db = await testDatabase();
  const { lane } = await startLane(db.database);
  const [id] = newProfiles(1);
  await db.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [id]);
  const profile = { customerId: id as string as CustomerId, nickname: "x", description: undefined };
  await lane.execute(openProfile(id, "DEFAULT", systemClock.now(), profile, TESTER));
  const callers = ["Ada", "Bob"].map((person): Caller => ({ operator: "tester", person, operation: "test" }));
  const describing = (caller: Caller): Command<string, never> => ({
    queueKey: "house",
    caller,
    dependsOn: [keyOf(profileTable, id)],
    decide: (state) => {
      const row = must(state.get(profileTable, id), "it was opened");
      return accept("described", { states: [change(profileTable, { ...row, description: `${row.version}` })] });
    },
  });
  await Promise.all(callers.map((caller) => lane.execute(describing(caller))));
  await lane.stop();
  const { writes } = await listWrites(db.database, [], { since: 0 as Instant, isWanted: () => true, limit: 100 });
  const values = { description: "2" };
  expect(writes.slice(1).map(({ batch, key, caller, values }) => ({ batch, key, caller, values }))).toEqual(
    callers.map((caller) => ({ batch: 2n, key: id, caller, values })),
  );
  await db.close();
});
