/** What an auditor reads of the operators' writes: each with amounts, names, and the person (`parbook audit writes`). */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { urlOf } from "../support/service.ts";
import { run } from "./in-process.ts";

let db: TestDatabase;
let acme: { readonly id: string; readonly default_profile_id: string };
beforeAll(async () => {
  db = await testDatabase();
  vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(db));
  vi.stubEnv("PARBOOK_LOG_LEVEL", "fatal");
  acme = await json("customer", "create", "--name", "Acme", "--as", "Ada");
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await expectBooksBalance(db.owner);
  await db.close();
});

async function json<Of>(...argv: string[]): Promise<Of> {
  const { exitCode, stdout, stderr } = await run([...argv, "--json"]);
  expect([exitCode, stderr], argv.join(" ")).toEqual([0, ""]);
  return JSON.parse(stdout);
}

interface Item {
  readonly what: string;
  readonly key: string;
  readonly details: object;
  readonly customer_name?: string;
  readonly caller: { readonly person?: string; readonly operation: string };
}

async function trail(...options: string[]): Promise<Item[]> {
  return (await json<{ items: Item[] }>("audit", "writes", ...options)).items;
}

/** What a command adds to the trail, as what, details, customer, person and operation. */
async function added(...argv: string[]): Promise<unknown[]> {
  const before = (await trail()).length;
  await json(...argv, "--as", "Ada Lovelace");
  return (await trail())
    .slice(before)
    .map(({ what, details, customer_name, caller }) => [what, details, customer_name, caller.person, caller.operation]);
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/);
const ADA = "Ada Lovelace";

test("every kind of write is in the trail, with amounts, names, and who made it", async () => {
  const of = ["--customer", acme.id];
  const money = ["--profile", acme.default_profile_id, "--asset", "USD", "--amount", "12.50"];
  const profile = ["profile", { nickname: "till", status: "ACTIVE" }, "Acme", ADA, "profile create"];
  expect(await added("profile", "create", ...of, "--nickname", "till")).toEqual([profile]);
  const created = { scopes: "*", networks: "anywhere", secret_id: ID };
  expect(await added("client", "create", ...of, "--scopes", "*", "--client-id", "acme")).toEqual([
    ["client", created, "Acme", ADA, "client create"],
  ]);
  expect(await added("client", "restrict", "acme", "--from", "192.0.2.0/24")).toEqual([
    ["client", { networks: "192.0.2.0/24" }, "Acme", ADA, "client restrict"],
  ]);
  expect(await added("client", "rotate", "acme")).toEqual([
    ["client", { secret_id: ID, other_secrets_end_at: TIME }, "Acme", ADA, "client rotate"],
  ]);
  expect(await added("client", "disable", "acme")).toEqual([
    ["client", { disabled_at: TIME }, "Acme", ADA, "client disable"],
  ]);
  expect(await added("fee", "set", "BTCUSD", "0:0.002:0.0001")).toEqual([
    ["fees", { from_0: "taker rate 0.002, maker rebate 0.0001" }, undefined, ADA, "fee set"],
  ]);
  const rates = ["--taker-rate", "0.001", "--maker-rebate", "0.0001"];
  expect(await added("fee", "agree", "BTCUSD", ...of, ...rates)).toEqual([
    ["fees", { agreed: "taker rate 0.001, maker rebate 0.0001" }, "Acme", ADA, "fee agree"],
  ]);
  expect(await added("deposit", ...money)).toEqual([
    ["transfer", { type: "WIRE_DEPOSIT", amount: "12.5", asset: "USD" }, "Acme", ADA, "deposit"],
  ]);
  expect(await added("hold", "place", ...money, "--reason", "court order")).toEqual([
    ["legal_hold", { amount: "12.5", asset: "USD", reason: "court order" }, "Acme", ADA, "hold place"],
  ]);
  expect(await added("market", "halt", "BTCUSD")).toEqual([
    ["market", { status: "HALTED" }, undefined, ADA, "market halt"],
  ]);
  expect(await added("key", "rotate")).toEqual([["signing_key", { created_at: TIME }, undefined, ADA, "key rotate"]]);
});

