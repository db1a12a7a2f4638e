/**
 * Nothing that a caller made up reaches a terminal as it is. Every text in the database is hostile here, and every command
 * is run: one that is new fails until it has its line below.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { buildProgram } from "../../src/cli/parbook.ts";
import { must } from "../../src/std/assert.ts";
import { Desk } from "../support/exchange/trading.ts";
import { startTestService, type TestCustomer, type TestService, urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";
import { run } from "./in-process.ts";

/** Clears the screen, begins a line, turns the text around, a C1 control, and one that takes no room. */
const HOSTILE = "\u001b[2J\n\u202e\u009b\u200b";
/** What a terminal obeys or does not show, but for line breaks of our own. */
const OBEYED = /[^\P{C}\n]|[\u2028\u2029]/u;

let service: TestService;
let customer: TestCustomer;
let profile: string;
let webhook: string;
let directory: string;
let untouched: string[];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parbook-terminal-"));
  service = await startTestService();
  customer = await service.customer();
  profile = await service.profile(customer, { USD: "1000", BTC: "1" });
  await fill();
  await service.stop();
  vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(service.db));
  vi.stubEnv("PARBOOK_DATA_DIR", directory);
  vi.stubEnv("PARBOOK_LOG_LEVEL", "fatal");
  await operate();
  untouched = await tamper();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await service.close();
  await rm(directory, { recursive: true, force: true });
});

/** A row in every table that callers write to. */
async function fill(): Promise<void> {
  const call = async (path: string, body: object): Promise<void> => {
    const { status, body: answer } = await service.call("POST", path, { as: customer.token, body });
    expect([status, path], JSON.stringify(answer)).toEqual([200, path]);
  };
  const recipient = await service.profile(customer);
  const about = { ref_id: "ref", metadata: { note: "n" }, identity_id: "identity", account_id: "account" };
  await call("/v2/profiles", { nickname: `name ${HOSTILE}`, description: `about ${HOSTILE}` });
  const transfer = { from_profile_id: profile, to_profile_id: recipient, amount: "1", asset: "USD" };
  await call("/v2/transfer/internal", { ...transfer, ref_id: `ref ${HOSTILE}` });
  await call("/v2/conversion/stablecoins", {
    ...{ profile_id: profile, source_asset: "USD", target_asset: "PYUSD", amount: "1" },
    ...about,
  });
  const order = { side: "BUY", type: "LIMIT", base_amount: "0.001", price: "1000" };
  const [buyer, seller] = [
    new Desk(service, customer, profile, "BTCUSD"),
    await Desk.open(service, "BTCUSD", { BTC: "1" }),
  ];
  await buyer.place(order);
  await seller.closed((await seller.place({ ...order, side: "SELL" })).id);
  await service.call("GET", "/v2/profiles", { as: "no token" });
  await post();
}

/** A webhook with deliveries that fail: nobody listens there. */
async function post(): Promise<void> {
  const as = customer.token;
  const settings = { name: "books", url: "http://127.0.0.1:9/", types: ["profile.*"] };
  const access = { type: "API_KEY", header: "X-Api-Key", secret: "secret" };
  const made = await service.call("POST", "/v2/webhooks", { as, body: { ...settings, receiver_access: access } });
  webhook = made.body.id;
  await service.call("POST", "/v2/profiles", { as, body: { nickname: "posted" } });
  await until("an attempt failed", async () => {
    const { body } = await service.call("GET", `/v2/webhooks/${webhook}/attempts`, { as });
    return body.items.length > 0;
  });
}

/** A withdrawal that failed, and a legal hold that was lifted: rows in which every text may be hostile. */
async function operate(): Promise<void> {
  const json = async (...argv: string[]): Promise<{ readonly id: string }> =>
    JSON.parse((await run([...argv, "--json"])).stdout);
  const { id } = await json("withdraw", ...amount(), "--pending");
  for (const step of ["approve", "send"]) await json("transfer", step, id);
  await json("transfer", "fail", id, "--reason", "no such bank");
  const coins = ["--profile", profile, "--asset", "BTC", "--amount", "0.1", "--address", "bc1qexample"];
  await json("deposit", ...coins, "--network", "BITCOIN", "--tx-hash", "ab".repeat(32), "--tx-index", "0");
  const hold = await json("hold", "place", ...amount(), "--reason", "court order 17");
  await json("hold", "lift", hold.id);
}

/** Without these no command comes as far as the rows that callers wrote, and no caller writes them. */
const OURS = [
  "asset",
  "market",
  "market_head",
  "migration",
  "lease",
  "signing_key",
  "fee_schedule",
  "fee_tier",
  "event",
];

