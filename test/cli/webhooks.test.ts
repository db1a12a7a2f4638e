/** `parbook webhook`: every option and answer of the operator's commands, beside a service that delivers. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { lockWebhooksOf } from "../../src/customers/webhooks/store.ts";
import { expectBooksBalance } from "../support/books.ts";
import { untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { startTestService, type TestCustomer, type TestService, urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";
import { run } from "./in-process.ts";

let service: TestService;
let acme: TestCustomer;
let folder: string;
let receiver: Server;
let url: string;
/** The status that the receiver answers with. */
let answer: number;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parbook-webhooks-"));
  receiver = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(answer).end());
  });
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  service = await startTestService();
  acme = await service.customer("Acme");
  vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(service.db));
  vi.stubEnv("PARBOOK_DATA_DIR", folder);
  vi.stubEnv("PARBOOK_LOG_LEVEL", "fatal");
});
beforeEach(() => {
  answer = 204;
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await expectBooksBalance(service.db.owner);
  await service.close();
  receiver.close();
  await rm(folder, { recursive: true });
});

const webhook = (command: string, ...options: string[]): string[] => [
  ...["webhook", command, ...options, "--customer", acme.id],
];

async function json<Of = Hook>(...argv: string[]): Promise<Of> {
  const { exitCode, stdout, stderr } = await run([...argv, "--json"]);
  expect([exitCode, stderr], argv.join(" ")).toEqual([0, ""]);
  return JSON.parse(stdout);
}

/** Its lines on standard output. */
async function said(...argv: string[]): Promise<string[]> {
  const { exitCode, stdout, stderr } = await run(argv);
  expect([exitCode, stderr], argv.join(" ")).toEqual([0, ""]);
  return stdout.trimEnd().split("\n");
}

async function rejected(...argv: string[]): Promise<[exitCode: number, why: string]> {
  const { exitCode, stdout, stderr } = await run(argv);
  expect(stdout).toBe("");
  return [exitCode, stderr.split("\n")[0] ?? ""];
}

interface Hook {
  readonly id: string;
  readonly status: string;
  readonly public_keys: readonly string[];
  readonly backlog?: { readonly events: number; readonly since?: string; readonly next_attempt_at?: string };
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/);
const KEY = expect.stringMatching(/^whpk_/);

/** A file for --receiver-access. */
async function access(text: string): Promise<string> {
  const path = join(folder, "access.json");
  await writeFile(path, text);
  return path;
}

const API_KEY = JSON.stringify({ type: "API_KEY", header: "X-Api-Key", secret: "the secret" });

