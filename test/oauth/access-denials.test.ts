/** The trail of rejections: what is kept of them, and what a flood of them cannot do. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { AccessDenial } from "../../src/oauth/access-denials/access-denial.ts";
import { DenialLog, listDenials } from "../../src/oauth/access-denials/denial-log.ts";
import { insertDenials, removeDenials } from "../../src/oauth/access-denials/store.ts";
import { DatabaseAway, OutcomeUnknown } from "../../src/postgres/database.ts";
import { formatInstant, type Instant } from "../../src/std/clock.ts";
import { IdSource, lowestId } from "../../src/std/id.ts";
import { answerOf, parbook } from "../cli/parbook.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { startTestService, urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";

const HOUR = 60 * 60 * 1_000;
const CUSTOMER = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
let db: TestDatabase;
let now: number;
const clock = { now: () => now as Instant };
beforeEach(async () => {
  db = await testDatabase();
  await db.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [CUSTOMER]);
  await db.owner.rows(
    `insert into client (client_id, customer_id, scopes, created_at)
     select client_id, $1, '{}', now() from unnest(array['acme', 'borealis']) as k(client_id)`,
    [CUSTOMER],
  );
  now = Date.parse("2026-11-21T12:00:00Z");
});
afterEach(() => db.close());

const GUESS: AccessDenial = {
  kind: "invalid_client",
  clientId: "acme",
  address: "203.0.113.9",
  operation: "POST /oauth2/token",
};

function trail(): DenialLog {
  return new DenialLog({ database: db.database, clock, ids: new IdSource(clock), onFailure: () => {} });
}

const all = () => listDenials(db.database, { from: lowestId(0 as Instant), clientId: undefined, limit: 1_000 });

test("equal denials are counted in one row, a different one has its own", async () => {
  const rejections = trail();
  rejections.record(GUESS);
  now += 5_000;
  rejections.record(GUESS);
  rejections.record({ ...GUESS, clientId: "borealis" });
  await rejections.write();
  const [first, last] = [now - 5_000, now];
  const nobody = { tokenId: undefined };
  expect(await all()).toEqual([
    { ...GUESS, ...nobody, clientId: "borealis", firstAt: last, lastAt: last, count: 1 },
    { ...GUESS, ...nobody, firstAt: first, lastAt: last, count: 2 },
  ]);
  await rejections.write();
  expect(await all()).toHaveLength(2);
});

test("denials that differ in anything have a row each, of the earliest and the latest time though the clock was set back", async () => {
  const rejections = trail();
  const tokenId = new IdSource().next();
  const others: AccessDenial[] = [
    { ...GUESS, kind: "no_token" },
    { ...GUESS, clientId: "borealis" },
    { ...GUESS, tokenId },
    { ...GUESS, address: "203.0.113.10" },
    { ...GUESS, operation: "GET /v2/profiles" },
  ];
  const times = [now, now - 5_000, now - 2_000];
  for (const time of times) {
    now = time;
    for (const denial of [GUESS, ...others]) rejections.record(denial);
  }
  await rejections.write();
  const seen = { tokenId: undefined, firstAt: times[1], lastAt: times[0], count: 3 };
  expect(await all()).toEqual([GUESS, ...others].map((denial) => ({ ...seen, ...denial })).toReversed());
});

test("what is recorded is written while the service runs, time after time", async () => {
  const rejections = trail();
  rejections.start(10);
  for (const count of [1, 2]) {
    rejections.record(GUESS);
    await until("it is written", async () => (await all()).length === count);
  }
  await rejections.stop();
});

test("what was not written yet is written at the end, once the database is back", async () => {
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  const rejections = new DenialLog({ database: db.database, clock, ids: new IdSource(clock), onFailure });
  rejections.start();
  rejections.record(GUESS);
  const write = vi.spyOn(rejections, "write");
  await db.owner.rows("alter table access_denial rename to away");
  const stopping = rejections.stop();
  await until("it has failed", () => write.mock.settledResults.some(({ type }) => type === "rejected"));
  await db.owner.rows("alter table away rename to access_denial");
  await stopping;
  expect([(await all()).map(({ count }) => count), failures]).toEqual([[1], []]);
});

test("the end waits a few seconds for a database that does not come back, and says so", async () => {
  const away = new DatabaseAway("the database cannot be reached");
  vi.spyOn(db.database, "rows").mockRejectedValue(away);
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  const rejections = new DenialLog({ database: db.database, clock, ids: new IdSource(clock), onFailure });
  rejections.record(GUESS);
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now() + aheadMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const write = vi.spyOn(rejections, "write");
  const stopping = rejections.stop();
  await until("it has tried twice", () => write.mock.calls.length > 1);
  aheadMs = 10_000;
  await stopping;
  expect(failures).toEqual([away]);
});

test("a write with an unknown outcome is repeated, and counted once", async () => {
  const rejections = trail();
  rejections.record(GUESS);
  const rows = db.database.rows.bind(db.database);
  vi.spyOn(db.database, "rows").mockImplementationOnce(async (text, values) => {
    await rows(text, values);
    throw new OutcomeUnknown(new Error("read ECONNRESET"));
  });
  await expect(rejections.write()).rejects.toThrow(OutcomeUnknown);
  rejections.record(GUESS);
  await rejections.write();
  expect((await all()).map(({ count }) => count)).toEqual([1, 1]);
});

test("a flood is counted to the last one, in as many rows as the bound has", async () => {
  const rejections = trail();
  for (let i = 0; i < 5_000; i += 1) rejections.record({ ...GUESS, address: `203.0.113.9/${i}` });
  rejections.record({ ...GUESS, kind: "no_token", clientId: undefined, address: "one more" });
  await rejections.write();
  const rows = await all();
  expect(rows).toHaveLength(102);
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(5_001);
  const ofMany = rows.filter(({ address }) => address === undefined).map(({ kind, count }) => [kind, count]);
  expect(ofMany.sort()).toEqual([
    ["invalid_client", 4_900],
    ["no_token", 1],
  ]);
});

test("a flood hides no guesses at a client's secret, until many clients are guessed at", async () => {
  const denials = trail();
  for (let i = 0; i < 100; i += 1) {
    denials.record({ kind: "no_token", clientId: undefined, address: `203.0.113.9/${i}`, operation: "GET /" });
  }
  for (const address of ["203.0.113.1", "203.0.113.2"]) denials.record({ ...GUESS, address });
  for (let i = 0; i < 150; i += 1) denials.record({ ...GUESS, clientId: `other-${i}` });
  await denials.write();
  const rows = await all();
  expect(rows.filter(({ clientId }) => clientId === "acme").map(({ count, address }) => [count, address])).toEqual([
    [2, undefined],
  ]);
  expect(rows).toHaveLength(201);
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(252);
});

test("values that unauthenticated callers choose block no other rows, and are not stored: they may be secrets", async () => {
  const rejections = trail();
  const long = "x".repeat(60_000);
  rejections.record({ ...GUESS, clientId: long, address: long, operation: long });
  rejections.record({ ...GUESS, clientId: `{"quoted\\", NULL}` });
  rejections.record(GUESS);
  await rejections.write();
  expect((await all()).map(({ clientId }) => clientId)).toEqual(["acme", undefined, undefined]);
});

test("failed writes are retried before later ones, and rows are removed after thirty days, by a clock that stays right", async () => {
  let elapsedMs = 0;
  const rejections = new DenialLog({
    ...{ database: db.database, clock, ids: new IdSource(clock), elapsedMs: () => elapsedMs },
    onFailure: () => undefined,
  });
  rejections.record(GUESS);
  await db.owner.rows("alter table access_denial rename to away");
  await expect(rejections.write()).rejects.toThrow();
  await db.owner.rows("alter table away rename to access_denial");
  rejections.record(GUESS);
  await rejections.write();
  expect((await all()).map(({ count }) => count)).toEqual([1, 1]);
  const written = now;
  const afterAnHour = async (at: number): Promise<number> => {
    now = at;
    elapsedMs += HOUR;
    await rejections.write();
    return (await all()).length;
  };
  // Ahead for less than two looks an hour apart.
  expect(await afterAnHour(written + 500 * 24 * HOUR)).toBe(2);
  expect(await afterAnHour(written + 30 * 24 * HOUR)).toBe(2);
  expect(await afterAnHour(written + 40 * 24 * HOUR)).toBe(2);
  expect(await afterAnHour(written + 40 * 24 * HOUR + 1)).toBe(0);
});

test("the oldest are removed, as many as are asked for; a list begins at an id, and is of one client or of all", async () => {
  const rows = [1, 2, 3, 4, 5].map((ms) => {
    const time = (now + ms) as Instant;
    const clientId = ms === 4 ? "borealis" : "acme";
    return { ...GUESS, tokenId: undefined, clientId, firstAt: time, lastAt: time, count: ms, id: lowestId(time) };
  });
  await insertDenials(db.database, rows.toReversed());
  const listed = async (query: Partial<Parameters<typeof listDenials>[1]> = {}) => {
    const wanted = { from: lowestId(0 as Instant), clientId: undefined, limit: 1_000, ...query };
    return (await listDenials(db.database, wanted)).map(({ count }) => count);
  };
  const third = lowestId((now + 3) as Instant);
  expect(await listed({ from: third })).toEqual([5, 4, 3]);
  expect(await listed({ limit: 2 })).toEqual([5, 4]);
  expect(await listed({ clientId: "borealis" })).toEqual([4]);
  expect(await listed({ clientId: "acme" })).toEqual([5, 3, 2, 1]);
  await removeDenials(db.database, third, 1);
  expect(await listed()).toEqual([5, 4, 3, 2]);
  await removeDenials(db.database, third, 2);
  expect(await listed()).toEqual([5, 4, 3]);
});

test("the service records each denial with caller, operation and reason, and the operator can list them", async () => {
  const service = await startTestService();
  const customer = await service.customer();
  const reader = await service.token(customer, "transfer:read_transfer");
  expect((await service.call("GET", "/v2/profiles")).status).toBe(401);
  expect((await service.call("GET", "/v2/profiles", { as: "guess" })).status).toBe(401);
  expect((await service.call("PUT", `/v2/profiles/${customer.defaultProfile}`, { as: reader, body: {} })).status).toBe(
    403,
  );
  await expect(service.token({ clientId: customer.clientId, secret: "wrong" })).rejects.toThrow("invalid_client");
  expect((await service.call("GET", "/v2/transfer/transfers", { as: reader })).status).toBe(200);
  await service.stop();

  const tokenId = JSON.parse(Buffer.from(reader.split(".")[1] ?? "", "base64url").toString()).jti;
  const common = { address: "127.0.0.1", count: 1, first_at: expect.any(String), last_at: expect.any(String) };
  const client_id = customer.clientId;
  const settings = { PARBOOK_DATABASE_URL: urlOf(service.db), PARBOOK_MIGRATE_URL: urlOf(service.db, "owner") };
  expect(await answerOf(settings, "audit", "denials")).toEqual({
    items: [
      { ...common, kind: "invalid_client", client_id, operation: "POST /oauth2/token" },
      { ...common, kind: "insufficient_scope", client_id, token_id: tokenId, operation: "PUT /v2/profiles/:id" },
      { ...common, kind: "invalid_token", operation: "GET /v2/profiles" },
      { ...common, kind: "no_token", operation: "GET /v2/profiles" },
    ],
    more: false,
  });
  for (const hours of [23, 25]) {
    const at = (Date.now() - hours * 3_600_000) as Instant;
    await service.db.owner.rows(
      "insert into access_denial (id, kind, operation, first_at, last_at, count) values ($1, 'no_token', $2, $3, $4, 2)",
      [lowestId(at), `${hours} hours ago`, formatInstant(at), formatInstant((at + 60_000) as Instant)],
    );
  }
  const earlier = async (...options: string[]) =>
    ((await answerOf(settings, "audit", "denials", ...options)) as { items: { operation: string }[] }).items
      .slice(4)
      .map(({ operation }) => operation);
  expect(await earlier()).toEqual(["23 hours ago"]);
  expect(await earlier("--hours", "22")).toEqual([]);
  expect(await earlier("--hours", "26")).toEqual(["23 hours ago", "25 hours ago"]);
  const { items } = (await answerOf(settings, "audit", "denials")) as {
    items: { first_at: string; last_at: string }[];
  };
  const last = items.at(-1);
  expect(Date.parse(last?.last_at ?? "") - Date.parse(last?.first_at ?? "")).toBe(60_000);
  const { stdout } = await parbook(settings, "audit", "denials");
  expect(stdout.trimEnd().split("\n").at(-1)).toMatch(
    new RegExp(`^${last?.last_at} +2 +no_token +many +23 hours ago$`),
  );
  const ofNobody = await parbook(settings, "audit", "denials", "--client", "nobody");
  expect(ofNobody.stdout).toBe("last  count  kind  client_id  address  operation\n");
  await service.close();
});
