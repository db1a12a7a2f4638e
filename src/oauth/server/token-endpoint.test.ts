/** The token endpoint over a socket: whole answers, as clients of every kind get them. */

import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../../test/support/database.ts";
import { TESTER } from "../../../test/support/movements.ts";
import { Clients } from "../../customers/clients/clients.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { systemClock } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import { createOauth, type Oauth } from "../oauth.ts";
import { SCOPES } from "../scopes.ts";

const BASE_URL = "http://api.example";
const ids = new IdSource();
const customerId = ids.next() as CustomerId;
const ACME = { clientId: "acme", secret: "s3cret: 100% + more" };
const STAR = { clientId: "star", secret: "dGhlcmUgaXMgbm90aGluZyB0byBzZWUgaGVyZSBhdCA" };
const DISABLED = { clientId: "disabled", secret: "correct horse" };

const logged: string[] = [];
let testing: TestDatabase;
let clients: Clients;
let oauth: Oauth;
let authUrl = "";

beforeAll(async () => {
  testing = await testDatabase();
  const { database } = testing;
  const log = pino({ level: "trace" }, { write: (line: string) => void logged.push(line) });
  await testing.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [customerId]);
  clients = new Clients({ database, clock: systemClock, ids, onUnrecordedUse: () => undefined });
  const scopes = ["exchange:read_order", "funding:read_profile", "another:word"];
  await clients.create({ customerId, ...ACME, scopes }, TESTER);
  await clients.create({ customerId, ...STAR, scopes: ["*"] }, TESTER);
  await clients.create({ customerId, ...DISABLED, scopes: ["*"] }, TESTER);
  await clients.disable(DISABLED.clientId, TESTER);
  oauth = createOauth({
    database,
    clients,
    clock: systemClock,
    ids,
    signingKeys: { encryptionKeys: [], replacedAfterMs: 90 * 86_400_000 },
    authUrl: () => authUrl,
    baseUrl: () => BASE_URL,
    log,
  });
  await oauth.start();
  authUrl = await oauth.authServer.listen({ host: "127.0.0.1", port: 0 });
});

afterAll(async () => {
  await oauth.authServer.close();
  await oauth.stop();
  await testing.close();
});

const GRANT = { grant_type: "client_credentials" };
const IN_BODY = { ...GRANT, client_id: ACME.clientId, client_secret: ACME.secret };

type Fields = Record<string, string>;

function urlencoded(fields: Fields | [string, string][]): RequestInit {
  return { method: "POST", body: new URLSearchParams(fields) };
}

function multipart(fields: Fields | (readonly [string, string | Blob])[]): RequestInit {
  const body = new FormData();
  for (const [name, value] of Array.isArray(fields) ? fields : Object.entries(fields)) {
    if (typeof value === "string") body.append(name, value);
    else body.append(name, value, "file.txt");
  }
  return { method: "POST", body };
}

function basic(user: string, password: string, encode = encodeURIComponent): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${encode(user)}:${encode(password)}`).toString("base64")}` };
}

function withHeaders(request: RequestInit, headers: Fields): RequestInit {
  return { ...request, headers };
}

function raw(contentType: string, body: string): RequestInit {
  return { method: "POST", headers: { "content-type": contentType }, body: Buffer.from(body) };
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Record<string, unknown>;
}