/** Puts hostile text before every text, and tells which columns would not have it. */
async function tamper(): Promise<string[]> {
  const { owner } = service.db;
  const columns = await owner.rows<{ name: string; column: string; type: string }>(
    `select c.relname as name, a.attname as column, format_type(a.atttypid, null) as type
       from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
        and format_type(a.atttypid, null) in ('text', 'text[]', 'json', 'jsonb') and c.relname <> all($1)
      order by 1, 2`,
    [OURS],
  );
  const untouched: string[] = [];
  for (const { name, column, type } of columns) {
    const change = (rows: string): Promise<unknown[]> =>
      owner
        .transaction(async (transaction) => {
          // A client's name is a key that others refer to.
          await transaction.rows("set local session_replication_role = replica");
          const hostile = type.startsWith("json") ? JSON.stringify(HOSTILE).slice(1, -1) : HOSTILE;
          const update = `update ${name} set ${column} = ${hostileValue(column, type)} ${rows} returning 1`;
          return transaction.rows(update, [hostile]);
        })
        .catch(() => []);
    let changed = await change("");
    // Only transfers of coins have a chain's words, and only some secrets a public key.
    if (changed.length === 0 && ["transfer", "webhook_secret"].includes(name))
      changed = await change(`where ${column} is not null`);
    if (changed.length === 0) untouched.push(`${name}.${column}`);
  }
  return untouched;
}

/** JSON keeps the form that commands read, and has it in the names and notes within. */
function hostileValue(column: string, type: string): string {
  // Some are unique: where there is none, the row's place tells them apart.
  if (type === "text") return `$1 || coalesce(${column}, ctid::text)`;
  if (type === "text[]") return `array[$1] || coalesce(${column}, '{}')`;
  const pattern = `"(client|operator|person|operation|address|note)" ?: ?"`;
  return `regexp_replace(${column}::text, '${pattern}', '\\&' || $1, 'g')::${type}`;
}

const file = (name: string): string => join(directory, name);
const amount = (): string[] => ["--profile", profile, "--asset", "USD", "--amount", "1"];
const ofCustomer = (): string[] => ["--customer", customer.id];
const theWebhook = (): string[] => [webhook, "--customer", customer.id];
const clientId = (): string => HOSTILE + customer.clientId;

/** How each command is run, twice, and its exit code. Those that change something come behind those that only show. */
const RUNS: Readonly<Record<string, readonly [exitCode: number, ...argv: (string | (() => string[]))[]]>> = {
  "customer list": [0],
  "profile list": [0, ofCustomer],
  "client list": [0, ofCustomer],
  "key list": [0],
  "market list": [0],
  "fee list": [0, "BTCUSD"],
  "audit denials": [0],
  "audit writes": [0],
  export: [0, "--format", "hledger"],
  // It is a sandbox.
  doctor: [2],
  verify: [1],
  "events rebuild": [0],
  "customer create": [2, "--name", () => [`new ${HOSTILE} ${Math.random()}`]],
  "customer rename": [2, () => [customer.id], "--name", `new ${HOSTILE}`],
  "customer disable": [0, () => [customer.id]],
  "customer enable": [0, () => [customer.id]],
  "profile create": [0, ofCustomer, "--nickname", () => [`new ${HOSTILE} ${Math.random()}`]],
  "client create": [0, ofCustomer, "--scopes", "*"],
  "client rotate": [0, () => [clientId()]],
  "client restrict": [0, () => [clientId(), "--from-anywhere"]],
  "client disable": [0, () => [clientId()]],
  "webhook create": [1, ofCustomer, "--name", HOSTILE, "--url", "http://127.0.0.1:9/", "--types", "*"],
  "webhook list": [0, ofCustomer],
  "webhook show": [0, theWebhook],
  // Its name is hostile by now.
  "webhook update": [1, theWebhook, "--url", `http://127.0.0.1:9/${HOSTILE}`],
  "webhook delete": [1, () => [profile], ofCustomer],
  "webhook rotate-secret": [0, theWebhook],
  "webhook test": [1, theWebhook],
  "webhook replay": [0, theWebhook, "--only-undelivered"],
  "webhook enable": [0, theWebhook, "--from", "now"],
  "webhook disable": [0, theWebhook],
  "webhook attempts": [0, theWebhook],
  "key revoke": [1, "--kid", HOSTILE],
  "key rotate": [0],
  deposit: [0, amount, "--memo", HOSTILE],
  withdraw: [0, amount, "--memo", HOSTILE, "--pending"],
  "transfer list": [0],
  "transfer approve": [1, () => [profile]],
  "transfer send": [1, () => [profile]],
  "transfer complete": [1, () => [profile]],
  "transfer fail": [1, () => [profile], "--reason", HOSTILE],
  "transfer cancel": [1, () => [profile], "--reason", HOSTILE],
  "hold place": [0, amount, "--reason", HOSTILE],
  "hold list": [0, "--profile", () => [profile]],
  "hold lift": [1, () => [customer.id]],
  "market halt": [0, "BTCUSD"],
  "market resume": [1, HOSTILE],
  "fee set": [0, "BTCUSD", "0:0.0035:0.0003"],
  "fee agree": [0, "BTCUSD", ofCustomer, "--taker-rate", "0.001", "--maker-rebate", "0.0001"],
  "fee end": [1, HOSTILE, ofCustomer],
  checkpoint: [1, "--key", () => [file(HOSTILE)], "--file", HOSTILE],
  migrate: [1, "--service-role", HOSTILE],
  // It is for a database of 0.1.
  "carry-over": [1, HOSTILE],
  // These are for an embedded database.
  backup: [1, HOSTILE],
  restore: [1, HOSTILE],
  demo: [1],
};

