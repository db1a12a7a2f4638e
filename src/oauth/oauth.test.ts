/** Several nodes on one database, from the token endpoint to what a token grants. */
import { createRemoteJWKSet, jwtVerify } from "jose";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import { Clients } from "../customers/clients.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { systemClock } from "../std/clock.ts";
import { IdSource } from "../std/id.ts";
import { createOauth, type Oauth } from "./oauth.ts";

const BASE_URL = "http://api.example";
const ids = new IdSource();
const customerId = ids.next() as CustomerId;

let testing: TestDatabase;
let clients: Clients;
let issuing: Oauth;
let other: Oauth;
let authUrl = "";

beforeAll(async () => {
  testing = await testDatabase();
  await testing.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [customerId]);
  const { database } = testing;
  clients = new Clients({ database, clock: systemClock, ids, onUnrecordedUse: () => undefined });
  issuing = node();
  other = node();
  await Promise.all([issuing.start(), other.start()]);
  authUrl = await issuing.authServer.listen({ host: "127.0.0.1", port: 0 });
});

afterAll(async () => {
  await issuing.authServer.close();
  await Promise.all([issuing.stop(), other.stop()]);
  await testing.close();
});

function node(): Oauth {
  const options = { clock: systemClock, authUrl: () => authUrl, baseUrl: () => BASE_URL };
  return createOauth({ database: testing.another(), ...options, log: pino({ level: "silent" }) });
}

async function newToken(clientId: string): Promise<string> {
  const made = await clients.create({ customerId, clientId, scopes: ["exchange:read_order"] });
  if (typeof made === "string") throw new Error(made);
  const form = { grant_type: "client_credentials", client_id: clientId, client_secret: made.secret };
  const response = await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: new URLSearchParams(form) });
  return ((await response.json()) as { access_token: string }).access_token;
}

test("a token of one node is believed by another, and by whoever has the published keys", async () => {
  const token = await newToken("acme");
  const grant = { customerId, clientId: "acme", scopes: new Set(["exchange:read_order"]) };
  expect(await other.verify(token)).toMatchObject(grant);
  const published = createRemoteJWKSet(new URL(`${authUrl}/.well-known/jwks.json`));
  const { payload } = await jwtVerify(token, published, { issuer: authUrl, audience: BASE_URL, typ: "at+jwt" });
  expect(payload.client_id).toBe("acme");
});

test("a token outlives a rotation of the keys", async () => {
  const token = await newToken("outlives");
  await other.rotateSigningKey();
  expect(await issuing.verify(token)).toBeDefined();
  expect(await other.verify(token)).toBeDefined();
});

test("a disabled client gets no token, and within five seconds its live one is refused on every node", async () => {
  const token = await newToken("leaver");
  for (const each of [issuing, other]) expect(await each.verify(token)).toBeDefined();
  await clients.disable("leaver");
  const refusedEverywhere = async (): Promise<void> => {
    for (const each of [issuing, other]) expect(await each.verify(token)).toBeUndefined();
  };
  await vi.waitFor(refusedEverywhere, { timeout: 5_000, interval: 50 });
});

test("a node may be stopped before it was started, and twice", async () => {
  const idle = node();
  await idle.stop();
  await idle.start();
  await idle.stop();
  await idle.stop();
});
