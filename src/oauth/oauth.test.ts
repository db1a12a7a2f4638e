/** Several nodes on one database, from the token endpoint to what a token grants. */

import { createRemoteJWKSet, jwtVerify } from "jose";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import { TESTER } from "../../test/support/movements.ts";
import { unwrap } from "../../test/support/results.ts";
import { Clients } from "../customers/clients/clients.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { systemClock } from "../std/clock.ts";
import { IdSource } from "../std/id.ts";
import { type Network, parseNetwork } from "../std/network.ts";
import { createOauth, createSigningKeys, type Oauth } from "./oauth.ts";

const BASE_URL = "http://api.example";
const ADDRESS = "192.0.2.1";
const ids = new IdSource();
const customerId = ids.next() as CustomerId;

const logged: string[] = [];
/** Of each request, whom a token was issued to. */
const served: (string | undefined)[] = [];
let testing: TestDatabase;
let clients: Clients;
let issuing: Oauth;
let other: Oauth;
/** To which each key is of age at once, and how many keys there were when it had started. */
let ageing: Oauth;
let keysAtStart = 0;
let authUrl = "";

beforeAll(async () => {
  testing = await testDatabase();
  await testing.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [customerId]);
  const { database } = testing;
  clients = new Clients({ database, clock: systemClock, ids, onUnrecordedUse: () => undefined });
  issuing = node();
  other = node();
  ageing = node(1);
  await Promise.all([issuing.start(), other.start(), ageing.start()]);
  keysAtStart = await countKeysMadeByNodes();
  authUrl = await issuing.authServer.listen({ host: "127.0.0.1", port: 0 });
});

afterAll(async () => {
  await issuing.authServer.close();
  await Promise.all([issuing.stop(), other.stop(), ageing.stop()]);
  await testing.close();
});

function node(replacedAfterMs = 90 * 86_400_000): Oauth {
  const database = testing.another();
  return createOauth({
    database,
    clients: new Clients({ database, clock: systemClock, ids, onUnrecordedUse: () => undefined }),
    clock: systemClock,
    ids,
    signingKeys: { encryptionKeys: [], replacedAfterMs },
    authUrl: () => authUrl,
    baseUrl: () => BASE_URL,
    observe: (server) => {
      server.addHook("onResponse", async ({ issuedTo }) => void served.push(issuedTo));
    },
    log: pino({ level: "debug" }, { write: (line: string) => void logged.push(line) }),
  });
}

async function countKeysMadeByNodes(): Promise<number> {
  const made = "select from configuration_write where kind = 'signing_key' and caller ->> 'house' = 'auth'";
  return (await testing.owner.rows(made)).length;
}

async function newToken(clientId: string): Promise<string> {
  const made = unwrap(await clients.create({ customerId, clientId, scopes: ["exchange:read_order"] }, TESTER));
  const response = await askToken(clientId, made.secret);
  return ((await response.json()) as { access_token: string }).access_token;
}

function askToken(clientId: string, secret: string): Promise<Response> {
  const form = { grant_type: "client_credentials", client_id: clientId, client_secret: secret };
  return fetch(`${authUrl}/oauth2/token`, { method: "POST", body: new URLSearchParams(form) });
}

test("a rejected token request is logged, an issued one at debug level; only the log names a wrong address", async () => {
  await newToken("told");
  await clients.restrict("told", [parseNetwork("192.0.2.0/24") as Network], TESTER);
  const { secret } = unwrap(await clients.rotateSecret("told", 0, TESTER));
  logged.length = served.length = 0;
  const answers = [await askToken("told", "guess"), await askToken("told", secret)];
  await newToken("told-too");
  const body = { error: "invalid_client", error_description: "client authentication failed" };
  for (const answer of answers) expect(await answer.json()).toEqual(body);
  const received = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
  const about = { request_id: expect.stringMatching(/^[0-9a-f-]{36}$/), address: "127.0.0.1" };
  const rejected = {
    ...about,
    client_id: "told",
    rejection: "invalid_client",
    level: 30,
    msg: "token request rejected",
  };
  const issued = { token_id: expect.stringMatching(/^[0-9a-f-]{36}$/), scope: "exchange:read_order", level: 20 };
  expect(received.map(({ time: _, pid: __, hostname: ___, ...line }) => line)).toEqual([
    { ...rejected, reason: "client authentication failed" },
    { ...rejected, reason: "the client told may not call from this address" },
    { ...about, ...issued, client_id: "told-too", msg: "token issued" },
  ]);
  await vi.waitFor(() => expect(served).toEqual([undefined, undefined, "told-too"]));
});

test("a token of one node is accepted by another, and verifies with the published keys", async () => {
  const token = await newToken("acme");
  const grant = { customerId, clientId: "acme", scopes: new Set(["exchange:read_order"]) };
  expect(await other.verify(token, ADDRESS)).toMatchObject(grant);
  const published = createRemoteJWKSet(new URL(`${authUrl}/.well-known/jwks.json`));
  const { payload } = await jwtVerify(token, published, { issuer: authUrl, audience: BASE_URL, typ: "at+jwt" });
  expect(payload.client_id).toBe("acme");
});

test("a token outlives a rotation of the keys", async () => {
  const token = await newToken("outlives");
  const settings = { encryptionKeys: [], replacedAfterMs: 90 * 86_400_000 };
  await createSigningKeys(testing.database, systemClock, settings).rotate(TESTER);
  expect(await issuing.verify(token, ADDRESS)).toBeDefined();
  expect(await other.verify(token, ADDRESS)).toBeDefined();
});

test("a disabled client gets no token, and within five seconds its live one is rejected on every node", async () => {
  const token = await newToken("leaver");
  for (const each of [issuing, other]) expect(await each.verify(token, ADDRESS)).toBeDefined();
  await clients.disable("leaver", TESTER);
  const rejectedEverywhere = async (): Promise<void> => {
    const restricted = { restricted: expect.objectContaining({ clientId: "leaver" }) };
    for (const each of [issuing, other]) expect(await each.verify(token, ADDRESS)).toEqual(restricted);
  };
  await vi.waitFor(rejectedEverywhere, { timeout: 5_000, interval: 50 });
});

test("a running node replaces its key whenever that is of age", async () => {
  const areMore = async () => expect(await countKeysMadeByNodes()).toBeGreaterThan(keysAtStart);
  await vi.waitFor(areMore, { timeout: 10_000, interval: 50 });
});

test("a node may be stopped before it was started, and twice", async () => {
  const idle = node();
  await idle.stop();
  await idle.start();
  await idle.stop();
  await idle.stop();
});
