/** Who is let in, over HTTP and on two nodes: each answer is whole, and a change on one is known to both. */

import { createHmac, createPublicKey, generateKeyPairSync, type JsonWebKey, sign } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSigningKeys } from "../../src/oauth/oauth.ts";
import { systemClock } from "../../src/std/clock.ts";
import { type Network, parseNetwork } from "../../src/std/network.ts";
import { lowForm } from "../support/http/signatures.ts";
import { TESTER } from "../support/movements.ts";
import { type Listening, startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
let nodes: readonly Listening[];
let acme: TestCustomer;
let beta: TestCustomer;

beforeAll(async () => {
  service = await startTestService();
  // Behind a proxy on this machine, as far as it knows.
  nodes = [
    service,
    await service.another({ roles: new Set(["api", "auth"]), trustedProxies: [parseNetwork("127.0.0.1") as Network] }),
  ];
  [acme, beta] = [await service.customer("Acme"), await service.customer("Beta")];
});

afterAll(() => service.close());

interface Heard {
  readonly status: number;
  readonly challenge: string | null;
  readonly body: Record<string, unknown>;
}

async function call({ baseUrl }: Listening, token: string, headers: Record<string, string> = {}): Promise<Heard> {
  const answer = await fetch(`${baseUrl}/v2/profiles/default`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  const { request_id: _, ...body } = (await answer.json()) as Record<string, unknown>;
  return { status: answer.status, challenge: answer.headers.get("www-authenticate"), body };
}

const NOT_GOOD = "the access token is malformed, expired, revoked or not valid from this address";
const REJECTED: Heard = {
  status: 401,
  challenge: `Bearer realm="parbook", error="invalid_token", error_description="${NOT_GOOD}"`,
  body: { type: "about:blank", title: "Unauthorized", status: 401, detail: NOT_GOOD, meta: {} },
};

async function askToken({ authUrl }: Listening, client: TestCustomer, headers: Record<string, string> = {}) {
  const { clientId, secret } = client;
  const form = { grant_type: "client_credentials", client_id: clientId, client_secret: secret };
  const answer = await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: new URLSearchParams(form), headers });
  return { status: answer.status, body: (await answer.json()) as Record<string, string> };
}

const NO_TOKEN = {
  status: 401,
  body: { error: "invalid_client", error_description: "client authentication failed" },
};

async function tokenOf(node: Listening, client: TestCustomer): Promise<string> {
  return (await askToken(node, client)).body.access_token ?? "";
}

test("a token of either node is good on both, for its own customer", async () => {
  for (const issuing of nodes) {
    const token = await tokenOf(issuing, acme);
    for (const node of nodes) {
      expect(await call(node, token)).toMatchObject({ status: 200, body: { id: acme.defaultProfile } });
    }
  }
});

type Parts = { header: Record<string, unknown>; payload: Record<string, unknown> };

/** Signs with the very key of the service, so that each forgery fails for the one thing that is wrong with it. */
async function forged(change: (parts: Parts) => Partial<Parts>, signature = bySigningKey): Promise<string> {
  const good = { header: { ...decodeProtectedHeader(acme.token) }, payload: { ...decodeJwt(acme.token) } };
  const parts = { ...good, ...change(good) };
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const input = `${encode(parts.header)}.${encode(parts.payload)}`;
  return `${input}.${(await signature(input)).toString("base64url")}`;
}

async function signingKey(): Promise<JsonWebKey> {
  const [row] = await service.db.database.rows<{ key: JsonWebKey }>("select private_jwk as key from signing_key");
  return row?.key as JsonWebKey;
}

const signedBy = (input: string, key: JsonWebKey): Buffer =>
  lowForm(sign("sha256", Buffer.from(input), { key, format: "jwk", dsaEncoding: "ieee-p1363" }));

async function bySigningKey(input: string): Promise<Buffer> {
  return signedBy(input, await signingKey());
}

async function byPublicKey(input: string): Promise<Buffer> {
  const { d: _, ...jwk } = await signingKey();
  const pem = createPublicKey({ key: jwk, format: "jwk" }).export({ type: "spki", format: "pem" });
  return createHmac("sha256", pem).update(input).digest();
}

const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

test("a token made with the service's key and claims is accepted, so the forgeries fail for one reason", async () => {
  for (const node of nodes) expect((await call(node, await forged((parts) => parts))).status).toBe(200);
});