/** One serves until it is stopped, and shows nothing that is stored; the other is about a database that is new. */
const NOT_RUN = ["payout run", "schema", "start"];

const argvOf = (name: string): string[] => {
  const [, ...given] = must(RUNS[name], "a command that is run");
  return [...name.split(" "), ...given.flatMap((part) => (typeof part === "string" ? [part] : part()))];
};

const leaves = (command: Command, path: readonly string[] = []): string[] =>
  command.commands.length === 0
    ? [path.join(" ")]
    : command.commands.flatMap((each) => leaves(each, [...path, each.name()]));

test("every text in the database is hostile, except our own", () => {
  // Nearly all have checks of their own. Rows of order_cancel are gone once they were read; no command shows webhook_disabling.
  expect(untouched).toEqual([
    ...["access_denial.kind", "account.custodian", "account.house", "client_secret.scheme"],
    ...["configuration_write.kind", "house_kind.account_class", "house_kind.kind", "order_cancel.caller"],
    ...[
      "service_mode.mode",
      "webhook.body",
      "webhook.delivery_order",
      "webhook.disabled_reason",
      "webhook_delivery.status",
    ],
    ...["webhook_disabling.name", "webhook_disabling.reason", "webhook_disabling.url", "webhook_secret.kind"],
  ]);
});

test("every command is run", () => {
  expect(leaves(buildProgram()).sort()).toEqual([...Object.keys(RUNS), ...NOT_RUN].sort());
});

test.for(Object.keys(RUNS))("parbook %s writes nothing that a terminal would obey", async (name) => {
  const [exitCode] = must(RUNS[name], "a command that is run");
  const said = [await run(argvOf(name))];
  if (name !== "export") said.push(await run([...argvOf(name), "--json"]));
  expect(said.map((one) => one.exitCode)).toEqual(said.map(() => exitCode));
  for (const { stdout, stderr } of said) {
    expect(stdout + stderr).not.toMatch(OBEYED);
    // What went wrong is one line, as the line break of what it quotes is escaped; a wrong option has one on help too.
    expect(stderr.split("\n").length).toBeLessThanOrEqual(exitCode === 2 ? 3 : 2);
  }
});

test("a name with a line break is one row of a list, and unchanged in JSON", async () => {
  const { stdout } = await run(argvOf("profile list"));
  const json = await run([...argvOf("profile list"), "--json"]);
  const { items } = JSON.parse(json.stdout) as { items: { nickname: string }[] };
  expect(stdout.trim().split("\n")).toHaveLength(items.length + 1);
  expect(stdout).toContain("name \\u001b[2J\\n\\u202e\\u009b\\u200b\n");
  expect(items.map(({ nickname }) => nickname)).toContain(`${HOSTILE}name ${HOSTILE}`);
});

test("control characters in arguments are escaped too", async () => {
  for (const argv of [[HOSTILE], ["profile", "list", `--${HOSTILE}`], ["hold", "list", "--profile", HOSTILE]]) {
    const { exitCode, stderr } = await run(argv);
    expect([exitCode, stderr]).toEqual([2, expect.not.stringMatching(OBEYED)]);
    // The error, and how to get help.
    expect(stderr.trimEnd().split("\n")).toEqual([expect.stringMatching(/^error: /), "(use --help for usage)"]);
  }
});
