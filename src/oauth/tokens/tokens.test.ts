/** Which tokens are believed, and for how long. */

import { createHmac, createPublicKey, generateKeyPairSync, type JsonWebKey, sign as signBytes } from "node:crypto";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type TestDatabase, testDatabase } from "../../../test/support/database.ts";
import { lowForm, otherForm } from "../../../test/support/http/signatures.ts";
import { TESTER } from "../../../test/support/movements.ts";
import { Clients } from "../../customers/clients/clients.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { type Database, DatabaseAway } from "../../postgres/database.ts";
import { ClockFault, type Instant } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import { KeyEncryption } from "../keys/key-encryption.ts";
import { SigningKeys } from "../keys/signing-keys.ts";
import { ClientRestrictions } from "./client-restrictions.ts";
import { Freshness } from "./token-data-freshness.ts";
import { Tokens } from "./tokens.ts";

const SECOND = 1_000;
const DAY = 86_400 * SECOND;
const ADDRESS = "192.0.2.1";
const AUTH_URL = "https://auth.example";
const BASE_URL = "https://api.example";
const ids = new IdSource();
const customerId = ids.next() as CustomerId;
const ACME = { clientId: "acme", customerId, scopes: ["*"] };

let testing: TestDatabase;
let now = Date.parse("2026-11-21T09:30:00.000Z") as Instant;
/** Why the clock is known to be wrong. */
let fault: string | undefined;
/** What the node's own clock says, when that is not the time that counts. */
let ownNow: Instant | undefined;
let elapsed = 0;
let node: Node;

interface Node {
  readonly tokens: Tokens;
  readonly keys: SigningKeys;
  readonly freshness: Freshness;
  readonly clients: Clients;
}

/** One process of the service, as far as tokens go. It follows the database when the test says so. */
function startNode(database: Database, toleranceMs?: number): Node {
  const clock = {
    now: () => now,
    ownNow: () => ownNow ?? now,
    ...(toleranceMs !== undefined && { toleranceMs }),
    get fault() {
      return fault;
    },
  };
  const clients = new Clients({ database, clock, ids, onUnrecordedUse: () => undefined });
  const keys = new SigningKeys({ database, clock, encryption: new KeyEncryption([]), replacedAfterMs: 90 * DAY });
  const restrictions = new ClientRestrictions({ clients, clock });
  const read = () => Promise.all([restrictions.read(), keys.read()]);
  const freshness = new Freshness({ read, elapsed: () => elapsed });
  const urls = { authUrl: () => AUTH_URL, baseUrl: () => BASE_URL };
  const tokens = new Tokens({ keys, clients, restrictions, freshness, clock, ids, ...urls });
  return { tokens, keys, freshness, clients };
}

const GRANTED = { clientId: "acme", scopes: new Set(["exchange:read_order", "funding:read_profile"]) };
const restricted = { restricted: expect.objectContaining({ clientId: "acme" }) };
const verified = ({ tokens }: Node, token: string, address = ADDRESS) => tokens.verify(token, address);

beforeAll(async () => {
  testing = await testDatabase();
  await testing.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [customerId]);
  await startNode(testing.database).clients.create({ customerId, clientId: "acme", scopes: ["*"] }, TESTER);
});

afterAll(() => testing.close());

beforeEach(async () => {
  await testing.owner.rows("delete from signing_key");
  node = startNode(testing.database);
  await node.freshness.follow();
  await node.keys.renew();
});

const issue = async (from = node): Promise<string> =>
  (await from.tokens.issue(ACME, ["exchange:read_order", "funding:read_profile"])).accessToken;

function passTime(ms: number): void {
  now = (now + ms) as Instant;
  elapsed += ms;
}

test("a token is a JWT after RFC 9068", async () => {
  const { accessToken, tokenId } = await node.tokens.issue(ACME, ["exchange:read_order", "funding:read_profile"]);
  const issuedAt = Math.floor(now / SECOND);
  expect(decodeProtectedHeader(accessToken)).toEqual({ alg: "ES256", typ: "at+jwt", kid: node.keys.signing().kid });
  expect(decodeJwt(accessToken)).toEqual({
    iss: AUTH_URL,
    sub: "acme",
    aud: BASE_URL,
    client_id: "acme",
    customer_id: customerId,
    scope: "exchange:read_order funding:read_profile",
    jti: tokenId,
    iat: issuedAt,
    exp: issuedAt + 3599,
  });
});

