/** Lists that are longer than what is shown at once: each says so. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { IdSource } from "../../src/std/id.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { urlOf } from "../support/service.ts";
import { run } from "./in-process.ts";

const CUSTOMER = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";

const ids = new IdSource();
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(db));
  vi.stubEnv("PARBOOK_LOG_LEVEL", "fatal");
  await db.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [CUSTOMER]);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await db.close();
});

async function linesOf(...argv: string[]): Promise<string[]> {
  const { exitCode, stdout, stderr } = await run(argv);
  expect([exitCode, stderr]).toEqual([0, ""]);
  return stdout.trimEnd().split("\n");
}

async function expectMoreIsSaid(argv: readonly string[], add: (count: number) => Promise<unknown>): Promise<void> {
  await add(1_000);
  expect(await linesOf(...argv)).toHaveLength(1 + 1_000);
  await add(1);
  const lines = await linesOf(...argv);
  expect(lines).toHaveLength(1 + 1_000 + 1);
  expect(lines.at(-1)).toBe("Only the first 1000 are shown.");
}

test("of more denials than are listed it is said that there are more", async () => {
  const add = (count: number) =>
    db.owner.rows(
      `insert into access_denial (id, kind, operation, first_at, last_at, count)
       select id, 'no_token', 'GET /v2/profiles', now(), now(), 1 from unnest($1::uuid[]) id`,
      [Array.from({ length: count }, () => ids.next())],
    );
  await expectMoreIsSaid(["audit", "denials"], add);
});

test("of more open transfers than are listed it is said that there are more", async () => {
  const add = async (count: number): Promise<void> => {
    const all = Array.from({ length: count }, () => ids.next());
    await db.owner.rows(
      `insert into transfer (customer_id, id, type, has_steps, to_profile_id, to_customer_id, asset, amount, created_at, slot, batch)
       select $2, id, 'WIRE_DEPOSIT', true, $2, $2, 'USD', 1, now(), 1, 1 from unnest($1::uuid[]) id`,
      [all, CUSTOMER],
    );
    await db.owner.rows(
      `insert into external_transfer (customer_id, id, status, updated_at, version, slot, batch)
       select $2, id, 'requested', now(), 1, 1, 1 from unnest($1::uuid[]) id`,
      [all, CUSTOMER],
    );
  };
  await expectMoreIsSaid(["transfer", "list"], add);
});
