/**
 * A real service with everything logged, used by people who do as they should and by people who put their secrets and
 * tokens in every wrong place; then all that was printed, kept and started is searched for each of them.
 */
import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { KeyEncryption } from "../../src/oauth/keys/key-encryption.ts";
import { Database } from "../../src/postgres/database.ts";
import { reachEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { dataDirectory, parbook, type ServiceProcess, type Settings, startService } from "../cli/parbook.ts";
import { newId } from "../support/movements.ts";

/** Real processes on a machine that may be busy. */
const SLOW = { timeout: 240_000 };

const CHOSEN = `chosen+${randomBytes(12).toString("hex")}%/secret`;
const ENCRYPTION_KEY = randomBytes(32);

let data: Awaited<ReturnType<typeof dataDirectory>>;
let settings: Settings & { readonly PARBOOK_DATA_DIR: string };
let service: ServiceProcess;
/** What must be nowhere, by what it is. */
const secrets = new Map<string, string>();
/** All that the commands have said on standard error. */
let complaints = "";

beforeAll(async () => {
  data = await dataDirectory();
  const bootstrap = join(data.path, "bootstrap.json");
  // As in the demo of a sandbox, whose secrets are printed.
  const customer = (name: string, secret: string, ...nicknames: readonly string[]) => ({
    ...{ name, clients: [{ client_id: name, client_secret: secret, scopes: ["*"] }] },
    profiles: nicknames.map((nickname) => ({ id: newId(), nickname })),
  });
  const customers = [customer("acme", CHOSEN, "treasury", "payouts"), customer("borealis", `${CHOSEN}/2`, "desk")];
  await writeFile(bootstrap, JSON.stringify({ customers }));
  settings = {
    PARBOOK_DATA_DIR: data.path,
    PARBOOK_BOOTSTRAP: bootstrap,
    PARBOOK_LOG_LEVEL: "trace",
    PARBOOK_KEY_ENCRYPTION_KEY: ENCRYPTION_KEY.toString("base64"),
  };
  service = await startService(settings);
}, SLOW.timeout);

afterAll(async () => {
  await service?.end("SIGKILL");
  await data.remove();
});

/** Runs a command of the operator; what it answers is for the operator's eyes. */
async function command(...args: string[]): Promise<Record<string, string>> {
  const { stdout, stderr, exitCode } = await parbook(settings, ...args, "--json");
  complaints += stderr;
  if (exitCode !== 0) throw new Error(`parbook ${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout) as Record<string, string>;
}

type Headers = Readonly<Record<string, string>>;

/** Says anything to either server, whatever becomes of it. */
function say(url: string, method = "GET", headers: Headers = {}, body: string | Buffer = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const listen = (answer: IncomingMessage): void => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      answer.on("end", () => resolve(text));
    };
    request(url, { method, headers }, listen).on("error", reject).end(body);
  });
}

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const JSON_BODY = { "content-type": "application/json" };
const basicOf = (clientId: string, secret: string): string =>
  `Basic ${Buffer.from(`${clientId}:${secret}`).toString("base64")}`;

const formOf = (clientId: string, secret: string, more: Headers = {}): string =>
  `${new URLSearchParams({ grant_type: "client_credentials", client_id: clientId, client_secret: secret, ...more })}`;

async function tokenOf(clientId: string, secret: string): Promise<string> {
  const answer = await say(`${service.ready.auth_url}/oauth2/token`, "POST", FORM, formOf(clientId, secret));
  const { access_token: token } = JSON.parse(answer) as { access_token: string };
  // Its last part is what makes it a token; the first two are no secret without it.
  secrets.set(`the signature of a token of ${clientId}`, token.split(".")[2] ?? token);
  return token;
}

/** Every way of giving a secret away that we could think of, at both servers. */
async function misuse(clientId: string, secret: string): Promise<void> {
  const { base_url: api, auth_url: auth } = service.ready;
  const escaped = encodeURIComponent(secret);
  const headers: Headers[] = [
    { authorization: `Bearer ${secret}` },
    { authorization: secret.replaceAll("\n", "") },
    { authorization: basicOf(clientId, secret) },
    { authorization: basicOf(secret, clientId) },
    { "x-request-id": secret },
    { "x-api-key": secret },
    { cookie: `secret=${secret}` },
    { "user-agent": secret },
    { "x-forwarded-for": secret },
    { "content-type": `application/${escaped}` },
    { accept: secret },
    { origin: secret },
  ];
  for (const url of [api, auth]) {
    for (const path of [`/${escaped}`, `/v2/profiles/${escaped}`, `/%zz${escaped}`, `/oauth2/token/${escaped}`]) {
      await say(`${url}${path}`);
    }
    for (const query of [`client_secret=${escaped}`, `access_token=${escaped}`, `profile_id=${escaped}`]) {
      await say(`${url}/v2/executions?${query}`);
      await say(`${url}/oauth2/token?${query}`, "POST", FORM, formOf(clientId, secret));
    }
    for (const each of headers) {
      await say(`${url}/v2/profiles`, "GET", each);
      await say(`${url}/oauth2/token`, "POST", { ...FORM, ...each }, "grant_type=client_credentials");
    }
    await say(`${url}/${escaped}`, "OPTIONS");
    await nonsense(url, secret);
  }
  const bodies: [Headers, string][] = [
    [FORM, formOf(secret, clientId)],
    [FORM, formOf(clientId, `${secret}x`)],
    [FORM, formOf(clientId, secret, { scope: secret })],
    [FORM, formOf(clientId, secret, { grant_type: secret })],
    [FORM, formOf(clientId, `${secret}\0`)],
    [FORM, `${formOf(clientId, secret)}&client_secret=${escaped}`],
    [FORM, `${formOf(clientId, secret)}&${escaped}=1`],
    [FORM, formOf(clientId, secret.repeat(10))],
    [FORM, formOf(clientId, secret).repeat(200)],
    [JSON_BODY, JSON.stringify({ client_secret: secret })],
    [{ "content-type": "multipart/form-data; boundary=b" }, `--b\r\nContent-Disposition: form-data; name="${secret}`],
  ];
  for (const [type, body] of bodies) await say(`${auth}/oauth2/token`, "POST", type, body);
}

/** The same with a good token in hand, for what is read only when somebody may come in. */
async function misuseInside(token: string, secret: string): Promise<void> {
  const { base_url: api } = service.ready;
  const inside = { authorization: `Bearer ${token}` };
  const escaped = encodeURIComponent(secret);
  await say(`${api}/v2/profiles`, "GET", inside);
  await say(`${api}/v2/profiles/${escaped}`, "GET", inside);
  await say(`${api}/v2/executions?page_cursor=${escaped}&limit=${escaped}`, "GET", inside);
  await say(`${api}/v2/transfer/platform`, "POST", { ...inside, ...JSON_BODY }, `{"amount":"${secret}"`);
  for (const body of [
    { [secret]: secret },
    { from_profile_id: secret, amount: secret, asset: secret, ref_id: secret },
  ]) {
    await say(`${api}/v2/transfer/platform`, "POST", { ...inside, ...JSON_BODY }, JSON.stringify(body));
    await say(`${api}/v2/profiles/default/orders`, "POST", { ...inside, ...JSON_BODY }, JSON.stringify(body));
  }
}

/** Bytes that are not HTTP. */
function nonsense(url: string, secret: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end(`${secret}\r\n\r\n`));
    socket.resume().on("close", resolve).on("error", reject);
  });
}

