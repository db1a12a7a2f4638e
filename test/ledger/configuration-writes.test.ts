/** The audit trail of what no batch writes: clients, fees, keys (docs/decisions/0044-configuration-writes.md). */
import { afterAll, beforeAll, expect, test } from "vitest";
import { agreeFees, endAgreement, setFeeTiers } from "../../src/catalogue/fee-schedule/fee-schedule.ts";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { Clients } from "../../src/customers/clients/clients.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { createCustomers } from "../../src/customers/customers.ts";
import type { ClientCaller, OperatorCaller } from "../../src/ledger/caller.ts";
import {
  listUnsealed,
  recordConfigurationWrite,
  type Sealer,
  sealConfigurationWrites,
} from "../../src/ledger/configuration-writes.ts";
import type { Lane } from "../../src/ledger/writer/lane.ts";
import { amountOf, ZERO } from "../../src/money/amount.ts";
import { createSigningKeys } from "../../src/oauth/oauth.ts";
import { formatInstant, type Instant, systemClock } from "../../src/std/clock.ts";
import { IdSource } from "../../src/std/id.ts";
import { PASSED } from "../../src/std/result.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newId, startLane } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import { untilNextMillisecond } from "../support/until.ts";

const OPERATOR: OperatorCaller = { operator: "root", person: "Ada", operation: "client create" };
const CALLER: ClientCaller = {
  client: "acme",
  token: "0190d5a4-0000-7000-8000-00000000000a",
  address: "192.0.2.7",
  operation: "DELETE /v2/api-creds/credentials/:client_id",
};
const MARKET = "BTCUSD" as MarketCode;
const customerId = newId() as CustomerId;

let db: TestDatabase;
let clients: Clients;
let lane: Lane;
beforeAll(async () => {
  db = await testDatabase();
  await db.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [customerId]);
  const { database } = db;
  clients = new Clients({ database, clock: systemClock, ids: new IdSource(), onUnrecordedUse: () => undefined });
  ({ lane } = await startLane(database));
});
afterAll(async () => {
  await lane.stop();
  await db.close();
});

/** What was recorded and not sealed, and seals it. */
async function recorded(): Promise<object[]> {
  const unsealed = await listUnsealed(db.database);
  await sealConfigurationWrites(db.database, lane);
  expect(await listUnsealed(db.database)).toEqual([]);
  return unsealed.map(({ kind, subject, customerId: owner, details, caller }) => ({
    ...{ kind, subject, owner, details, caller },
  }));
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/);

test("each write to a client is recorded with what it has become, without its secret", async () => {
  const about = { kind: "client", subject: "acme", owner: customerId };
  const shown = unwrap(await clients.create({ customerId, clientId: "acme", scopes: ["a", "b"] }, OPERATOR));
  const created = { scopes: "a,b", networks: "anywhere", secret_id: ID };
  expect(await recorded()).toEqual([{ ...about, details: created, caller: OPERATOR }]);
  const rotated = unwrap(await clients.rotateSecret("acme", 60_000, OPERATOR));
  await clients.restrict("acme", [{ text: "192.0.2.0/24" } as never], OPERATOR);
  await clients.disableOf(customerId, "acme", CALLER);
  const records = await recorded();
  expect(records).toEqual([
    { ...about, details: { secret_id: ID, other_secrets_end_at: TIME }, caller: OPERATOR },
    { ...about, details: { networks: "192.0.2.0/24" }, caller: OPERATOR },
    { ...about, details: { disabled_at: TIME }, caller: CALLER },
  ]);
  for (const { secret } of [shown, rotated]) expect(JSON.stringify(records)).not.toContain(secret);
});

test("of a rotation it is recorded until when the other secrets of the client stay good", async () => {
  const before = Date.now();
  await clients.create({ customerId, clientId: "overlapping", scopes: ["a"] }, OPERATOR);
  for (const overlapMs of [60_000, 0]) await clients.rotateSecret("overlapping", overlapMs, OPERATOR);
  const after = Date.now();
  const [, kept, ended] = (await recorded()) as { details: { other_secrets_end_at: string } }[];
  for (const [record, overlapMs] of [
    [kept, 60_000],
    [ended, 0],
  ] as const) {
    const end = Date.parse(record?.details.other_secrets_end_at ?? "");
    expect(end).toBeGreaterThanOrEqual(before + overlapMs);
    expect(end).toBeLessThanOrEqual(after + overlapMs);
  }
});