test.each<[string, () => string | Promise<string>]>([
  [
    "of no algorithm",
    () =>
      forged(
        ({ header }) => ({ header: { ...header, alg: "none" } }),
        async () => Buffer.alloc(0),
      ),
  ],
  ["under the public key", () => forged(({ header }) => ({ header: { ...header, alg: "HS256" } }), byPublicKey)],
  [
    "of another key",
    () =>
      forged(
        (parts) => parts,
        async (input) => signedBy(input, stranger),
      ),
  ],
  ["of an unknown key", () => forged(({ header }) => ({ header: { ...header, kid: "unknown" } }))],
  ["of another issuer", () => forged(({ payload }) => ({ payload: { ...payload, iss: "https://auth.example" } }))],
  ["for another audience", () => forged(({ payload }) => ({ payload: { ...payload, aud: service.authUrl } }))],
  ["of another type", () => forged(({ header }) => ({ header: { ...header, typ: "JWT" } }))],
  ["that has expired", () => forged(({ payload }) => ({ payload: { ...payload, exp: inSeconds(-1) } }))],
  ["that is not valid yet", () => forged(({ payload }) => ({ payload: { ...payload, nbf: inSeconds(600) } }))],
  [
    "into which another customer was written afterwards",
    () => {
      const [header, , signature] = acme.token.split(".");
      const payload = { ...decodeJwt(acme.token), customer_id: beta.id };
      return `${header}.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.${signature}`;
    },
  ],
  // As a restored database may lack it.
  ["of a client that is not there", () => forged(({ payload }) => ({ payload: { ...payload, client_id: "late" } }))],
  ["of a client of another's", () => forged(({ payload }) => ({ payload: { ...payload, customer_id: beta.id } }))],
  ["that is cut off", () => acme.token.slice(0, -8)],
  ["that is no token", () => "correct-horse"],
  ["that is very long", () => "a".repeat(8_000)],
])("a token %s is rejected on both nodes, with the same text", async (_, token) => {
  const text = await token();
  for (const node of nodes) expect(await call(node, text)).toEqual(REJECTED);
});

test("two tokens in one request are rejected, even if both are valid", async () => {
  const { hostname, port } = new URL(service.baseUrl);
  const headers = [
    "Host",
    hostname,
    ...["Authorization", "authorization"].flatMap((name) => [name, `Bearer ${acme.token}`]),
  ];
  const [answer] = (await once(
    request({ hostname, port, path: "/v2/profiles/default", headers }).end(),
    "response",
  )) as [IncomingMessage];
  answer.resume();
  expect(answer.statusCode).toBe(400);
});

test("a disabled client gets no token on either node at once, and its live one is soon rejected on both", async () => {
  const leaver = await service.customer("Leaver");
  for (const node of nodes) expect((await call(node, leaver.token)).status).toBe(200);
  await service.service.core.clients.disable(leaver.clientId, TESTER);
  for (const node of nodes) expect(await askToken(node, leaver)).toEqual(NO_TOKEN);
  for (const node of nodes) {
    await until("the token is rejected", async () => (await call(node, leaver.token)).status !== 200);
    expect(await call(node, leaver.token)).toEqual(REJECTED);
  }
});

test("a client restricted to another network gets no token at once, and its live one is soon rejected on both", async () => {
  const [direct, behindProxy] = nodes as [Listening, Listening];
  const office = await service.customer("Office");
  const { clients } = service.service.core;
  const from = (text: string): Network[] => [parseNetwork(text) as Network];
  await clients.restrict(office.clientId, from("198.51.100.0/24"), TESTER);
  for (const node of nodes) {
    expect(await askToken(node, office)).toEqual(NO_TOKEN);
    await until("the token is rejected", async () => (await call(node, office.token)).status !== 200);
    expect(await call(node, office.token)).toEqual(REJECTED);
  }

  // What a caller says of its own address counts when it comes by a proxy that is trusted, and only then.
  const forwarded = { "x-forwarded-for": "198.51.100.7" };
  expect(await askToken(direct, office, forwarded)).toEqual(NO_TOKEN);
  expect(await call(direct, office.token, forwarded)).toEqual(REJECTED);
  expect((await askToken(behindProxy, office, forwarded)).status).toBe(200);
  expect((await call(behindProxy, office.token, forwarded)).status).toBe(200);
  const elsewhere = { "x-forwarded-for": "198.51.100.7, 203.0.113.9" };
  expect(await askToken(behindProxy, office, elsewhere)).toEqual(NO_TOKEN);
  expect(await call(behindProxy, office.token, elsewhere)).toEqual(REJECTED);

  await clients.restrict(office.clientId, from("::ffff:127.0.0.0/104"), TESTER);
  for (const node of nodes) {
    expect((await askToken(node, office)).status).toBe(200);
    await until("the token is let in again", async () => (await call(node, office.token)).status === 200);
  }
});

const published = async ({ authUrl }: Listening): Promise<unknown[]> => {
  const answer = await fetch(`${authUrl}/.well-known/jwks.json`);
  return ((await answer.json()) as { keys: { kid: unknown }[] }).keys.map(({ kid }) => kid);
};

/** Last: no token of before outlives it. */
test("keys are replaced and revoked on both nodes, and a revoked key takes its tokens along", async () => {
  const settings = { encryptionKeys: [], replacedAfterMs: 90 * 86_400_000 };
  const keys = createSigningKeys(service.db.another(), systemClock, settings);
  await keys.read();
  const former = keys.signing().kid;
  const token = await tokenOf(service, acme);
  const fresh = await keys.rotate(TESTER);
  for (const node of nodes) {
    await until("both keys are published", async () => (await published(node)).join() === [former, fresh].join());
    expect((await call(node, token)).status).toBe(200);
  }
  await keys.revoke(former, TESTER);
  for (const node of nodes) {
    await until("the token is rejected", async () => (await call(node, token)).status !== 200);
    expect(await call(node, token)).toEqual(REJECTED);
    expect(await published(node)).toEqual([fresh]);
  }
  const next = await tokenOf(service, acme);
  expect(decodeProtectedHeader(next).kid).toBe(fresh);
  for (const node of nodes) expect((await call(node, next)).status).toBe(200);
});
