/**
 * dialects/paxos-v2.json: requests as the vendor's public clients send them, and its words in everything that callers see;
 * ours in everything that the operator sees.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import WebSocket from "ws";
import { expectBooksBalance } from "../../support/books.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../../support/service.ts";

const DIALECT = new URL("../../../dialects/paxos-v2.json", import.meta.url).pathname;

let service: TestService;
let acme: TestCustomer;
let other: TestCustomer;
let profile: string;
beforeAll(async () => {
  service = await startTestService({ dialect: DIALECT });
  acme = await service.customer("Acme");
  other = await service.customer("Other");
  profile = await service.profile(acme, { USD: "100000", PLATFORMG: "10" });
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  service.call(method, path, { as: acme.token, ...(body === undefined ? {} : { body }) });

async function tokenAnswer(scope: string, url = service.authUrl) {
  const form = { grant_type: "client_credentials", client_id: acme.clientId, client_secret: acme.secret, scope };
  const answer = await fetch(`${url}/oauth2/token`, { method: "POST", body: new URLSearchParams(form) });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

test("the default scopes of the vendor's clients are granted, on both ports, and said in its words", async () => {
  const scope = "funding:read_profile transfer:read_transfer transfer:write_paxos_transfer exchange:write_order";
  for (const url of [service.authUrl, service.baseUrl]) {
    expect(await tokenAnswer(scope, url)).toMatchObject({ status: 200, body: { scope } });
  }
  expect(await tokenAnswer("transfer:write_platform_transfer")).toEqual({
    status: 400,
    body: {
      error: "invalid_scope",
      error_description: "the client does not hold the scope transfer:write_platform_transfer",
    },
  });
  const metadata = await (await fetch(`${service.authUrl}/.well-known/oauth-authorization-server`)).json();
  expect(metadata).toMatchObject({ scopes_supported: expect.arrayContaining(["transfer:write_paxos_transfer"]) });
  expect(JSON.stringify(metadata)).not.toContain("platform");
});

test("a token of the dialect is valid at a node without it, and its rejections name scopes in its words", async () => {
  const { body } = await tokenAnswer("transfer:write_paxos_transfer");
  const as = String(body.access_token);
  const rejected = await service.call("GET", "/v2/profiles", { as });
  expect(rejected).toMatchObject({
    status: 403,
    body: {
      detail: "insufficient scopes: found 'transfer:write_paxos_transfer', required one of '[funding:read_profile]'",
      meta: { required: ["funding:read_profile"], granted: ["transfer:write_paxos_transfer"] },
    },
  });
  const plain = await service.another({ dialect: undefined });
  const answer = await fetch(`${plain.baseUrl}/v2/transfer/platform`, {
    method: "POST",
    headers: { authorization: `Bearer ${as}`, "content-type": "application/json" },
    body: "{}",
  });
  expect(answer.status).toBe(400);
});

test("a transfer is made, read and listed in the vendor's words, and stored in ours", async () => {
  const free = { note: "PLATFORMG PLATFORM_TRANSFER_DEBIT /v2/transfer/platform" };
  const body = {
    ...{ from_profile_id: profile, to_profile_id: other.defaultProfile, amount: "1.5", asset: "PAXG" },
    ...{ ref_id: "PLATFORM_TRANSFER_DEBIT", metadata: free, from_account_id: "PLATFORMG" },
  };
  const made = await call("POST", "/v2/transfer/paxos", body);
  expect(made).toMatchObject({
    status: 200,
    body: {
      ...{ type: "PAXOS_TRANSFER_DEBIT", asset: "PAXG", balance_asset: "PAXG", amount: "1.5" },
      ...{ ref_id: "PLATFORM_TRANSFER_DEBIT", metadata: free, account_id: "PLATFORMG" },
    },
  });
  const { id } = made.body;
  expect((await call("GET", `/v2/transfer/transfers/${id}`)).body).toEqual(made.body);
  const listed = await call("GET", "/v2/transfer/transfers?type=PAXOS_TRANSFER_DEBIT&type=PAXOS_TRANSFER_CREDIT");
  expect(listed.body.items).toEqual([made.body]);
  const repeated = await call("POST", "/v2/transfer/paxos", body);
  expect(repeated).toMatchObject({
    status: 409,
    body: {
      type: "https://developer.paxos.com/docs/v2/problems/already-exists",
      detail: 'ref_id "PLATFORM_TRANSFER_DEBIT" is already in use',
      meta: { existing: made.body },
    },
  });
  const stored = await service.db.owner.rows("select type, asset from transfer where id = $1", [id]);
  expect(stored).toEqual([{ type: "PLATFORM_TRANSFER", asset: "PLATFORMG" }]);
  const asked = await service.db.owner.rows(
    "select caller ->> 'operation' as operation from batch, json_array_elements(callers) as caller where caller ->> 'client' is not null",
  );
  expect(asked).toEqual([{ operation: "POST /v2/transfer/platform" }]);
});

test("a bulk takes and gives the vendor's words in each item, and in each problem of one", async () => {
  const move = { from_profile_id: profile, to_profile_id: other.defaultProfile, amount: "0.5" };
  const items = [
    { ...move, asset: "PAXG", ref_id: "PAXG" },
    { ...move, asset: "PLATFORMG", ref_id: "PLATFORMG" },
    { ...move, asset: "PAXG", amount: "1000", ref_id: "too much" },
  ];
  const made = await call("POST", "/v2/transfer/paxos/bulk", { mode: "independent", items });
  expect(made.body.items).toMatchObject([
    { status: "COMPLETED", ref_id: "PAXG", transfer: { asset: "PAXG", type: "PAXOS_TRANSFER_DEBIT", ref_id: "PAXG" } },
    { status: "REJECTED", problem: { detail: 'asset "PLATFORMG" is not the code of an asset of this service' } },
    {
      status: "REJECTED",
      problem: { type: "https://developer.paxos.com/docs/v2/problems/insufficient-funds", meta: { asset: "PAXG" } },
    },
  ]);
});

test("our own words are unknown, and quoted as they were sent", async () => {
  expect(await call("POST", "/v2/transfer/platform", {})).toMatchObject({
    status: 404,
    body: { detail: "no such path" },
  });
  const move = { from_profile_id: profile, to_profile_id: other.defaultProfile, amount: "1", asset: "PLATFORMG" };
  expect((await call("POST", "/v2/transfer/paxos", move)).body).toMatchObject({
    detail: 'asset "PLATFORMG" is not the code of an asset of this service',
  });
  expect((await call("GET", "/v2/transfer/transfers?type=PLATFORM_TRANSFER_DEBIT")).body).toMatchObject({
    status: 400,
    detail: expect.stringMatching(/PLATFORM_TRANSFER_DEBIT.* is not one of .*PAXOS_TRANSFER_DEBIT/),
  });
  expect((await call("GET", "/v2/markets/PLATFORMGUSD/ticker")).body).toMatchObject({
    status: 404,
    detail: "market not found: PLATFORMGUSD",
  });
  expect((await call("GET", `/v2/profiles/${profile}/balances/PLATFORMG`)).body).toMatchObject({
    status: 404,
    detail: "asset not found: PLATFORMG",
  });
  expect(await call("PATCH", "/v2/transfer/paxos")).toMatchObject({
    status: 405,
    body: { detail: "PATCH is not allowed on this path: use POST" },
  });
});

test("orders, executions, balances and market data name the market and its assets in the vendor's words", async () => {
  const orders = `/v2/profiles/${profile}/orders`;
  const sell = { side: "SELL", market: "PAXGUSD", type: "LIMIT", base_amount: "1", price: "2000" };
  const placed = await call("POST", orders, { ...sell, await_fill_millis: 0 });
  expect(placed).toMatchObject({ status: 200, body: { market: "PAXGUSD", side: "SELL" } });
  const buyer = await service.profile(other, { USD: "5000" });
  const bought = await service.call("POST", `/v2/profiles/${buyer}/orders`, {
    as: other.token,
    body: { ...sell, side: "BUY", base_amount: "0.5", await_fill_millis: 10_000 },
  });
  expect(bought).toMatchObject({ status: 200, body: { market: "PAXGUSD", status: "FILLED" } });
  expect((await call("GET", "/v2/executions")).body.items).toMatchObject([
    { market: "PAXGUSD", side: "SELL", commission_asset: "USD" },
  ]);
  expect((await call("GET", "/v2/orders?market=PAXGUSD")).body.items).toMatchObject([{ market: "PAXGUSD" }]);
  expect((await call("GET", `/v2/profiles/${profile}/balances?assets=PAXG`)).body.items).toMatchObject([
    { asset: "PAXG", trading: "0.5" },
  ]);
  expect((await call("GET", "/v2/markets/PAXGUSD/order-book")).body).toMatchObject({
    market: "PAXGUSD",
    asks: [{ price: "2000", amount: "0.5" }],
  });
  expect((await call("GET", "/v2/markets/PAXGUSD/recent-executions")).body.items).toMatchObject([{ side: "BUY" }]);
  expect((await call("GET", "/v2/all-markets/prices?markets=PAXGUSD")).body.items).toMatchObject([
    { market: "PAXGUSD", current_price: "2000" },
  ]);
  expect((await call("GET", "/v2/markets")).body.markets).toContainEqual(
    expect.objectContaining({ market: "PAXGUSD", base_asset: "PAXG", quote_asset: "USD" }),
  );
  const tooMuch = await call("POST", orders, { ...sell, base_amount: "100" });
  expect(tooMuch.body).toMatchObject({
    type: "https://developer.paxos.com/docs/v2/problems/insufficient-funds",
    meta: { asset: "PAXG" },
  });
});

test("the feeds are named by the vendor's market and say it", async () => {
  const url = service.baseUrl.replace("http", "ws");
  const first = (path: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const feed = new WebSocket(url + path).once("error", reject);
      feed.once("message", (bytes) => {
        feed.close();
        resolve(JSON.parse(String(bytes)));
      });
    });
  expect(await first("/marketdata/PAXGUSD")).toMatchObject({ type: "SNAPSHOT", market: "PAXGUSD" });
  expect(await first("/executiondata/PAXGUSD")).toMatchObject({ market: "PAXGUSD", side: "BUY", price: "2000" });
  await expect(first("/marketdata/PLATFORMGUSD")).rejects.toThrow("404");
});

test("events and their objects have the vendor's words", async () => {
  const made = await call("GET", "/v2/events?type=transfer.paxos_transfer_debit.completed&wait_millis=10000");
  const [first] = made.body.events;
  expect(first).toMatchObject({
    type: "transfer.paxos_transfer_debit.completed",
    object: { type: "PAXOS_TRANSFER_DEBIT", asset: "PAXG" },
  });
  expect((await call("GET", `/v2/events/${first.id}`)).body).toEqual(first);
  const stream = await fetch(`${service.baseUrl}/v2/events/stream?after_number=0`, {
    headers: { authorization: `Bearer ${acme.token}` },
  });
  let text = "";
  for await (const chunk of stream.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes("PAXGUSD")) break;
  }
  expect(text).toContain('"type":"PAXOS_TRANSFER_DEBIT"');
  expect(text.replaceAll(/"(?:metadata|ref_id|account_id)":(?:"[^"]*"|\{[^}]*\})/g, "")).not.toMatch(/PLATFORM/i);
});

test("the document has the vendor's words, and no others", async () => {
  const { body } = await service.call("GET", "/openapi.json");
  expect(body.paths["/v2/transfer/paxos"].post).toMatchObject({
    security: [{ oauth2: ["transfer:write_paxos_transfer"] }],
  });
  expect(body.components.schemas.TransferType.enum).toContain("PAXOS_TRANSFER_DEBIT");
  const { description: _texts, ...document } = body.info;
  const own = JSON.stringify({ ...body, info: document }).match(
    /PLATFORM|transfer\/platform|platform_transfer|x-word/g,
  );
  expect(own).toBeNull();
  const { responses } = body.paths["/v2/transfer/paxos"].post;
  const { examples } = responses[403].content["application/problem+json"];
  const paper = await service.token(acme, "transfer:read_transfer");
  const refused = await service.call("POST", "/v2/transfer/paxos", { as: paper, body: {} });
  const { type, title, status, detail } = examples.forbidden.value;
  const recorded = detail.replace("transfer:read_fiat_account", "transfer:read_transfer");
  expect(refused.body).toMatchObject({ type, title, status, detail: recorded });
  const move = { from_profile_id: profile, to_profile_id: "default", amount: "1000000", asset: "USD" };
  const { body: poor } = await call("POST", "/v2/transfer/paxos", move);
  expect(examples["insufficient-funds"].value).toMatchObject({ type: poor.type, title: poor.title, status: 403 });
  expect(poor.type).toMatch(/^https:\/\/developer\.paxos\.com\//);
  for await (const path of ["/docs", "/docs/initializer.js"]) {
    expect((await fetch(service.baseUrl + path)).status).toBe(200);
  }
});

test("a wrong file stops the start with every mistake", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dialect-"));
  const dialect = join(folder, "wrong.json");
  await writeFile(dialect, JSON.stringify({ enums: { VANISHED: "AWAY", BUY: "SELL" }, assets: { PLATFORMG: "USD" } }));
  await expect(service.another({ dialect })).rejects.toThrow(
    [
      `the dialect ${dialect} is wrong:`,
      '  assets: "PLATFORMG" becomes USD, but that is a word of Parbook\'s that keeps its meaning',
      '  enums: "VANISHED" is not one that Parbook has',
      '  enums: "BUY" becomes SELL, but that is a word of Parbook\'s that keeps its meaning',
    ].join("\n"),
  );
  await rm(folder, { recursive: true });
});