test("what a customer has become is recorded, and what changed nothing is not", async () => {
  const customers = createCustomers({ database: db.database, lane, ids: new IdSource(), clock: systemClock });
  const id = newId() as CustomerId;
  unwrap(await customers.ensure(id, "Borealis", OPERATOR));
  unwrap(await customers.ensure(id, "another name", OPERATOR));
  for (const _ of [1, 2]) unwrap(await customers.rename(id, "Boreal", OPERATOR));
  const disabled = unwrap(await customers.disable(id, OPERATOR));
  await untilNextMillisecond();
  expect(unwrap(await customers.disable(id, OPERATOR))).toEqual(disabled);
  unwrap(await customers.rename(id, "Borealis", OPERATOR));
  for (const _ of [1, 2]) unwrap(await customers.enable(id, OPERATOR));
  const about = { kind: "customer", subject: id, owner: id, caller: OPERATOR };
  const at = formatInstant(disabled.disabledAt as Instant);
  expect(await recorded()).toEqual([
    { ...about, details: { name: "Borealis" } },
    { ...about, details: { name: "Boreal", former_name: "Borealis", status: "enabled" } },
    { ...about, details: { name: "Boreal", disabled_at: at } },
    { ...about, details: { name: "Borealis", former_name: "Boreal", disabled_at: at } },
    { ...about, details: { name: "Borealis", status: "enabled" } },
  ]);
});

test("what changed nothing is not recorded", async () => {
  await clients.disable("acme", OPERATOR);
  await clients.disableOf(customerId, "acme", CALLER);
  await clients.disable("nobody", OPERATOR);
  await clients.disableOf(newId() as CustomerId, "acme", CALLER);
  await clients.rotateSecret("acme", 0, OPERATOR);
  await clients.create({ customerId, clientId: "acme", scopes: ["*"] }, OPERATOR);
  await clients.create({ customerId: newId() as CustomerId, scopes: ["*"] }, OPERATOR);
  await endAgreement(db.database, MARKET, customerId, OPERATOR);
  expect(await recorded()).toEqual([]);
});

test("however many are not sealed, all are sealed at once", async () => {
  const write = { kind: "webhook", subject: "a webhook", customerId, details: {} } as const;
  await db.database.transaction(async (transaction) => {
    for (let i = 0; i < 250; i += 1) await recordConfigurationWrite(transaction, CALLER, write);
  });
  await sealConfigurationWrites(db.database, lane);
  expect(await listUnsealed(db.database)).toEqual([]);
});

test("those that were recorded first are sealed first", async () => {
  const record = `insert into configuration_write (id, at, caller, kind, subject, details, version)
                  values (gen_random_uuid(), now() - $1::text::interval, '{"operator": "root", "operation": "test"}', 'client', $1::text, '{}', 1)`;
  for (const age of ["2 min", "3 min", "1 min"]) await db.database.rows(record, [age]);
  const subjects = async (limit?: number) => (await listUnsealed(db.database, limit)).map(({ subject }) => subject);
  expect([await subjects(), await subjects(2)]).toEqual([
    ["3 min", "2 min", "1 min"],
    ["3 min", "2 min"],
  ]);
  await sealConfigurationWrites(db.database, lane);
});

test("sealing ends, even if as much is recorded as is sealed", async () => {
  const [write] = await db.database.rows("select * from configuration_write limit 1");
  const flooded = { rows: async () => Array.from({ length: 100 }, () => write) as never };
  let sealed = 0;
  const execute = async () => {
    sealed += 1;
    if (sealed > 20_000) throw new Error("it goes on");
  };
  await sealConfigurationWrites(flooded, { execute });
  expect(sealed).toBeGreaterThan(100);
});

test("a record that cannot be sealed is told, and the others are sealed all the same", async () => {
  const write = { kind: "webhook", subject: "a webhook", customerId, details: {} } as const;
  for (let i = 0; i < 3; i += 1) await recordConfigurationWrite(db.database, CALLER, write);
  let first = true;
  const execute: Sealer["execute"] = async (command) => {
    const isFirst = first;
    first = false;
    if (isFirst) throw new Error("the ledger is full");
    return lane.execute(command);
  };
  await expect(sealConfigurationWrites(db.database, { execute })).rejects.toThrow("the ledger is full");
  expect(await listUnsealed(db.database)).toHaveLength(1);
  await sealConfigurationWrites(db.database, lane);
  expect(await listUnsealed(db.database)).toEqual([]);
});

test("each write to fees is recorded with the rates", async () => {
  const rates = { takerRate: amountOf("0.002"), makerRebate: amountOf("0.0001") };
  expect(await setFeeTiers(db.database, MARKET, [{ minimumGross: ZERO, ...rates }], OPERATOR)).toEqual(PASSED);
  expect(await agreeFees(db.database, MARKET, { customerId, ...rates }, OPERATOR)).toEqual(PASSED);
  expect(await endAgreement(db.database, MARKET, customerId, OPERATOR)).toBe(true);
  const about = { kind: "fees", subject: MARKET, caller: OPERATOR };
  const text = "taker rate 0.002, maker rebate 0.0001";
  expect(await recorded()).toEqual([
    { ...about, owner: undefined, details: { from_0: text } },
    { ...about, owner: customerId, details: { agreed: text } },
    { ...about, owner: customerId, details: { agreed: "nothing" } },
  ]);
});