async function send(request: RequestInit, path = "/oauth2/token"): Promise<Answer> {
  const response = await fetch(`${authUrl}${path}`, request);
  const { date, connection, "keep-alive": _, "content-length": __, ...headers } = Object.fromEntries(response.headers);
  const text = await response.text();
  return { status: response.status, headers, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

const HEADERS = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  pragma: "no-cache",
  "content-type": "application/json; charset=utf-8",
  "x-request-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
};
const CHALLENGE = { "www-authenticate": 'Basic realm="parbook", charset="UTF-8"' };

function rejection(status: number, error: string, description: string, headers: Fields = {}): Answer {
  return { status, headers: { ...HEADERS, ...headers }, body: { error, error_description: description } };
}

const invalid = (description: string): Answer => rejection(400, "invalid_request", description);
const unreadable = invalid("the request cannot be read");
const failed = rejection(401, "invalid_client", "client authentication failed");
const failedBasic = rejection(401, "invalid_client", "client authentication failed", CHALLENGE);
const inBoth = invalid("the client authenticates both in the header and in the body");
const unreadableBasic = rejection(401, "invalid_client", "the Authorization header cannot be read", CHALLENGE);
const notAForm = invalid("the body must be multipart/form-data or application/x-www-form-urlencoded");
const noForm = invalid("the form cannot be read");
const tooMuch = invalid("the form has too many or too long fields");
const inAddress = invalid("client credentials must be in the header or the body, not in the URL");

const asMultipart = (part: string): RequestInit =>
  raw(
    'multipart/form-data; charset=utf-8; boundary="b d"',
    `${Object.entries(IN_BODY)
      .map(([name, value]) => `--b d\r\n${part.replace("NAME", name)}\r\n\r\n${value}\r\n`)
      .join("")}--b d--\r\n`,
  );

test.each<[string, RequestInit]>([
  ["a multipart form", multipart(IN_BODY)],
  ["a url-encoded form", urlencoded(IN_BODY)],
  ["HTTP Basic with a url-encoded form", withHeaders(urlencoded(GRANT), basic(ACME.clientId, ACME.secret))],
  ["HTTP Basic with a multipart form", withHeaders(multipart(GRANT), basic(ACME.clientId, ACME.secret))],
  [
    "HTTP Basic and the same client_id in the body",
    withHeaders(urlencoded({ ...GRANT, client_id: "acme" }), basic(ACME.clientId, ACME.secret)),
  ],
  [
    "the scheme in lower case and spaces as plus signs",
    withHeaders(urlencoded(GRANT), {
      authorization: basic("acme", ACME.secret, (text) =>
        encodeURIComponent(text).replaceAll("%20", "+"),
      ).authorization.replace("Basic", "basic"),
    }),
  ],
  ["HTTP Basic without the encoding of forms", withHeaders(urlencoded(GRANT), basic("acme", ACME.secret, String))],
  [
    "HTTP Basic without the encoding of forms and the client_id in the body",
    withHeaders(urlencoded({ ...GRANT, client_id: "acme" }), basic("acme", ACME.secret, String)),
  ],
  ["an empty scope", urlencoded({ ...IN_BODY, scope: "" })],
  ["a scope of blanks", urlencoded({ ...IN_BODY, scope: "  " })],
  ["a parameter that nobody knows", urlencoded({ ...IN_BODY, audience: "somebody", resource: "" })],
  ["parts whose names are not quoted", asMultipart("Content-Disposition: form-data; name=NAME")],
  ["parts without a blank", asMultipart('Content-Disposition: form-data;name="NAME"')],
  [
    "parts with a type of their own",
    asMultipart('content-disposition: form-data; name="NAME"\r\nContent-Type: application/octet-stream'),
  ],
  [
    "a content type in capitals",
    raw("Application/X-WWW-Form-Urlencoded; charset=UTF-8", `${new URLSearchParams(IN_BODY)}`),
  ],
])("a token is issued for %s", async (_, request) => {
  expect(await send(request)).toEqual({
    status: 200,
    headers: HEADERS,
    body: {
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expires_in: 3599,
      scope: "exchange:read_order funding:read_profile",
      token_type: "bearer",
    },
  });
});

test.each<[string, typeof ACME, string | undefined, string]>([
  ["what it asks for", ACME, "funding:read_profile", "funding:read_profile"],
  [
    "what it asks for, in its order and once",
    ACME,
    "funding:read_profile  exchange:read_order funding:read_profile",
    "funding:read_profile exchange:read_order",
  ],
  ["a scope that a star stands for", STAR, "events:read_event", "events:read_event"],
  ["every scope, when it holds a star and asks for none", STAR, undefined, Object.keys(SCOPES).join(" ")],
])("a client is granted %s", async (_, { clientId, secret }, scope, expected) => {
  const fields = { ...GRANT, client_id: clientId, client_secret: secret, ...(scope === undefined ? {} : { scope }) };
  expect((await send(multipart(fields))).body).toMatchObject({ scope: expected });
});

test.each<[string, string, string]>([
  ["that it does not hold", "exchange:write_order", "the client does not hold the scope exchange:write_order"],
  ["beside one that it holds", "exchange:read_order a:b", "the client does not hold the scope a:b"],
  ["that is on its list and nobody knows", "another:word", "the client does not hold the scope another:word"],
  ["that is a star", "*", "the client does not hold the scope *"],
  ["that has a quote", 'a"b', "a scope is malformed"],
  ["that is very long", "a".repeat(101), "a scope is malformed"],
])("the whole request is rejected for a scope %s", async (_, scope, description) => {
  expect(await send(urlencoded({ ...IN_BODY, scope }))).toEqual(rejection(400, "invalid_scope", description));
});

test.each<[string, RequestInit, Answer]>([
  ["an unknown client", urlencoded({ ...IN_BODY, client_id: "nobody" }), failed],
  ["a wrong secret", urlencoded({ ...IN_BODY, client_secret: "wrong" }), failed],
  ["a wrong secret that looks generated", urlencoded({ ...IN_BODY, client_secret: STAR.secret }), failed],
  ["a disabled client", urlencoded({ ...GRANT, client_id: "disabled", client_secret: DISABLED.secret }), failed],
  ["a wrong secret by Basic", withHeaders(urlencoded(GRANT), basic("acme", "wrong")), failedBasic],
  ["an unknown client by Basic", withHeaders(urlencoded(GRANT), basic("nobody", "wrong")), failedBasic],
  [
    "no client_id",
    urlencoded({ ...GRANT, client_secret: "x" }),
    rejection(401, "invalid_client", "client_id is missing"),
  ],
  [
    "an empty client_id",
    urlencoded({ ...IN_BODY, client_id: "" }),
    rejection(401, "invalid_client", "client_id is missing"),
  ],
  [
    "no client_secret",
    urlencoded({ ...GRANT, client_id: "acme" }),
    rejection(401, "invalid_client", "client_secret is missing"),
  ],
  [
    "another scheme than Basic",
    withHeaders(urlencoded(GRANT), { authorization: "Bearer abc" }),
    rejection(401, "invalid_client", "the client must authenticate by HTTP Basic or in the body"),
  ],
  ["Basic that is not base64", withHeaders(urlencoded(GRANT), { authorization: "Basic ***" }), unreadableBasic],
  ["Basic without anything", withHeaders(urlencoded(GRANT), { authorization: "Basic" }), unreadableBasic],
  [
    "Basic longer than any credentials",
    withHeaders(urlencoded(GRANT), basic("%ff".repeat(1_000), "x", String)),
    unreadableBasic,
  ],
  ["Basic without a colon", withHeaders(urlencoded(GRANT), { authorization: "Basic YWNtZQ==" }), unreadableBasic],
  ["Basic without a secret", withHeaders(urlencoded(GRANT), basic("acme", "")), unreadableBasic],
  ["Basic with a broken escape", withHeaders(urlencoded(GRANT), basic("acme", "100%", String)), failedBasic],
  ["Basic with NUL", withHeaders(urlencoded(GRANT), basic("ac\0me", "x", String)), unreadableBasic],
  ["Basic with an encoded NUL", withHeaders(urlencoded(GRANT), basic("ac\0me", "x")), failedBasic],
  ["credentials in both places", withHeaders(urlencoded(IN_BODY), basic(ACME.clientId, ACME.secret)), inBoth],
  ["a secret in both places", withHeaders(urlencoded({ ...GRANT, client_secret: "x" }), basic("acme", "y")), inBoth],
  [
    "a client_id in the body that is another one",
    withHeaders(urlencoded({ ...GRANT, client_id: "star" }), basic(ACME.clientId, ACME.secret)),
    invalid("the client_id in the body differs from that in the header"),
  ],
  [
    "a client_id that is too long by Basic",
    withHeaders(urlencoded(GRANT), basic("a".repeat(101), "x")),
    invalid("client_id is longer than 100 characters"),
  ],
  [
    "a client_secret that is too long by Basic",
    withHeaders(urlencoded(GRANT), basic("acme", "x".repeat(257))),
    invalid("client_secret is longer than 256 characters"),
  ],
  ["no grant_type", urlencoded({ client_id: "acme" }), invalid("grant_type is missing")],
  ["an empty grant_type", urlencoded({ ...IN_BODY, grant_type: "" }), invalid("grant_type is missing")],
  [
    "another grant",
    urlencoded({ ...IN_BODY, grant_type: "password" }),
    rejection(400, "unsupported_grant_type", "grant_type must be client_credentials"),
  ],
  ["an empty form", urlencoded({}), invalid("grant_type is missing")],
  [
    "a repeated scope",
    urlencoded([...Object.entries(IN_BODY), ["scope", "a"], ["scope", "a"]]),
    invalid("scope occurs twice"),
  ],
  [
    "a repeated grant_type",
    urlencoded([...Object.entries(IN_BODY), ["grant_type", "client_credentials"]]),
    invalid("grant_type occurs twice"),
  ],
  [
    "a repeated client_id, the second one of another client",
    urlencoded([...Object.entries(IN_BODY), ["client_id", STAR.clientId]]),
    invalid("client_id occurs twice"),
  ],
  [
    "a repeated client_secret in multipart",
    multipart([...Object.entries(IN_BODY), ["client_secret", ""]]),
    invalid("client_secret occurs twice"),
  ],
  [
    "a repeated unknown parameter",
    urlencoded([...Object.entries(IN_BODY), ["x", "1"], ["x", "2"]]),
    invalid("a parameter occurs twice"),
  ],
  [
    "a client_id that is too long",
    urlencoded({ ...IN_BODY, client_id: "a".repeat(101) }),
    invalid("client_id is longer than 100 characters"),
  ],
  [
    "a client_secret that is too long",
    multipart({ ...IN_BODY, client_secret: "a".repeat(257) }),
    invalid("client_secret is longer than 256 characters"),
  ],
  [
    "a scope that is too long",
    multipart({ ...IN_BODY, scope: "a ".repeat(1_001) }),
    invalid("scope is longer than 2000 characters"),
  ],
  [
    "NUL in the client_id",
    urlencoded({ ...IN_BODY, client_id: "ac\0me" }),
    invalid("client_id contains characters other than printable ASCII"),
  ],
  [
    "NUL in multipart",
    multipart({ ...IN_BODY, scope: "\0" }),
    invalid("scope contains characters other than printable ASCII"),
  ],
  [
    "NUL in the client_secret",
    multipart({ ...IN_BODY, client_secret: `${ACME.secret}\0` }),
    invalid("client_secret contains characters other than printable ASCII"),
  ],
  [
    "NUL in the grant_type",
    urlencoded({ ...IN_BODY, grant_type: "client_credentials\0" }),
    invalid("grant_type contains characters other than printable ASCII"),
  ],
  [
    "a grant_type that is too long",
    urlencoded({ ...IN_BODY, grant_type: "g".repeat(101) }),
    invalid("grant_type is longer than 100 characters"),
  ],
  [
    "a secret beyond ASCII",
    urlencoded({ ...IN_BODY, client_secret: "naïve" }),
    invalid("client_secret contains characters other than printable ASCII"),
  ],
  ["a file", multipart([...Object.entries(IN_BODY), ["scope", new Blob(["x"])]]), invalid("the form contains a file")],
  [
    "a file before the fields",
    multipart([["a", new Blob(["x"])], ...Object.entries(IN_BODY)]),
    invalid("the form contains a file"),
  ],
  ["too many fields in an address", urlencoded(Array.from({ length: 21 }, (_, i) => [`f${i}`, ""])), tooMuch],
  ["too many fields", multipart(Array.from({ length: 21 }, (_, i) => [`f${i}`, ""] as const)), tooMuch],
  ["a very long field that nobody knows", multipart({ ...IN_BODY, x: "x".repeat(5_000) }), tooMuch],
  [
    "a body that is too long",
    urlencoded({ ...IN_BODY, x: "x".repeat(20_000) }),
    invalid("the body has more than 16384 bytes"),
  ],
  ["a JSON body", raw("application/json", JSON.stringify(IN_BODY)), notAForm],
  ["a content type that goes on", raw("multipart/form-data-too", ""), notAForm],
  ["a content type that is none", raw("form", "a=b"), unreadable],
  ["no body", { method: "POST" }, notAForm],
  ["multipart without a boundary", raw("multipart/form-data", "x"), noForm],
  [
    "multipart that is cut off",
    raw("multipart/form-data; boundary=b", '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx'),
    noForm,
  ],
  ["multipart without a body", raw("multipart/form-data; boundary=b", ""), noForm],
])("%s is rejected", async (_, request, expected) => {
  expect(await send(request)).toEqual(expected);
});

test.each([
  ["client_secret", `client_secret=${encodeURIComponent(ACME.secret)}`],
  ["client_id", "a=b&client_id=acme"],
])("a %s in the URL is rejected, also beside valid credentials", async (_, query) => {
  expect(await send(urlencoded(IN_BODY), `/oauth2/token?${query}`)).toEqual(inAddress);
});

test("past the bound of expensive comparisons the endpoint sends Retry-After, and still serves generated secrets", async () => {
  const guesses = Array.from({ length: 24 }, (_, i) => send(urlencoded({ ...IN_BODY, client_secret: `guess ${i}` })));
  const served = await send(urlencoded({ ...GRANT, client_id: STAR.clientId, client_secret: STAR.secret }));
  expect(served.status).toBe(200);
  const busy = (await Promise.all(guesses)).filter(({ status }) => status !== 401);
  expect(busy.length).toBeGreaterThan(0);
  const waits = { "retry-after": "1" };
  const expected = rejection(503, "temporarily_unavailable", "too many clients are being authenticated", waits);
  expect(busy).toEqual(busy.map(() => expected));
}, 120_000);

test("neither secrets nor tokens nor keys are ever logged", async () => {
  const { body } = await send(urlencoded(IN_BODY));
  const [key] = await testing.database.rows<{ d: string }>("select private_jwk->>'d' as d from signing_key");
  const everything = logged.join("");
  expect(everything).toContain("token issued");
  expect(everything).toContain("token request rejected");
  for (const secret of [ACME.secret, encodeURIComponent(ACME.secret), STAR.secret, DISABLED.secret, "guess", key?.d]) {
    expect(everything).not.toContain(secret);
  }
  expect(everything).not.toContain(body.access_token);
  expect(everything).not.toContain(basic(ACME.clientId, ACME.secret).authorization.slice(6, 20));
});