test("a webhook has what it was given, and what is not given later stays", async () => {
  const given = [
    "--types",
    "transfer.*, profile.created",
    "--body",
    "full",
    "--order",
    "strict",
    "--per-second",
    "100",
  ];
  const secret = ["--receiver-access", await access(API_KEY)];
  const made = await json(...webhook("create", "--name", "books", "--url", url, ...given, ...secret));
  const { id } = made;
  const settings = {
    ...{ id: ID, name: "books", url, types: ["transfer.*", "profile.created"], body: "FULL", delivery_order: "STRICT" },
    ...{ deliveries_per_second: 100, receiver_access: { type: "API_KEY", header: "X-Api-Key" }, status: "ACTIVE" },
    ...{ public_keys: [KEY], created_at: TIME, updated_at: TIME, customer_id: acme.id },
  };
  expect(made).toEqual({ ...settings, signing_secret: expect.stringMatching(/^whsec_/) });
  expect(await json(...webhook("update", id, "--name", "ledger"))).toEqual({ ...settings, name: "ledger" });
  const changed = { ...settings, name: "ledger", body: "THIN", delivery_order: "ANY", types: ["order.filled"] };
  const changes = ["--body", "thin", "--order", "any", "--types", "order.filled"];
  expect(await json(...webhook("update", id, ...changes))).toEqual(changed);
  const oauth = { type: "OAUTH", token_url: `${url}token`, client_id: "acme", scope: "events" };
  const other = ["--receiver-access", await access(JSON.stringify({ ...oauth, secret: "another" }))];
  expect(await json(...webhook("update", id, ...other))).toEqual({ ...changed, receiver_access: oauth });
  expect(await json(...webhook("update", id, "--per-second", "7", "--order", "per_object"))).toEqual({
    ...changed,
    ...{ receiver_access: oauth, deliveries_per_second: 7, delivery_order: "PER_OBJECT" },
  });
  const { receiver_access: _, ...open } = { ...changed, deliveries_per_second: 7, delivery_order: "PER_OBJECT" };
  expect(await json(...webhook("update", id, "--receiver-access", await access("{}")))).toEqual(open);
  // Whose former secret does not go to another place.
  expect(await said(...webhook("update", id, "--url", `${url}new`))).toEqual([
    `webhook        ${id}`,
    "name           ledger",
    `url            ${url}new`,
    "types          order.filled",
    "body, order    THIN, PER_OBJECT, 7 a second",
    "access         none",
    "status         ACTIVE",
    `public key     ${made.public_keys[0]}`,
  ]);
  expect(await json(...webhook("show", id))).toEqual({
    ...open,
    url: `${url}new`,
    backlog: { events: 0 },
  });
  expect(await rejected(...webhook("create", "--name", "ledger", "--url", url, "--types", "*"))).toEqual([
    1,
    `the customer's webhook ${id} has this name`,
  ]);
  expect(await said(...webhook("delete", id))).toEqual(["webhook ledger is deleted"]);
  expect(await rejected(...webhook("show", id))).toEqual([1, `webhook not found: ${id}`]);
  expect(await rejected(...webhook("update", id, "--name", "x"))).toEqual([1, `webhook not found: ${id}`]);
});

test("what an operator does not give stays as its customer has just set it", async () => {
  const { id } = await json(...webhook("create", "--name", "moved", "--url", `${url}former`, "--types", "*"));
  let updated: Promise<Hook> | undefined;
  await service.db.owner.transaction(async (customers) => {
    await lockWebhooksOf(customers, acme.id);
    await customers.rows("update webhook set url = $2, types = '{order.filled}', version = version + 1 where id = $1", [
      id,
      `${url}new`,
    ]);
    updated = json(...webhook("update", id, "--per-second", "7"));
    await untilBlocked(service.db);
  });
  expect(await updated).toMatchObject({ deliveries_per_second: 7, url: `${url}new`, types: ["order.filled"] });
  await said(...webhook("delete", id));
});

test("how a receiver lets a webhook in is told without its secret, and only an empty object removes it", async () => {
  const create = webhook("create", "--name", "kept", "--url", url, "--types", "*");
  const made = await json(...create, "--receiver-access", await access(API_KEY));
  const told = async (): Promise<string[]> =>
    (await said(...webhook("show", made.id))).filter((line) => line.startsWith("access"));
  for (const text of ["null", "[]", "0", '""', "false", "[7]"]) {
    const [exitCode, why] = await rejected(...webhook("update", made.id, "--receiver-access", await access(text)));
    expect([text, exitCode, why]).toEqual([text, 2, expect.stringMatching(/^--receiver-access has a JSON object/)]);
    expect(await told()).toEqual(["access         API_KEY in X-Api-Key"]);
  }
  const oauth = { type: "OAUTH", token_url: `${url}token`, client_id: "acme", secret: "another" };
  await said(...webhook("update", made.id, "--receiver-access", await access(JSON.stringify(oauth))));
  expect(await told()).toEqual([`access         OAUTH as acme at ${url}token`]);
  await said(...webhook("update", made.id, "--receiver-access", await access("{}")));
  expect(await told()).toEqual(["access         none"]);
  await said(...webhook("delete", made.id));
});

