/**
 * A day in the life of a service: started from nothing, shown around, operated, killed, started again, stopped. The tests
 * follow one another on one data directory, because that is what they are about; and a start takes its time.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Database } from "../../src/postgres/database.ts";
import { reachEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { until } from "../support/until.ts";
import { answerOf, dataDirectory, parbook, readReady, type ServiceProcess, startService } from "./parbook.ts";

let data: Awaited<ReturnType<typeof dataDirectory>>;
let settings: { readonly PARBOOK_DATA_DIR: string };
let service: ServiceProcess;

beforeAll(async () => {
  data = await dataDirectory();
  settings = { PARBOOK_DATA_DIR: data.path };
  service = await startService(settings);
});

afterAll(async () => {
  await service.end("SIGKILL");
  await data.remove();
});

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

test("the start prints a tour that fits a screen and whose lines work in sh and bash", async () => {
  const tour = tourOf(service.output());
  expect(tour.all.length).toBeLessThanOrEqual(40);
  expect(tour.all.filter((line) => line.length > 120)).toEqual([]);
  for (const shell of ["sh", "bash"]) {
    const { stdout, stderr } = await promisify(execFile)(shell, ["-c", tour.lines.join("\n")]);
    expect(stderr).toBe("");
    const answers = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers).toMatchObject([
      { activity_id: expect.stringMatching(UUID) },
      { type: "PLATFORM_TRANSFER_DEBIT", amount: "25.5", status: "COMPLETED" },
      { source_asset: "USD", target_asset: "PYUSD", amount: "100", status: "CREATED" },
      { status: "SETTLED" },
      { side: "SELL", market: "BTCEUR", base_amount: "0.001" },
      { side: "BUY", market: "BTCEUR", status: "FILLED", quote_amount: "80" },
      { items: [{ side: "BUY", market: "BTCEUR", price: "80000" }] },
      { side: "BUY", status: "FILLED" },
    ]);
    expect(answers[3].id).toBe(answers[2].id);
    expect(answers[6].items[0].order_id).toBe(answers[5].id);
    expect(answers[7].id).toBe(answers[5].id);
  }
});

test("the demo runs the tour, repeatedly", async () => {
  const first = await parbook(settings, "demo");
  expect(first).toMatchObject({ exitCode: 0, stderr: "" });
  expect(first.stdout).toMatch(/\nEvery response was as expected\.\n$/);
  expect(first.stdout).not.toContain("client_secret");
  expect(await answerOf(settings, "demo")).toMatchObject({ passed: true, steps: { length: 10 } });
});

test("the demo reports unexpected responses", async () => {
  expect(await answerOf(settings, "market", "halt", "BTCEUR")).toEqual({ market: "BTCEUR", status: "HALTED" });
  const { exitCode, stdout } = await parbook(settings, "demo");
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/WRONG: the status is 403, not 200\nThe last response was not as expected\.\n$/);
  expect(await answerOf(settings, "market", "resume", "BTCEUR")).toEqual({ market: "BTCEUR", status: "OPEN" });
});

test("the operator's commands work while the service runs", async () => {
  const customer = (await answerOf(settings, "customer", "create", "--name", "Test & Sons")) as Record<string, string>;
  const { id = "", default_profile_id: profile = "" } = customer;
  expect(customer).toEqual({
    id: expect.stringMatching(UUID),
    name: "Test & Sons",
    created_at: expect.any(String),
    default_profile_id: expect.stringMatching(UUID),
  });
  const list = ["profile", "list", "--customer", id];
  const [all, behind, behindNone] = await Promise.all([
    answerOf(settings, ...list),
    answerOf(settings, ...list, "--after", profile),
    parbook(settings, ...list, "--after", id),
  ]);
  expect(all).toMatchObject({ items: [{ id: profile, customer_id: id, type: "DEFAULT" }], more: false });
  expect(behind).toEqual({ items: [], more: false });
  expect(behindNone).toEqual({ exitCode: 1, stdout: "", stderr: `profile not found: ${id}\n` });
  const client = ["client", "create", "--customer", id, "--client-id", "reports", "--scopes", "transfer:read_transfer"];
  const made = (await answerOf(settings, ...client)) as { client_secret: string };
  expect(made).toEqual({
    client_id: "reports",
    client_secret: expect.stringMatching(/^[\w-]{43}$/),
    customer_id: id,
    scopes: ["transfer:read_transfer"],
  });
  const wire = ["--profile", profile, "--asset", "USD", "--ref-id", "wire-1", "--memo", "invoice 17"];
  expect(await answerOf(settings, "deposit", ...wire, "--amount", "100.50")).toMatchObject({
    customer_id: id,
    profile_id: profile,
    amount: "100.5",
    direction: "CREDIT",
    type: "WIRE_DEPOSIT",
    status: "COMPLETED",
    ref_id: "wire-1",
    memo: "invoice 17",
  });
  const [again, tooMuch] = await Promise.all([
    parbook(settings, "deposit", ...wire, "--amount", "100.50"),
    parbook(settings, "withdraw", "--profile", profile, "--asset", "USD", "--amount", "100.51"),
  ]);
  expect(again).toMatchObject({ exitCode: 1, stdout: "" });
  expect(again.stderr).toMatch(/^ref_id "wire-1" was already used for this: transfer [0-9a-f-]{36}\n$/);
  expect(tooMuch).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `profile ${profile} has 100.5 USD available, but 100.51 is needed\n`,
  });
  // The client was made by another process: the service that runs knows it all the same.
  const token = await tokenOf("reports", made.client_secret);
  const listed = await fetch(`${service.ready.base_url}/v2/transfer/transfers`, { headers: bearer(token) });
  expect(await listed.json()).toMatchObject({ items: [{ ref_id: "wire-1" }] });
});

test("keys are rotated and revoked while the service runs, which follows within seconds", async () => {
  const token = await tokenOf("reports", await newSecret("reports"));
  const accepted = async (): Promise<boolean> => {
    const answer = await fetch(`${service.ready.base_url}/v2/transfer/transfers`, { headers: bearer(token) });
    await answer.arrayBuffer();
    return answer.status === 200;
  };
  const kids = async (): Promise<string[]> => {
    const answer = await fetch(`${service.ready.auth_url}/.well-known/jwks.json`);
    return ((await answer.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
  };
  const [first = ""] = await kids();
  const { kid } = (await answerOf(settings, "key", "rotate")) as { kid: string };
  await until("the new key is published", async () => (await kids()).join() === [first, kid].join());
  expect(await accepted()).toBe(true);
  expect(await answerOf(settings, "key", "list")).toEqual({
    items: [
      {
        kid: first,
        state: "retired",
        created_at: expect.any(String),
        retired_at: expect.any(String),
        encrypted: false,
      },
      { kid, state: "current", created_at: expect.any(String), encrypted: false },
    ],
  });
  expect(await answerOf(settings, "key", "revoke", "--kid", first)).toEqual({ kid: first, revoked: true });
  await until("the revoked key's token is rejected", async () => !(await accepted()));
  expect(await parbook(settings, "key", "revoke", "--kid", first)).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `key not found: ${first}\n`,
  });
});

test("a client is restricted to networks while the service runs, and unrestricted again", async () => {
  const secret = await newSecret("reports");
  const restricted = await answerOf(
    settings,
    "client",
    "restrict",
    "reports",
    "--from",
    "::ffff:192.0.2.0/120, 2001:db8::/32",
  );
  expect(restricted).toEqual({ client_id: "reports", networks: ["192.0.2.0/24", "2001:db8::/32"] });
  expect(await tokenOf("reports", secret)).toBeUndefined();
  expect(await parbook(settings, "client", "restrict", "reports")).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: "give --from or --from-anywhere\n",
  });
  const slip = await parbook(settings, "client", "restrict", "reports", "--from", "192.0.2.1/24");
  expect(slip).toMatchObject({ exitCode: 2, stdout: "" });
  expect(slip.stderr).toContain('"192.0.2.1/24" is not an IP address or a CIDR network');
  expect(await answerOf(settings, "client", "restrict", "reports", "--from-anywhere")).toEqual({
    client_id: "reports",
  });
  expect(await tokenOf("reports", secret)).toEqual(expect.any(String));
});

async function newSecret(clientId: string): Promise<string> {
  const rotated = await answerOf(settings, "client", "rotate", clientId, "--overlap", "0");
  return (rotated as { client_secret: string }).client_secret;
}

test("verify names the broken records", async () => {
  expect(await answerOf(settings, "verify")).toMatchObject({ sound: true, had_checkpoint: false });
  const ended = await tampering(async (owner) => {
    await owner.rows("update account set pending = 1 where house is null and asset = 'BTC'");
    const verified = await parbook(settings, "verify");
    await owner.rows("update account set pending = 0 where house is null and asset = 'BTC'");
    return verified;
  });
  expect(ended.exitCode).toBe(1);
  expect(ended.stdout).toMatch(/\naccounts: account \S+ .*\n/);
  expect(ended.stdout).toMatch(/\nThe ledger is not sound\.\n$/);
});

test("a second service on the same data directory is rejected, and the first one continues", async () => {
  const { ready } = service;
  expect(
    await parbook({ ...settings, PARBOOK_PORT: "0", PARBOOK_AUTH_PORT: "0", PARBOOK_LOG_LEVEL: "error" }, "start"),
  ).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `another service (process ${ready.pid}) is running on the data directory ${data.path}: stop it, or set PARBOOK_DATA_DIR to another one\n`,
  });
  expect(await readReady(data.path)).toEqual(ready);
  expect((await fetch(`${ready.base_url}/readyz`)).status).toBe(200);
});

test("killed under load and restarted, it has every acknowledged write exactly once", async () => {
  const mover = await transferMover();
  const before = await mover.balance();
  const sent: Promise<void>[] = [];
  const answered = new Set<string>();
  let next = 0;
  const sendOne = async (): Promise<void> => {
    const refId = `kill-${next++}`;
    if ((await mover.move(refId).catch(() => undefined)) === 200) answered.add(refId);
    else return;
    await sendOne();
  };
  for (let i = 0; i < 8; i += 1) sent.push(sendOne());
  await until("some transfers were answered", () => answered.size >= 100);
  await service.end("SIGKILL");
  await Promise.all(sent);

  service = await startService(settings);
  // The market maker has its orders of before, and no second ones beside them.
  expect(await tampering((owner) => owner.rows(OPEN_BOOKS))).toEqual(
    ["BTCUSD", "ETHEUR", "ETHUSD", "LTCUSD", "USDPUSD"].map((market) => ({ market, bids: 5, asks: 5 })),
  );
  process.stdout.write(`The start after a kill took ${Math.round(service.startMs)} ms.\n`);
  const again = await transferMover();
  for (let i = 0; i < next; i += 1) {
    const status = await again.move(`kill-${i}`);
    if (answered.has(`kill-${i}`)) expect(status).toBe(409);
    else expect([200, 409]).toContain(status);
  }
  // Each is one cent, and now every one of them has happened once.
  expect(Math.round((await again.balance()) * 100) - Math.round(before * 100)).toBe(next);
  expect(await answerOf(settings, "demo")).toMatchObject({ passed: true });
});

test("it stops in order on a signal; verify then starts the database itself", async () => {
  const { exitCode, stderr } = await service.end("SIGTERM");
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(await readReady(data.path)).toBe(undefined);
  expect(await answerOf(settings, "verify")).toMatchObject({ sound: true });
  const demo = await parbook(settings, "demo");
  expect(demo).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `no service is running on the data directory ${data.path}: start one first\n`,
  });
});

const OPEN_BOOKS = `
  select market, count(*) filter (where side = 'BUY')::int as bids, count(*) filter (where side = 'SELL')::int as asks
    from orders where closed_at is null group by market order by market`;

/** What was printed after the log of the start, and of that the lines to be pasted. */
function tourOf(output: string): { all: string[]; lines: string[] } {
  const printed = output.slice(output.indexOf("\nbase_url")).split("\n");
  const all = printed.filter((line) => !line.startsWith("{"));
  return { all, lines: all.slice(all.findIndex((line) => line.startsWith("API="))) };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function tokenOf(clientId: string, secret: string): Promise<string> {
  const form = new FormData();
  for (const [name, value] of Object.entries({
    grant_type: "client_credentials",
    client_id: clientId,
    client_secret: secret,
  })) {
    form.append(name, value);
  }
  const answer = await fetch(`${service.ready.auth_url}/oauth2/token`, { method: "POST", body: form });
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** Moves cents between the profiles of the demo. */
async function transferMover(): Promise<{ move: (refId: string) => Promise<number>; balance: () => Promise<number> }> {
  const { base_url: baseUrl } = service.ready;
  const [, clientId = "", secret = ""] = /client +(\S+), secret (\S+)/.exec(service.output()) ?? [];
  const [, from, to] = /treasury (\S+), payouts (\S+)/.exec(service.output()) ?? [];
  const headers = bearer(await tokenOf(clientId, secret));
  return {
    move: async (refId) => {
      const body = { from_profile_id: from, to_profile_id: to, asset: "USD", amount: "0.01", ref_id: refId };
      const answer = await fetch(`${baseUrl}/v2/transfer/platform`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      await answer.arrayBuffer();
      return answer.status;
    },
    balance: async () => {
      const answer = await fetch(`${baseUrl}/v2/profiles/${to}/balances/USD`, { headers });
      return Number(((await answer.json()) as { available: string }).available);
    },
  };
}

/** With the rights of the database's owner. */
async function tampering<Value>(work: (owner: Database) => Promise<Value>): Promise<Value> {
  const reached = await reachEmbedded(data.path);
  if (reached === undefined) throw new Error("the database does not run");
  const connection = reached.connection("parbook", "postgres");
  const owner = new Database({ connection, maxConnections: 1, onIdleError: () => undefined });
  try {
    return await work(owner);
  } finally {
    await owner.close();
    reached.close();
  }
}