test("no secret, token or key is printed, kept or shown to other processes", SLOW, async () => {
  const chosen = await tokenOf("acme", CHOSEN);
  const [first, second] = await newClient("reports");
  const generated = await tokenOf("reports", second);
  for (const [clientId, secret, what] of [
    ["acme", CHOSEN, "the chosen secret"],
    ["reports", first, "the first generated secret"],
    ["reports", second, "the second generated secret"],
  ] as const) {
    secrets.set(what, secret);
    secrets.set(`${what} as it is in HTTP Basic`, basicOf(clientId, secret).slice("Basic ".length));
    await misuse(clientId, secret);
  }
  for (const token of [chosen, generated]) {
    await misuse("acme", token);
    for (const wrong of [token, CHOSEN, second]) await misuseInside(token, wrong);
  }
  await addKeys(chosen);

  const printed = service.output();
  const places = new Map([["the arguments of processes", await commandLines()]]);
  expect([...places.values()][0]).toContain("postgres");
  const ended = await service.end("SIGTERM");
  places.set("what the service printed", `${ended.stdout}${ended.stderr}`);
  places.set("what commands said on standard error", complaints);
  for (const [path, text] of await filesBelow(join(data.path, "postgres"))) places.set(path, text);

  // The service did tell of all this: it would be no wonder if nothing were in an empty log.
  expect(printed.match(/"token request rejected"/g)?.length).toBeGreaterThan(100);
  expect(printed.match(/"token issued"/g)?.length).toBeGreaterThan(1);
  expect(places.size).toBeGreaterThan(100);
  expect(leaks(places)).toEqual([]);
});

/** A client of Acme's with its first secret, and the one that followed. Keys change meanwhile. */
async function newClient(clientId: string): Promise<[string, string]> {
  const { items } = (await command("customer", "list")) as unknown as { items: { id: string }[] };
  const customer = items[0]?.id ?? "";
  const made = await command("client", "create", "--customer", customer, "--scopes", "*", "--client-id", clientId);
  const rotated = await command("client", "rotate", clientId, "--overlap", "1h");
  await command("key", "rotate");
  return [made.client_secret ?? "", rotated.client_secret ?? ""];
}

/** Private halves, from the database itself, where they are encrypted, and what encrypts them. */
async function addKeys(token: string): Promise<void> {
  secrets.set("the encryption key", ENCRYPTION_KEY.toString("base64"));
  const reached = await reachEmbedded(data.path);
  if (reached === undefined) throw new Error("the database does not run");
  const connection = reached.connection("parbook", "postgres");
  const database = new Database({ connection, maxConnections: 1, onIdleError: () => undefined });
  const rows = await database.rows<{ kid: string; key: never }>("select kid, private_jwk as key from signing_key");
  await database.close();
  reached.close();
  for (const { kid, key } of rows) {
    const { d } = (await new KeyEncryption([new Uint8Array(ENCRYPTION_KEY)]).decrypt(kid, key)) ?? {};
    secrets.set(`the private key ${kid}`, d ?? "");
  }
  expect(rows.map(({ kid }) => kid)).toContain(decodeProtectedHeader(token).kid);
}

/** Of every process that we may look at. Elsewhere than on Linux there is no such place to look. */
async function commandLines(): Promise<string> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^[0-9]+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return pids.length === 0 ? "postgres" : lines.join("\n").replaceAll("\0", " ");
}

/** The database's files, its log and its write-ahead log among them, byte for byte. */
async function filesBelow(directory: string): Promise<[string, string][]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(paths.map(async (path): Promise<[string, string]> => [path, await readFile(path, "latin1")]));
}

function leaks(places: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const [what, secret] of secrets) {
    expect(secret.length, what).toBeGreaterThan(20);
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])) {
      for (const [where, text] of places) if (text.includes(form)) found.push(`${what} is in ${where}`);
    }
  }
  return found;
}