test.each([
  [[7], "has a JSON object with a type, API_KEY or OAUTH, and texts of header, token_url, client_id, scope, secret"],
  [{ type: "API_KEY", header: 7 }, "has a JSON object with a type, API_KEY or OAUTH, and texts of header, token"],
  [{ type: "BASIC", secret: "hidden" }, "has a JSON object with a type, API_KEY or OAUTH, and texts of header, token"],
  [{ type: "API_KEY", password: "hidden" }, "has a JSON object with a type, API_KEY or OAUTH, and texts of header"],
  ['{ "secret": "hidden', "is not a JSON file"],
])("%j is no access of a receiver, and is not shown", async (content, why) => {
  const path = await access(typeof content === "string" ? content : JSON.stringify(content));
  const create = ["--name", "hidden", "--url", url, "--types", "*", "--receiver-access", path];
  const { exitCode, stdout, stderr } = await run(webhook("create", ...create));
  expect([exitCode, stdout, stderr]).toEqual([2, "", expect.stringMatching(`^--receiver-access ${why}`)]);
  expect(stderr).not.toContain("hidden");
});

test("what no webhook can have is wrong usage, or is rejected in words", async () => {
  const create = (...more: string[]) => webhook("create", "--name", "x", "--url", url, "--types", "*", ...more);
  for (const rate of ["ten", "1000", "-1"])
    expect(await rejected(...create(`--per-second=${rate}`))).toEqual([
      2,
      `error: option '--per-second <number>' argument '${rate}' is invalid. Must be a whole number from 1 to 100.`,
    ]);
  for (const rate of ["0", "101"]) expect((await rejected(...create("--per-second", rate)))[0]).toBe(1);
  expect(await rejected(...webhook("rotate-secret", acme.id, "--overlap", "8d"))).toEqual([
    2,
    "error: option '--overlap <time>' argument '8d' is invalid. Must be at most 7d.",
  ]);
  const one = "give one of --from-number, --from-time and --only-undelivered";
  expect(await rejected(...webhook("replay", acme.id))).toEqual([2, one]);
  expect(await rejected(...webhook("replay", acme.id, "--from-number", "1", "--only-undelivered"))).toEqual([2, one]);
  expect(await rejected(...webhook("enable", acme.id, "--from", "then"))).toEqual([
    2,
    expect.stringContaining("Allowed choices are where-it-stood, now."),
  ]);
});

test("a new secret is shown once, and the former ones sign for as long as was said", async () => {
  const created = await said(...webhook("create", "--name", "signed", "--url", url, "--types", "*"));
  expect(created.slice(-3)).toEqual([
    expect.stringMatching(/^public key {5}whpk_/),
    expect.stringMatching(/^signing secret whsec_/),
    "Save the secret now: it cannot be shown again.",
  ]);
  const id = created[0]?.split(/ +/)[1] ?? "";
  const hoursLeft = async (): Promise<number[]> => {
    const rows = await service.db.owner.rows<{ hours: number }>(
      `select extract(epoch from expires_at - clock_timestamp())::float8 / 3600 as hours
         from webhook_secret where webhook_id = $1 and kind = 'v1' order by created_at`,
      [id],
    );
    return rows.map(({ hours }) => Math.round(hours));
  };
  const rotated = await json<Hook & { signing_secret: string }>(...webhook("rotate-secret", id));
  expect(rotated).toMatchObject({ public_keys: [KEY, KEY], signing_secret: expect.stringMatching(/^whsec_/) });
  expect((await hoursLeft())[0]).toBe(24);
  const lasting = await json(...webhook("rotate-secret", id, "--overlap", "7d"));
  expect(lasting.public_keys[1]).toBe(rotated.public_keys[0]);
  expect((await hoursLeft()).at(-2)).toBe(168);
  const now = `parbook webhook rotate-secret ${id} --customer ${acme.id} --overlap 0`;
  expect((await said(...webhook("rotate-secret", id))).at(-1)).toMatch(
    new RegExp(`^The former secrets sign too until 20[^ ]+Z\\. To end them, and this one, at once: ${now}$`),
  );
  expect(await json(...webhook("rotate-secret", id, "--overlap", "0"))).toMatchObject({ public_keys: [KEY] });
  expect((await said(...webhook("rotate-secret", id, "--overlap", "0"))).at(-1)).toBe(
    "The former secrets sign no more.",
  );
  await json(...webhook("delete", id));
});

