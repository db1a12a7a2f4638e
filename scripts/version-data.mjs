/**
 * `node scripts/version-data.mjs <checkout> <directory>`: records the data of a version, for test/upgrade. Starts the service
 * of that checkout with its embedded database, performs every operation over HTTP, and writes
 *
 *     answers.json    every record as that version returned it, by request path
 *     data.sql        the rows of its database, in insertion order
 *
 * The checkout needs node_modules: `git worktree add --detach <checkout> <commit>` and a link to ours suffice. Signing keys
 * are left out; the secrets are those of this file.
 */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";

const [checkout, directory] = process.argv.slice(2);
const SETTLEMENT_DELAY_MS = 8_000;
const [ACME, SHOP, DESK] = [1, 2, 3].map((n) => `0190d5a4-0000-7000-8000-00000000000${n}`);
const BOOTSTRAP = {
  customers: [
    customer("acme", [
      { id: ACME, nickname: "treasury", balances: { USD: "100000", BTC: "10" } },
      { id: SHOP, nickname: "shop" },
    ]),
    customer("desk", [{ id: DESK, nickname: "desk", balances: { USD: "100000", BTC: "10", ETH: "100" } }]),
  ],
};

function customer(name, profiles) {
  return { name, clients: [{ client_id: name, client_secret: `the secret of ${name}`, scopes: ["*"] }], profiles };
}

const dataDir = await mkdtemp(join(tmpdir(), "parbook-version-"));
const bootstrap = join(dataDir, "customers.json");
await writeFile(bootstrap, JSON.stringify(BOOTSTRAP));
const service = spawn(process.execPath, [join(checkout, "bin/parbook.mjs"), "start", "--json"], {
  env: {
    PATH: process.env.PATH,
    PARBOOK_DATA_DIR: dataDir,
    PARBOOK_BOOTSTRAP: bootstrap,
    ...{ PARBOOK_PORT: "0", PARBOOK_AUTH_PORT: "0", PARBOOK_LOG_LEVEL: "warn" },
    PARBOOK_SETTLEMENT_DELAY_MS: String(SETTLEMENT_DELAY_MS),
  },
  stdio: ["ignore", "ignore", "inherit"],
});
try {
  const { base_url: baseUrl, auth_url: authUrl } = await ready();
  const acme = await caller(baseUrl, authUrl, "acme");
  const desk = await caller(baseUrl, authUrl, "desk");
  await doEverything(acme, desk);
  const answers = { acme: await readEverything(acme, [ACME, SHOP]), desk: await readEverything(desk, [DESK]) };
  const data = await dump();
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "answers.json"), `${JSON.stringify(answers, undefined, 1)}\n`);
  await writeFile(join(directory, "data.sql"), data);
} finally {
  const ended = new Promise((resolve) => service.once("exit", resolve));
  service.kill("SIGTERM");
  await ended;
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
}

async function ready() {
  for (let tries = 0; tries < 300; tries += 1) {
    const text = await readFile(join(dataDir, "ready.json"), "utf8").catch(() => undefined);
    if (text !== undefined) return JSON.parse(text);
    await pause(500);
  }
  throw new Error("the service did not become ready");
}