test("a token grants what it was issued for, the first time and from memory, on every node", async () => {
  const { accessToken, tokenId } = await node.tokens.issue(ACME, ["exchange:read_order"]);
  const other = startNode(testing.database);
  await other.freshness.follow();
  const grant = { customerId, clientId: "acme", scopes: new Set(["exchange:read_order"]), tokenId };
  const signatures = vi.spyOn(node.keys, "find");
  expect(await verified(node, accessToken)).toEqual(grant);
  expect(await verified(node, accessToken)).toEqual(grant);
  expect(signatures).toHaveBeenCalledOnce();
  expect(await verified(other, accessToken)).toEqual(grant);
});

test("a token lives 3599 seconds and not a millisecond longer, also in memory", async () => {
  now = (Math.floor(now / SECOND) * SECOND) as Instant;
  const remembered = await issue();
  const fresh = await issue();
  expect(await verified(node, remembered)).toBeDefined();
  now = (now + 3599 * SECOND - 1) as Instant;
  expect(await verified(node, remembered)).toBeDefined();
  now = (now + 1) as Instant;
  expect(await verified(node, remembered)).toBeUndefined();
  expect(await verified(node, fresh)).toBeUndefined();
});

test("while the clock is known to be wrong no token is issued, and none is rejected for its time alone", async () => {
  const right = now;
  const [seen, unseen] = [await issue(), await issue()];
  const forgery = await forge({ payload: { aud: AUTH_URL } });
  expect(await verified(node, seen)).toBeDefined();
  fault = "the clock of this node is off";
  for (const ms of [DAY, -DAY]) {
    now = (right + ms) as Instant;
    await expect(issue()).rejects.toThrow(new ClockFault(fault));
    for (const token of [seen, unseen]) await expect(verified(node, token)).rejects.toThrow(new ClockFault(fault));
    expect(await verified(node, forgery)).toBeUndefined();
  }
  [now, fault] = [right, undefined];
  for (const token of [seen, unseen]) expect(await verified(node, token)).toMatchObject({ clientId: "acme" });
});

test("while one of two clocks is wrong a token is accepted only if it is valid by both", async () => {
  const token = await issue();
  const right = now;
  fault = "the database's clock is behind";
  for (const ms of [-9_999, -2_000, 0, 3_598_000, 3_599_000]) {
    const isValid = ms >= -2_000 && ms < 3_599_000;
    for (const [own, counted] of [[0, ms] as const, [ms, 0] as const]) {
      [ownNow, now] = [(right + own) as Instant, (right + counted) as Instant];
      if (isValid) await expect(verified(node, token)).resolves.toBeDefined();
      else await expect(verified(node, token)).rejects.toThrow(new ClockFault(fault));
    }
  }
  [now, ownNow, fault] = [right, undefined, undefined];
});

test("a token that is not valid yet is rejected, apart from clock skew", async () => {
  now = (Math.floor(now / SECOND) * SECOND) as Instant;
  const right = now;
  now = (right + 4 * SECOND) as Instant;
  const close = await issue();
  now = (right + 5 * SECOND) as Instant;
  const far = await issue();
  now = right;
  expect(await verified(node, close)).toMatchObject({ clientId: "acme" });
  expect(await verified(node, far)).toBeUndefined();
  // Where clocks may differ by more, one may be ahead by that and the other behind by it.
  const tolerant = startNode(testing.database, 2_500);
  expect(await verified(tolerant, far)).toMatchObject({ clientId: "acme" });
  now = (right + SECOND) as Instant;
  expect(await verified(node, far)).toMatchObject({ clientId: "acme" });
});

test("a token ends with its key, also where it was remembered, on every node that has read the keys since", async () => {
  const other = startNode(testing.database);
  await other.freshness.follow();
  const token = await issue();
  expect([await verified(node, token), await verified(other, token)]).toMatchObject([GRANTED, GRANTED]);
  expect(await node.keys.revoke(node.keys.signing().kid, TESTER)).toBe("revoked");
  expect([await verified(node, token), await verified(other, token)]).toMatchObject([undefined, GRANTED]);
  passTime(4 * SECOND);
  expect(await verified(other, token)).toBeUndefined();
  expect(await verified(node, await issue())).toMatchObject(GRANTED);
});

/** Writes a JWT that may be wrong in any way, signed by anyone who has the key. */
interface Forgery {
  readonly header?: Record<string, unknown>;
  readonly payload?: Record<string, unknown>;
  readonly signature?: (input: string) => Buffer;
}

async function forge({ header = {}, payload = {}, signature }: Forgery): Promise<string> {
  const good = await issue();
  const sign = signature ?? signWith(await privateKey());
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const input = `${encode({ ...decodeProtectedHeader(good), ...header })}.${encode({ ...decodeJwt(good), ...payload })}`;
  return `${input}.${sign(input).toString("base64url")}`;
}

