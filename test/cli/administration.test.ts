/** The operator's customers, profiles, clients and markets: what is made, and how it is listed (docs/customers.md). */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { SLOTS } from "../../src/ledger/writer/slot-chain.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { urlOf } from "../support/service.ts";
import { run } from "./in-process.ts";

let db: TestDatabase;
let customer: { readonly id: string; readonly default_profile_id: string };
beforeAll(async () => {
  db = await testDatabase();
  vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(db));
  vi.stubEnv("PARBOOK_LOG_LEVEL", "fatal");
  customer = await recordOf("customer", "create", "--name", "Acme");
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await db.close();
});

async function recordOf<Of>(...argv: string[]): Promise<Of> {
  const { exitCode, stdout, stderr } = await run([...argv, "--json"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

const NOBODY = "0190d5a4-0000-7000-8000-000000000002";

test("of very many agreements a thousand are listed, and it is said that there are more", async () => {
  await db.owner.rows(
    `with made as (
       insert into customer (id, name, created_at)
       select gen_random_uuid(), 'Many ' || n, now() from generate_series(1, 1001) n returning id)
     insert into fee_agreement (customer_id, market, taker_rate, maker_rebate, rebate_ceiling)
     select id, market, rebate_ceiling, 0, rebate_ceiling from made, fee_schedule where market = 'LTCUSD'`,
  );
  const listed = await recordOf<{ agreements: object[]; more: boolean }>("fee", "list", "LTCUSD");
  expect([listed.agreements.length, listed.more]).toEqual([1_000, true]);
  const { stdout } = await run(["fee", "list", "LTCUSD"]);
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("Only the first 1000 agreements are shown.");
  await db.owner.rows("delete from fee_agreement where market = 'LTCUSD'");
  await db.owner.rows("delete from customer where name like 'Many %'");
});

test("a customer whose creation was interrupted gets no clients and profiles, and is completed by the same command", async () => {
  const name = "Half & Co";
  const create = ["customer", "create", "--name", name];
  const id = randomUUID();
  await db.owner.rows("insert into customer (id, name, created_at) values ($1, $2, now())", [id, name]);
  const completed = "complete it with customer create --name 'Half & Co'";
  const interrupted = `the creation of this customer was interrupted: ${completed}\n`;
  for (const [group, ...options] of [
    ["client", "--scopes", "*"],
    ["profile", "--nickname", "default"],
  ] as const) {
    const made = await run([group, "create", "--customer", name, ...options]);
    expect(made).toEqual({ exitCode: 1, stdout: "", stderr: interrupted });
  }
  const made = await recordOf<typeof customer>(...create);
  expect(made).toEqual({ id, name, created_at: expect.any(String), default_profile_id: expect.any(String) });
  const { items } = await recordOf<{ items: object[] }>("profile", "list", "--customer", name);
  expect(items).toMatchObject([{ id: made.default_profile_id, type: "DEFAULT" }]);
  await recordOf("client", "create", "--customer", name, "--scopes", "*");
  const taken = "another customer has this name: customer list shows which\n";
  expect(await run(create)).toEqual({ exitCode: 1, stdout: "", stderr: taken });
});

test("profiles are listed as they were made, with all that they have, and page by page", async () => {
  const { id, default_profile_id: first } = await recordOf<typeof customer>("customer", "create", "--name", "Pages");
  const create = ["profile", "create", "--customer", "Pages", "--nickname", "till", "--description", "the shop's"];
  const till = await recordOf<{ id: string }>(...create);
  const shared = { customer_id: id, status: "ACTIVE", created_at: expect.any(String), updated_at: expect.any(String) };
  const made = { ...shared, id: till.id, nickname: "till", description: "the shop's", type: "NORMAL" };
  expect(till).toEqual(made);
  await db.owner.rows("update profile set updated_at = created_at + interval '1 hour' where id = $1", [till.id]);
  const { items } = await recordOf<{ items: { created_at: string; updated_at: string }[] }>(
    ...["profile", "list", "--customer", id],
  );
  expect(items).toEqual([{ ...shared, id: first, nickname: "default", type: "DEFAULT" }, made]);
  expect(Date.parse(items[1]?.updated_at ?? "") - Date.parse(items[1]?.created_at ?? "")).toBe(3_600_000);
  expect(await run(create)).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: 'a profile of this customer has or had the nickname "till"\n',
  });
  await db.owner.rows(
    `insert into profile (id, customer_id, nickname, kind, status, incoming_count, last_deactivation, created_at, updated_at, version, slot, batch)
     select gen_random_uuid(), customer_id, 'many ' || n, kind, status, 0, 0, created_at + interval '1 day', updated_at, 1, slot, batch
       from profile, generate_series(1, 1000) n where id = $1`,
    [till.id],
  );
  const list = ["profile", "list", "--customer", "Pages"];
  const page = (await run(list)).stdout.trimEnd().split("\n");
  expect(page.slice(-2, -1)).toEqual(["Only the first 1000 are shown."]);
  const [, last = ""] = /^Next page: profile list --customer \S+ --after (\S+)$/.exec(page.at(-1) ?? "") ?? [];
  expect(page.at(-1)).toBe(`Next page: profile list --customer ${id} --after ${last}`);
  const rest = await recordOf<{ items: object[]; more: boolean }>(...list, "--after", last);
  expect([rest.items.length, rest.more]).toEqual([2, false]);
  await db.owner.rows("delete from profile where nickname like 'many %'");
});

test("a customer is created, disabled and listed in words", async () => {
  const said = async (...argv: string[]) => (await run(argv)).stdout.trimEnd().split("\n");
  const [line = "", ofDefault = ""] = await said("customer", "create", "--name", "Words");
  const id = line.split(/ +/)[1] ?? "";
  const { items } = await recordOf<{ items: { id: string }[] }>("profile", "list", "--customer", "Words");
  expect([line, ofDefault]).toEqual([`customer        ${id}`, `default profile ${items[0]?.id}`]);
  expect(await said("customer", "disable", "Words")).toEqual([`customer ${id} (Words) is disabled`]);
  const stateOf = async (name: string) =>
    (await said("customer", "list")).find((row) => row.endsWith(` ${name}`))?.split(/ +/)[1];
  expect([await stateOf("Words"), await stateOf("Acme")]).toEqual(["disabled", "enabled"]);
  expect(await said("customer", "enable", id)).toEqual([`customer ${id} (Words) is enabled`]);
  expect((await run(["customer", "create", "--name", NOBODY])).exitCode).toBe(2);
  // A customer of an older version, whose name is the id of no customer, is found by it.
  const { id: odd } = await recordOf<{ id: string }>("customer", "create", "--name", "Odd");
  await db.owner.rows("update customer set name = $1 where id = $2", [NOBODY, odd]);
  expect(await recordOf("customer", "disable", NOBODY)).toMatchObject({ id: odd });
});

test("a client has its networks, its secrets and its end, as the operator gave them", async () => {
  const create = ["client", "create", "--customer", customer.id, "--client-id", "desk", "--scopes", "*"];
  const networks = ["192.0.2.0/24", "2001:db8::/32"];
  const shown = { client_id: "desk", client_secret: expect.stringMatching(/^[\w-]{43}$/) };
  expect(await recordOf(...create, "--from", networks.join(", "))).toEqual({
    ...{ ...shown, customer_id: customer.id, scopes: ["*"], networks },
  });
  expect(await run(create)).toEqual({ exitCode: 1, stdout: "", stderr: "a client with this id already exists\n" });
  const others = async (): Promise<number[]> => {
    const rows = await db.owner.rows<{ left: number }>(
      `select extract(epoch from expires_at - clock_timestamp())::float8 as left from client_secret
        where client_id = 'desk' and expires_at is not null order by expires_at`,
    );
    return rows.map(({ left }) => Math.ceil(left / 60));
  };
  expect(await recordOf("client", "rotate", "desk", "--overlap", "90m")).toEqual({ ...shown, overlap_seconds: 5_400 });
  expect(await others()).toEqual([90]);
  expect(await recordOf("client", "rotate", "desk")).toEqual({ ...shown, overlap_seconds: 86_400 });
  expect((await others()).at(-1)).toBe(24 * 60);
  const lastLine = async (overlap: string) =>
    (await run(["client", "rotate", "desk", "--overlap", overlap])).stdout.trimEnd().split("\n").at(-1);
  expect(await lastLine("24h")).toMatch(
    /^The former secrets stay valid until 20[^ ]+Z\. To end them, and this one, at once: parbook client rotate desk --overlap 0$/,
  );
  await db.owner.rows("update client_secret set last_used_at = '2026-11-21Z' where client_id = 'desk'");
  const listed = {
    ...{ client_id: "desk", scopes: ["*"], networks, live_secrets: (await others()).length + 1 },
    ...{ created_at: expect.any(String), last_used_at: "2026-11-21T00:00:00.000Z" },
  };
  const list = ["client", "list", "--customer", "Acme"];
  expect(await recordOf(...list)).toEqual({
    ...{ customer_id: customer.id, customer_name: "Acme", items: [listed], more: false },
  });
  const rowOf = async () => (await run(list)).stdout.trimEnd().split("\n");
  expect(await rowOf()).toEqual([
    `clients of Acme (${customer.id}):`,
    expect.stringMatching(/^client id +state +secrets +last used +from +scopes$/),
    expect.stringMatching(
      `^desk +live +${listed.live_secrets} +2026-11-21T00:00:00.000Z +192.0.2.0/24,2001:db8::/32 +\\*$`,
    ),
  ]);
  expect((await run(["client", "restrict", "desk", "--from", "192.0.2.7"])).stdout).toBe(
    "client desk may call from 192.0.2.7/32\n",
  );
  expect((await run(["client", "restrict", "desk", "--from-anywhere"])).stdout).toBe(
    "client desk may call from anywhere\n",
  );
  expect(await recordOf("client", "disable", "desk")).toEqual({ client_id: "desk", disabled: true });
  expect((await rowOf()).at(-1)).toMatch(/^desk +disabled +\d+ +2026-11-21T00:00:00.000Z +anywhere +\*$/);
});

test("markets are listed with their assets, their tick and whether they are open", async () => {
  await recordOf("market", "halt", "BTCEUR");
  const { items } = await recordOf<{ items: { market: string }[] }>("market", "list");
  const catalogue = JSON.parse(await readFile(new URL("../../catalogue.json", import.meta.url), "utf8"));
  const markets: { code: string; base: string; quote: string; tick: string }[] = catalogue.markets;
  const halted = (code: string) => (code === "BTCEUR" ? "HALTED" : "OPEN");
  expect(items).toEqual(
    markets
      .map(({ code, base, quote, tick }) => ({
        ...{ market: code, status: halted(code), base_asset: base, quote_asset: quote, tick },
      }))
      .sort((a, b) => (a.market < b.market ? -1 : 1)),
  );
  await recordOf("market", "resume", "BTCEUR");
});

test("a command leaves no seat of a writer taken", async () => {
  await recordOf("key", "rotate");
  await recordOf("customer", "create", "--name", "Seats");
  expect(await db.owner.rows("select name from lease where expires_at > clock_timestamp()")).toEqual([]);
});

test("what no batch writes is written while no writer has a seat", async () => {
  await db.owner.rows(
    `insert into lease (name, holder, fence, expires_at)
     select 'slot/' || n, 'another', 1, clock_timestamp() + interval '9 s' from generate_series(1, $1::integer) as n
         on conflict (name) do update set (holder, expires_at) = (excluded.holder, excluded.expires_at)`,
    [SLOTS],
  );
  onTestFinished(async () => void (await db.owner.rows("delete from lease")));
  const [before] = await db.owner.rows<{ keys: string }>("select count(*)::text as keys from signing_key");
  const { exitCode, stdout } = await run(["key", "rotate"]);
  const [after] = await db.owner.rows<{ keys: string }>("select count(*)::text as keys from signing_key");
  expect([exitCode, Number(after?.keys) - Number(before?.keys)]).toEqual([0, 1]);
  expect(stdout).not.toBe("");
});

test("a database that is migrated stays as it is, and the role that gets privileges is there", async () => {
  vi.stubEnv("PARBOOK_MIGRATE_URL", urlOf(db, "owner"));
  const nothing = { applied: [], assets: [], markets: [] };
  expect(await recordOf("migrate")).toEqual({ ...nothing, service_role: db.connection.user });
  expect(await run(["migrate"])).toEqual({ exitCode: 0, stdout: "The schema is up to date.\n", stderr: "" });
  expect(await run(["migrate", "--service-role", "nobody at all"])).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: 'the role "nobody at all" does not exist: create it first (create role ... login password ...)\n',
  });
  // In the address of the database the role is escaped.
  const address = new URL(urlOf(db));
  address.username = "nobody%40all";
  vi.stubEnv("PARBOOK_DATABASE_URL", address.href);
  expect((await run(["migrate"])).stderr).toMatch(/^the role "nobody@all" does not exist: /);
});