async function caller(baseUrl, authUrl, name) {
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: name,
    client_secret: `the secret of ${name}`,
  });
  const { access_token: token } = await (await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: form })).json();
  return async (method, path, json) => {
    const answer = await fetch(baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const body = await answer.json();
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(body)}`);
    return body;
  };
}

async function doEverything(acme, desk) {
  const convert = (ref_id, source_asset, target_asset, amount, more = {}) =>
    acme("POST", "/v2/conversion/stablecoins", {
      profile_id: ACME,
      ref_id,
      source_asset,
      target_asset,
      amount,
      ...more,
    });
  const minted = await convert("mint-1", "USD", "PYUSD", "500", {
    recipient_profile_id: SHOP,
    metadata: { why: "mint" },
  });
  await acme("POST", `/v2/sandbox/profiles/${ACME}/deposit`, { asset: "USD", amount: "12.34" });
  await acme("POST", `/v2/sandbox/profiles/${SHOP}/deposit`, {
    asset: "USDP",
    amount: "7.000001",
    crypto_network: "SOLANA",
  });
  const internal = { from_profile_id: ACME, to_profile_id: SHOP, asset: "USD", amount: "100.5", ref_id: "internal-1" };
  await acme("POST", "/v2/transfer/internal", { ...internal, metadata: { purpose: "wages" } });
  const platform = { from_profile_id: SHOP, to_profile_id: DESK, asset: "USD", amount: "0.25", ref_id: "platform-1" };
  await acme("POST", "/v2/transfer/platform", { ...platform, recipient_metadata: { invoice: "7" } });

  const order = (call, profile, json) =>
    call("POST", `/v2/profiles/${profile}/orders`, { market: "BTCUSD", type: "LIMIT", ...json }).catch(
      unlessUnsupported,
    );
  await order(desk, DESK, { side: "SELL", base_amount: "2", price: "50000", ref_id: "ask-1", metadata: { a: "b" } });
  await order(desk, DESK, {
    side: "SELL",
    base_amount: "1",
    price: "60000",
    identity_id: "i-1",
    identity_account_id: "a-1",
  });
  await order(acme, ACME, { side: "BUY", base_amount: "0.5", price: "50000", ref_id: "buy-1" });
  await order(acme, ACME, {
    side: "BUY",
    type: "MARKET",
    quote_amount: "1000",
    await_fill_millis: 3_000,
    recipient_profile_id: SHOP,
  });
  await order(acme, ACME, { side: "BUY", base_amount: "0.1", price: "40000", ref_id: "bid-1" });
  await order(acme, ACME, { side: "BUY", type: "POST_ONLY_LIMIT", base_amount: "0.1", price: "50000" });
  await order(acme, ACME, { side: "BUY", base_amount: "0.1", price: "44000", time_in_force: "FOK" });
  await order(acme, ACME, {
    side: "SELL",
    type: "STOP_LIMIT",
    base_amount: "0.1",
    price: "39000",
    stop_price: "45000",
  });
  const taken = await order(acme, ACME, { side: "BUY", base_amount: "0.2", price: "30000", ref_id: "taken-back" });
  await acme("DELETE", `/v2/profiles/${ACME}/orders/${taken.id}`);

  const redeemed = await convert("redeem-1", "USD", "USDP", "3");
  await acme("DELETE", `/v2/conversion/stablecoins/${redeemed.id}`);
  while ((await acme("GET", `/v2/conversion/stablecoins/${minted.id}`)).status !== "SETTLED") await pause(250);
  // Still unsettled when the service stops.
  await convert("mint-2", "USD", "PYUSD", "20");
}

/** Operations that the version lacks are skipped. */
function unlessUnsupported(error) {
  if (!error.message.includes("is not supported yet")) throw error;
}

async function readEverything(call, profiles) {
  const lists = [
    "/v2/profiles",
    "/v2/transfer/transfers",
    "/v2/conversion/stablecoins",
    "/v2/orders",
    "/v2/executions",
  ];
  const paths = [...lists];
  for (const profile of profiles) {
    paths.push(`/v2/profiles/${profile}`, `/v2/profiles/${profile}/balances`, `/v2/profiles/${profile}/orders`);
    paths.push(`/v2/profiles/${profile}/executions`);
  }
  const answers = {};
  for (const path of paths) answers[path] = await call("GET", path);
  const each = async (list, path) => {
    for (const item of answers[list].items) answers[path(item)] = await call("GET", path(item));
  };
  await each("/v2/transfer/transfers", ({ id }) => `/v2/transfer/transfers/${id}`);
  await each("/v2/conversion/stablecoins", ({ id }) => `/v2/conversion/stablecoins/${id}`);
  await each("/v2/orders", ({ id, profile_id }) => `/v2/profiles/${profile_id}/orders/${id}`);
  return answers;
}

/** In one snapshot; tables in the order in which they were made, which is that of their foreign keys. */
async function dump() {
  const client = new pg.Client({ host: join(dataDir, "postgres"), user: "postgres", database: "parbook" });
  await client.connect();
  await client.query("begin isolation level repeatable read");
  const { rows: tables } = await client.query(
    `select c.oid, c.relname as name,
            array(select quote_ident(attname) from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
                   order by attnum) as columns
       from pg_class c
      where relnamespace = 'public'::regnamespace and relkind = 'r' and relpersistence = 'p' and relname <> 'signing_key'
      order by c.oid`,
  );
  const lines = [];
  for (const { name, columns } of tables) {
    const values = columns.map((column) => `quote_nullable(${column}::text)`).join(", ");
    const { rows } = await client.query(`select array[${values}]::text[] as row from ${name} order by 1`);
    for (const { row } of rows) lines.push(`insert into ${name} (${columns.join(", ")}) values (${row.join(", ")});`);
  }
  await client.end();
  return `${lines.join("\n")}\n`;
}