async function privateKey(): Promise<JsonWebKey> {
  const [row] = await testing.database.rows<{ key: JsonWebKey }>("select private_jwk as key from signing_key");
  return row?.key as JsonWebKey;
}

function signWith(key: JsonWebKey): (input: string) => Buffer {
  return (input) => lowForm(signBytes("sha256", Buffer.from(input), { key, format: "jwk", dsaEncoding: "ieee-p1363" }));
}

test("a token made with our key and claims is accepted, so the forgeries below fail for one reason", async () => {
  expect(await verified(node, await forge({}))).toMatchObject({ clientId: "acme" });
});

test("a token of 4096 characters is verified, and a longer one is rejected although it is valid", async () => {
  const withNote = (length: number): Promise<string> => forge({ payload: { note: "x".repeat(length) } });
  let length = Math.floor(((4_096 - (await withNote(0)).length) * 3) / 4) - 3;
  let [longest, longer] = ["", await withNote(length)];
  while (longer.length <= 4_096) {
    length += 1;
    [longest, longer] = [longer, await withNote(length)];
  }
  expect(longest).toHaveLength(4_096);
  expect(await verified(node, longest)).toMatchObject({ clientId: "acme" });
  expect(await verified(node, longer)).toBeUndefined();
});

const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" });
const strangersJwk = stranger.publicKey.export({ format: "jwk" });
const inSeconds = (seconds: number): number => Math.floor(now / SECOND) + seconds;

test.each<[string, () => Forgery | Promise<Forgery>]>([
  ["no algorithm", () => ({ header: { alg: "none" }, signature: () => Buffer.alloc(0) })],
  ["no algorithm and a signature", () => ({ header: { alg: "none" } })],
  [
    "HS256 under the public key as PEM",
    async () => {
      const { d: _, ...jwk } = await privateKey();
      const pem = createPublicKey({ key: jwk, format: "jwk" }).export({ type: "spki", format: "pem" });
      return { header: { alg: "HS256" }, signature: (input) => createHmac("sha256", pem).update(input).digest() };
    },
  ],
  [
    "HS256 under the public key as JWK",
    async () => {
      const { d: _, ...jwk } = await privateKey();
      const key = JSON.stringify(jwk);
      return { header: { alg: "HS256" }, signature: (input) => createHmac("sha256", key).update(input).digest() };
    },
  ],
  ["another key under our kid", () => ({ signature: signWith(stranger.privateKey.export({ format: "jwk" })) })],
  [
    "a key of its own",
    () => ({
      header: { jwk: strangersJwk },
      signature: signWith(stranger.privateKey.export({ format: "jwk" })),
    }),
  ],
  ["an unknown kid", () => ({ header: { kid: "unknown" } })],
  ["no kid", () => ({ header: { kid: undefined } })],
  ["a kid that is no text", () => ({ header: { kid: 1 } })],
  ["a kid that every object has", () => ({ header: { kid: "__proto__" } })],
  ["a critical extension", () => ({ header: { crit: ["b64"], b64: false } })],
  ["the type of an identity token", () => ({ header: { typ: "JWT" } })],
  ["no type", () => ({ header: { typ: undefined } })],
  ["another issuer", () => ({ payload: { iss: BASE_URL } })],
  ["no issuer", () => ({ payload: { iss: undefined } })],
  ["another audience", () => ({ payload: { aud: `${BASE_URL}/` } })],
  ["the audience of the token endpoint", () => ({ payload: { aud: AUTH_URL } })],
  ["no audience", () => ({ payload: { aud: undefined } })],
  ["an end that has come", () => ({ payload: { exp: inSeconds(0) } })],
  ["no end", () => ({ payload: { exp: undefined } })],
  ["an end that is text", () => ({ payload: { exp: String(inSeconds(100)) } })],
  ["a begin that is to come", () => ({ payload: { nbf: inSeconds(2) } })],
  ["no issue time", () => ({ payload: { iat: undefined } })],
  ["no customer", () => ({ payload: { customer_id: undefined } })],
  ["a customer that is no id", () => ({ payload: { customer_id: "acme" } })],
  ["no client", () => ({ payload: { client_id: undefined } })],
  ["scopes as a list", () => ({ payload: { scope: ["exchange:read_order"] } })],
  ["no id", () => ({ payload: { jti: undefined } })],
])("a token with %s grants nothing", async (_, forgery) => {
  expect(await verified(node, await forge(await forgery()))).toBeUndefined();
});