test("a customer is renamed, disabled and enabled, and the trail finds what belongs to it", async () => {
  expect(await added("customer", "rename", acme.id, "--name", "Acme Ltd")).toEqual([
    ["customer", { name: "Acme Ltd", former_name: "Acme", status: "enabled" }, "Acme Ltd", ADA, "customer rename"],
  ]);
  expect(await added("customer", "disable", acme.id)).toEqual([
    ["customer", { name: "Acme Ltd", disabled_at: TIME }, "Acme Ltd", ADA, "customer disable"],
  ]);
  expect(await added("customer", "disable", acme.id)).toEqual([]);
  expect(await json("customer", "list")).toMatchObject({
    items: [{ id: acme.id, name: "Acme Ltd", disabled_at: TIME }],
  });
  expect(await added("customer", "enable", acme.id)).toEqual([
    ["customer", { name: "Acme Ltd", status: "enabled" }, "Acme Ltd", ADA, "customer enable"],
  ]);
  const found = (await trail("--id", acme.id)).map(({ caller }) => caller.operation);
  expect(found).toEqual([
    ...["customer create", "customer create", "profile create", "client create", "client restrict", "client rotate"],
    ...[
      "client disable",
      "fee agree",
      "deposit",
      "hold place",
      "customer rename",
      "customer disable",
      "customer enable",
    ],
  ]);
});

test("a customer may be named wherever its id may be given, and a name that is misspelt is answered with the right one", async () => {
  const clients = await json<{ customer_id: string; items: { client_id: string }[] }>(
    ...["client", "list", "--customer", "Acme Ltd"],
  );
  expect(clients).toMatchObject({ customer_id: acme.id, customer_name: "Acme Ltd", items: [{ client_id: "acme" }] });
  expect(await json("client", "list", "--customer", acme.id)).toEqual(clients);
  const errorOf = async (...argv: string[]) => (await run(argv)).stderr.trim();
  const wrong = "customer not found: acme ldt: did you mean Acme Ltd?";
  expect(await errorOf("client", "create", "--customer", "acme ldt", "--scopes", "*")).toBe(wrong);
  expect(await errorOf("customer", "disable", "acme ldt")).toBe(wrong);
  expect(await errorOf("market", "halt", "BTCUS")).toBe("market not found: BTCUS: did you mean BTCUSD?");
  expect(await errorOf("fee", "list", "BTC-USD")).toBe("market not found: BTC-USD: did you mean BTCUSD?");
  const money = ["--profile", acme.default_profile_id, "--asset", "usd", "--amount", "1"];
  expect(await errorOf("deposit", ...money)).toBe("asset usd is not in the catalogue: did you mean USD?");
  expect(await errorOf("hold", "place", ...money, "--reason", "x")).toBe(
    "asset usd is not in the catalogue: did you mean USD?",
  );
});

test("a name that another customer has is rejected", async () => {
  const errorOf = async (...argv: string[]) => (await run(argv)).stderr.trim();
  const taken = "another customer has this name: customer list shows which";
  expect(await errorOf("customer", "create", "--name", "Acme Ltd")).toBe(taken);
  const { id } = await json<{ id: string }>("customer", "create", "--name", "Acme");
  expect(await errorOf("customer", "rename", id, "--name", "Acme Ltd")).toBe(taken);
  expect(await errorOf("customer", "rename", acme.default_profile_id, "--name", "x")).toBe(
    `customer not found: ${acme.default_profile_id}`,
  );
});

test("the table names the person, the customer, and no key of two ids", async () => {
  const { stdout } = await run(["audit", "writes"]);
  const line = stdout.split("\n").find((text) => text.includes("WIRE_DEPOSIT"));
  expect(line).toMatch(
    /Z {2}transfer +[0-9a-f-]{36} +type WIRE_DEPOSIT, amount 12.5, asset USD +Acme Ltd +operator: \S+ \(Ada Lovelace\) +deposit$/,
  );
});

test("what is not sealed yet is listed, and says so", async () => {
  await db.owner.rows(
    `insert into configuration_write (id, at, caller, kind, subject, details, version)
     values (gen_random_uuid(), now(), '{"operator": "root", "operation": "key revoke"}', 'signing_key', 'k1', '{}', 1)`,
  );
  const { stdout } = await run(["audit", "writes"]);
  expect(stdout.trim().split("\n").at(-1)).toMatch(/signing_key +k1 +not sealed yet +operator: root +key revoke$/);
  const caller = { operator: "root", operation: "key revoke" };
  // Without a slot and a batch: no batch has it.
  expect((await trail()).at(-1)).toEqual({ at: TIME, what: "signing_key", key: "k1", details: {}, caller });
  expect((await trail("--id", acme.id)).filter(({ caller }) => caller.operation === "key revoke")).toEqual([]);
  await json("key", "rotate");
  expect((await run(["audit", "writes"])).stdout).not.toContain("not sealed yet");
});