test("each write to signing keys is recorded, also those that the service makes itself", async () => {
  const settings = { encryptionKeys: [], replacedAfterMs: 86_400_000 };
  const keys = createSigningKeys(db.database, systemClock, settings);
  await keys.read();
  await keys.renew();
  const [first = ""] = keys.list().map(({ kid }) => kid);
  const second = await keys.rotate(OPERATOR);
  expect(await keys.revoke(second, OPERATOR)).toBe("revoked");
  const third = keys.list().at(-1)?.kid ?? "";
  const made = { kind: "signing_key", owner: undefined, details: { created_at: TIME } };
  expect(await recorded()).toEqual([
    { ...made, subject: first, caller: { house: "auth" } },
    { ...made, subject: second, caller: OPERATOR },
    { ...made, subject: second, details: { revoked_at: TIME }, caller: OPERATOR },
    { ...made, subject: third, caller: { house: "auth" } },
  ]);
});

test("a write whose record fails is not made, and a record whose write fails is not kept", async () => {
  await db.owner.rows("alter table configuration_write rename to away");
  await expect(clients.create({ customerId, clientId: "b", scopes: ["*"] }, OPERATOR)).rejects.toThrow();
  await db.owner.rows("alter table away rename to configuration_write");
  expect(await db.owner.rows("select 1 from client where client_id = 'b'")).toEqual([]);
  expect(await recorded()).toEqual([]);
});

test("while no lane works, writes are made and recorded, and sealed later", async () => {
  const broken: Sealer = { execute: () => Promise.reject(new Error("no lane")) };
  await clients.create({ customerId, clientId: "c", scopes: ["*"] }, OPERATOR);
  await expect(sealConfigurationWrites(db.database, broken)).rejects.toThrow("no lane");
  expect(await recorded()).toHaveLength(1);
});

test("of two processes that seal the same record, one does", async () => {
  await clients.create({ customerId, clientId: "d", scopes: ["*"] }, OPERATOR);
  const other = await startLane(db.another());
  await Promise.all([
    sealConfigurationWrites(db.database, lane),
    sealConfigurationWrites(db.database, other.lane),
    sealConfigurationWrites(db.database, lane),
  ]);
  await other.lane.stop();
  const versions = await db.owner.rows("select version from configuration_write where subject = 'd'");
  expect(versions).toEqual([{ version: "2" }]);
  const batches = await db.owner.rows(
    `select 1 from batch where changes::text like '%' || (select id from configuration_write where subject = 'd') || '%'`,
  );
  expect(batches).toHaveLength(1);
});

test.for([
  ["is missing, but a batch wrote it", "delete from configuration_write where subject = 'd'"],
  ["does not match batch", `update configuration_write set caller = '{"operator": "eve"}' where subject = 'd'`],
  ["does not match batch", `update configuration_write set details = '{}' where subject = 'd'`],
  [
    "does not match batch",
    `insert into configuration_write
     select gen_random_uuid(), at, caller, kind, subject, null, details, 2, slot, batch
       from configuration_write where subject = 'd'`,
  ],
  [
    "has gone back to version 1",
    "update configuration_write set version = 1, slot = null, batch = null where subject = 'd'",
  ],
])("verify finds a sealed record that %s", async ([message, sql]) => {
  await db.owner.rows("create schema kept; create table kept.writes as table configuration_write");
  await db.owner.rows(sql as string);
  const { checks, sound } = await verifyAll(db.database);
  await db.owner.rows("truncate configuration_write");
  await db.owner.rows("insert into configuration_write table kept.writes");
  await db.owner.rows("drop schema kept cascade");
  expect(sound).toBe(false);
  expect(checks.flatMap(({ first }) => first ?? []).map((found) => found.message)).toEqual([
    expect.stringContaining(message as string),
  ]);
  expect((await verifyAll(db.database)).sound).toBe(true);
});

const RECORD = { at: "2026-11-21", caller: '{"operator": "eve", "operation": "none"}', details: "{}" };

test.each([
  ["at_can_be_sealed", { at: "infinity" }],
  ["at_can_be_sealed", { at: "-infinity" }],
  ["at_can_be_sealed", { at: "10000-01-01 00:00+00" }],
  ["at_can_be_sealed", { at: "1999-12-31 23:59+00" }],
  ["caller_and_details_are_objects", { caller: "null" }],
  ["caller_and_details_are_objects", { details: "[]" }],
])("a record that no batch could seal cannot be made: %s, %j", async (constraint, changed) => {
  const { at, caller, details } = { ...RECORD, ...changed };
  await expect(
    db.database.rows(
      `insert into configuration_write (id, at, caller, kind, subject, details, version)
       values (gen_random_uuid(), $1, $2, 'client', 'timeless', $3, 1)`,
      [at, caller, details],
    ),
  ).rejects.toThrow(constraint);
});

test("the service's role cannot change or remove a record, sealed or not", async () => {
  for (const sql of [
    "update configuration_write set details = '{}'",
    "update configuration_write set caller = '{}'",
    "delete from configuration_write",
  ])
    await expect(db.database.rows(sql)).rejects.toThrow("permission denied");
});