test("a token of which any part is missing, changed or too much grants nothing, and never fails", async () => {
  const token = await issue();
  const [header = "", payload = "", signature = ""] = token.split(".");
  const broken = [
    "",
    ".",
    "..",
    "...",
    "x",
    "\0",
    "ünïcode.ünïcode.ünïcode",
    "a".repeat(100_000),
    `${header}.${payload}`,
    `${header}.${payload}.`,
    `${header}..${signature}`,
    `.${payload}.${signature}`,
    `${token}.`,
    `${token}A`,
    ` ${token}`,
    `${header}.${payload}.${signature.slice(0, -4)}`,
    `${payload}.${payload}.${signature}`,
    `bnVsbA.${payload}.${signature}`,
    `W10.${payload}.${signature}`,
    `IiI.${payload}.${signature}`,
  ];
  for (const each of broken) expect(await verified(node, each), each.slice(0, 60)).toBeUndefined();
  for (let at = 0; at < token.length; at += 7) {
    expect(
      await verified(node, `${token.slice(0, at)}${token[at] === "A" ? "B" : "A"}${token.slice(at + 1)}`),
    ).toBeUndefined();
    expect(await verified(node, token.slice(0, at))).toBeUndefined();
  }
});

test("of the two forms that a signature has, tokens are issued with the lower s, and the other one grants nothing", async () => {
  // Left as they are signed, half of them would have the upper one.
  for (let i = 0; i < 20; i += 1) {
    const token = await issue();
    const at = token.lastIndexOf(".") + 1;
    const signature = Buffer.from(token.slice(at), "base64url");
    const inForm = (form: Buffer): string => token.slice(0, at) + form.toString("base64url");
    expect(token).toBe(inForm(lowForm(signature)));
    expect(await verified(node, inForm(otherForm(signature)))).toBeUndefined();
    expect(await verified(node, token)).toMatchObject({ clientId: "acme" });
    // Neither before nor after the token itself was seen.
    expect(await verified(node, inForm(otherForm(signature)))).toBeUndefined();
  }
});

test("bits at the end of a signature that mean nothing have to be zero", async () => {
  const token = await issue();
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet.indexOf(token.at(-1) as string);
  const signature = (text: string): Buffer => Buffer.from(text.slice(text.lastIndexOf(".") + 1), "base64url");
  for (const bits of [1, 2, 15]) {
    const same = token.slice(0, -1) + alphabet[last + bits];
    expect(signature(same)).toEqual(signature(token));
    expect(await verified(node, same)).toBeUndefined();
  }
});

test("a disabled client's live tokens are rejected on every node once it has read the list, cached or not", async () => {
  const { clients } = node;
  const other = startNode(testing.database);
  await other.freshness.follow();
  const [remembered, unseen] = [await issue(), await issue()];
  for (const each of [node, other]) expect(await verified(each, remembered)).toBeDefined();
  await clients.disable("acme", TESTER);
  for (const each of [node, other]) {
    await each.freshness.follow();
    expect(await verified(each, remembered)).toEqual(restricted);
    expect(await verified(each, unseen)).toEqual(restricted);
  }
  await testing.owner.rows("update client set disabled_at = null");
});

test("a remembered token is verified again in another history of the database, which may lack its client", async () => {
  const token = await issue();
  vi.spyOn(node.clients, "has").mockResolvedValueOnce(true).mockResolvedValue(false);
  for (const _ of [1, 2]) expect(await verified(node, token)).toBeDefined();
  vi.spyOn(node.clients, "history", "get").mockReturnValue("another");
  expect(await verified(node, token)).toBeUndefined();
});

test("a stale list of disabled clients is read again before a token is accepted", async () => {
  const token = await issue();
  expect(await verified(node, token)).toBeDefined();
  await testing.owner.rows("update client set disabled_at = to_timestamp($1)", [now / SECOND]);
  passTime(4 * SECOND - 1);
  expect(await verified(node, token)).toBeDefined();
  passTime(1);
  expect(await verified(node, token)).toEqual(restricted);
  await testing.owner.rows("update client set disabled_at = null");
});

test("once the database has been away for four seconds no token is accepted, and forgeries are rejected as before", async () => {
  const database = testing.another();
  const cutOff = startNode(database);
  await cutOff.freshness.follow();
  const [token, forgery] = [await issue(cutOff), await forge({ header: { alg: "none" } })];
  expect(await verified(cutOff, token)).toBeDefined();
  const away = vi.spyOn(database, "rows").mockRejectedValue(new DatabaseAway("the database cannot be reached"));
  passTime(4 * SECOND - 1);
  expect(await verified(cutOff, token)).toBeDefined();
  passTime(1);
  await expect(verified(cutOff, token)).rejects.toThrow("the database cannot be reached");
  expect(await verified(cutOff, forgery)).toBeUndefined();
  away.mockRestore();
  expect(await verified(cutOff, token)).toBeDefined();
});