test("what waits, what was posted and what was given up is shown, and is delivered again", async () => {
  acme = await service.customer("Acme");
  for (let profiles = 0; profiles < 2; profiles += 1) await service.profile(acme);
  const { id } = await json(...webhook("create", "--name", "posted", "--url", url, "--types", "profile.*"));
  const shown = () => json(...webhook("show", id));

  const tested = await json<object>(...webhook("test", id));
  expect(tested).toEqual({
    id: ID,
    message_id: expect.any(String),
    events: 1,
    at: TIME,
    millis: expect.any(Number),
    status: 204,
  });
  expect(await said(...webhook("test", id))).toEqual([expect.stringMatching(/^accepted with 204 in \d+ ms$/)]);

  answer = 500;
  expect(await run(webhook("test", id))).toEqual({
    exitCode: 1,
    stdout: expect.stringMatching(/^failed in \d+ ms: answered 500\n$/),
    stderr: "",
  });
  await service.profile(acme);
  await until("the event was tried", async () => (await shown()).backlog?.next_attempt_at !== undefined);
  expect((await shown()).backlog).toEqual({ events: 1, since: TIME, next_attempt_at: TIME });
  // It is tried again after some seconds: then both differ until they are asked for once more.
  await until("words and JSON say the same of what waits", async () => {
    const { since, next_attempt_at: next } = (await shown()).backlog ?? {};
    const words = `waiting        1 events, the first since ${since}; tried again at ${next}`;
    return (await said(...webhook("show", id))).at(-1) === words;
  });
  // Of the customer's events, those before are the default profile's and the first two.
  const attempts = (await said(...webhook("attempts", id))).map((line) =>
    line
      .replace(/^\S+Z /, "")
      .replace(/ [0-9a-f-]{36} /, " ID ")
      .replace(/ \d+ ms/, " N ms"),
  );
  // However often it was tried.
  const [tried, ...tests] = [...new Set(attempts.slice(1))];
  expect([attempts[0], tried, tests]).toEqual([
    expect.stringMatching(/^at +event \(events\) +webhook-id +outcome$/),
    expect.stringMatching(/^ 4 \(1\) +ID +failed in N ms: answered 500$/),
    [
      expect.stringMatching(/^ test +\S+ +failed in N ms: answered 500$/),
      expect.stringMatching(/^ test +\S+ +accepted with 204 in N ms$/),
    ],
  ]);
  const posted = await json<{ items: object[]; more: boolean }>(...webhook("attempts", id));
  expect([posted.more, posted.items[0], posted.items.at(-1)]).toEqual([
    false,
    {
      ...{ id: ID, message_id: ID, number: 4, events: 1, at: TIME, millis: expect.any(Number) },
      ...{ status: 500, error: "answered 500" },
    },
    tested,
  ]);

  expect(await said(...webhook("disable", id))).toContain("status         DISABLED (OPERATOR)");
  const [head, ...rows] = await said(...webhook("list"));
  expect([head?.split(/ +/), rows.map((row) => row.split(/ {2,}/))]).toEqual([
    ["id", "status", "name", "url", "types", "waiting"],
    [[id, "DISABLED OPERATOR", "posted", url, "profile.*", "1"]],
  ]);
  expect(await json(...webhook("enable", id, "--from", "where-it-stood"))).toMatchObject({ status: "ACTIVE" });
  expect((await shown()).backlog).toMatchObject({ events: 1 });
  await json(...webhook("disable", id));
  await json(...webhook("enable", id, "--from", "now"));
  expect((await shown()).backlog).toEqual({ events: 0 });

  answer = 204;
  const replay = (...options: string[]) => webhook("replay", id, ...options);
  expect(await json(...replay("--only-undelivered"))).toEqual({ events: 1 });
  expect(await said(...replay("--only-undelivered"))).toEqual([
    expect.stringMatching(/^[01] events will be delivered again$/),
  ]);
  expect(await json(...replay("--from-number", "3"))).toEqual({ from_number: 3 });
  expect(await said(...replay("--from-number", "2"))).toEqual(["events from number 2 on will be delivered again"]);
  interface Event {
    readonly at: string;
    readonly customer_id: string;
  }
  const { items } = await json<{ items: readonly Event[] }>("events");
  const times = items.filter((event) => event.customer_id === acme.id).map(({ at }) => at);
  const since = times[2] ?? "";
  // A webhook that has not read so far is not told to go on behind what it lacks.
  await until("it has all again", async () => (await shown()).backlog?.events === 0);
  expect(await json(...replay("--from-time", since))).toEqual({ from_number: times.indexOf(since) + 1 });
  expect((await rejected(...replay("--from-number", "100000000000000")))[0]).toBe(1);
});

test("events are rebuilt, as many as there were", async () => {
  await service.stop();
  const [counted] = await service.db.owner.rows<{ cuts: number; events: number }>(
    "select count(*)::integer as cuts, sum(events)::integer as events from event_cut",
  );
  expect(counted?.cuts).not.toBe(counted?.events);
  await service.db.owner.rows("update event_cut set events = events + 1 where cut = 2");
  expect(await rejected("events", "rebuild")).toEqual([
    1,
    "event_cut 2 did not make what the chain says: run parbook verify",
  ]);
  await service.db.owner.rows("update event_cut set events = events - 1 where cut = 2");
  expect(await json("events", "rebuild")).toEqual({ ...counted, first_listed_cut: 1 });
  expect(await said("events", "rebuild")).toEqual([`Made ${counted?.events} events of ${counted?.cuts} cuts again.`]);
});

test("secrets of webhooks are encrypted anew with another key, or it is said that they cannot be read", async () => {
  const key = (byte: number): string => Buffer.alloc(32, byte).toString("base64");
  await json(...webhook("create", "--name", "secret", "--url", url, "--types", "*"));
  const { owner } = service.db;
  const [row] = await owner.rows<{ secrets: number }>("select count(*)::integer as secrets from webhook_secret");
  const { secrets = 0 } = row ?? {};
  vi.stubEnv("PARBOOK_KEY_ENCRYPTION_KEY", key(1));
  const rotated = await json<{ kid: string }>("key", "rotate");
  expect(rotated).toEqual({ kid: expect.any(String), webhook_secrets: { encrypted: secrets, unreadable: 0 } });
  expect((await said("key", "list")).find((line) => line.startsWith(rotated.kid))).toMatch(/ current +\S+Z +yes$/);
  vi.stubEnv("PARBOOK_KEY_ENCRYPTION_KEY", `${key(2)},${key(1)}`);
  expect(await said("key", "rotate")).toEqual([
    expect.stringMatching(/^key \S+ starts signing in ten seconds$/),
    `${secrets} secrets of webhooks are encrypted anew`,
  ]);
  await owner.rows("delete from signing_key");
  vi.stubEnv("PARBOOK_KEY_ENCRYPTION_KEY", key(3));
  const { exitCode, stdout } = await run(["key", "rotate"]);
  expect([exitCode, stdout.split("\n").slice(1)]).toEqual([
    1,
    [`${secrets} secrets of webhooks are encrypted, and no key of PARBOOK_KEY_ENCRYPTION_KEY decrypts them`, ""],
  ]);
});
