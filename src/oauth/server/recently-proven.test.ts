import { request } from "node:http";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AuthenticationRejection, Clients } from "../../customers/clients/clients.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { must } from "../../std/assert.ts";
import { IdSource } from "../../std/id.ts";
import { parseNetwork } from "../../std/network.ts";
import { done, reject } from "../../std/result.ts";
import { RateLimiter } from "../../web/limits/rate-limiter.ts";
import { DEFAULT_RATES } from "../../web/limits/rates.ts";
import { SCOPES } from "../scopes.ts";
import { createAuthServer } from "./auth-server.ts";
import { ProvenSecrets } from "./recently-proven.ts";

const ids = new IdSource();
const GENERATED = "g".repeat(43);
const ROTATED = "r".repeat(43);
const CHOSEN = "correct horse battery staple";
const valid = new Set([GENERATED, ROTATED, CHOSEN]);
const LONGEST_ID = "/".repeat(100);
const PLUS_ID = "acme+eu";
let verified = 0;

class ToyClients implements Pick<Clients, "authenticate"> {
  readonly #customerId = ids.next() as CustomerId;

  async authenticate(clientId: string, secret: string) {
    verified += 1;
    if (!valid.has(secret) || !["acme", LONGEST_ID, PLUS_ID].includes(clientId))
      return reject("client_authentication_failed");
    return done({ clientId, customerId: this.#customerId, scopes: ["*"] });
  }
}

/** Three requests at once of each bucket, and none after that. */
const server = createAuthServer({
  authUrl: () => "http://auth.test",
  keys: { published: () => [] },
  clients: new ToyClients(),
  tokens: { issue: async () => ({ accessToken: "a token", tokenId: ids.next() }) },
  ids,
  log: pino({ level: "silent" }),
  limiter: new RateLimiter({ ...DEFAULT_RATES, token: 0.01 }, { now: () => 0 }),
  trustedProxies: [must(parseNetwork("127.0.0.0/8"), "a network")],
});
let url = "";
beforeAll(async () => {
  url = `${await server.listen({ host: "127.0.0.1", port: 0 })}/oauth2/token`;
});
afterAll(() => server.close());

const formOf = (secret: string, more = {}): URLSearchParams =>
  new URLSearchParams({ grant_type: "client_credentials", client_id: "acme", client_secret: secret, ...more });

async function ask(address: string, request: RequestInit): Promise<number> {
  const headers = { ...request.headers, "x-forwarded-for": address };
  return (await fetch(url, { ...request, headers })).status;
}

const post = (address: string, body: URLSearchParams): Promise<number> => ask(address, { method: "POST", body });

/** A neighbour at the same address, without credentials. */
async function exhaust(address: string): Promise<void> {
  let status = 405;
  while (status === 405) status = await ask(address, { method: "GET" });
  expect(status).toBe(429);
}

test("a client with a valid generated secret has a rate of its own when another caller uses up the address's", async () => {
  expect(await post("203.0.113.1", formOf(GENERATED))).toBe(200);
  await exhaust("203.0.113.1");
  const authorization = `Basic ${Buffer.from(`acme:${GENERATED}`).toString("base64")}`;
  const basic = {
    method: "POST",
    body: new URLSearchParams({ grant_type: "client_credentials" }),
    headers: { authorization },
  };
  expect([
    await post("203.0.113.1", formOf(GENERATED)),
    await ask("203.0.113.1", basic),
    await post("203.0.113.1", formOf(GENERATED, { scope: Object.keys(SCOPES).join(" ") })),
    await post("203.0.113.1", formOf(GENERATED)),
  ]).toEqual([200, 200, 200, 429]);

  // Its rate is one for each address, and nobody else's.
  await exhaust("203.0.113.2");
  expect(await post("203.0.113.2", formOf(GENERATED))).toBe(200);
});

test("past the rate of the address a form with the longest id, a generated secret and all scopes is read", async () => {
  expect(await post("203.0.113.5", formOf(GENERATED, { client_id: LONGEST_ID }))).toBe(200);
  await exhaust("203.0.113.5");
  const scope = Object.keys(SCOPES).join(" ");
  expect(await post("203.0.113.5", formOf(GENERATED, { client_id: LONGEST_ID, scope }))).toBe(200);
});

test("a client whose id has a plus sign has that rate too, whether it sends the id encoded in the header or not", async () => {
  const basic = (clientId: string) => ({
    method: "POST",
    body: new URLSearchParams({ grant_type: "client_credentials" }),
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${GENERATED}`).toString("base64")}` },
  });
  expect(await ask("203.0.113.6", basic(PLUS_ID))).toBe(200);
  await exhaust("203.0.113.6");
  expect([
    await ask("203.0.113.6", basic(PLUS_ID)),
    await ask("203.0.113.6", basic(encodeURIComponent(PLUS_ID))),
  ]).toEqual([200, 200]);
});

/** A request that says that it has a body, and sends none of it. */
function withoutItsBody(address: string, type: string, length: number): Promise<number | undefined> {
  const headers = { "x-forwarded-for": address, "content-type": type, "content-length": length };
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: "POST", headers, agent: false }, ({ statusCode }) => {
      resolve(statusCode);
      asked.destroy();
    });
    asked.on("error", reject).flushHeaders();
  });
}

test("past the rate of the address multipart and long forms are rejected unread", async () => {
  await exhaust("203.0.113.4");
  const urlEncoded = "application/x-www-form-urlencoded";
  expect(await withoutItsBody("203.0.113.4", "multipart/form-data; boundary=b", 45)).toBe(429);
  expect(await withoutItsBody("203.0.113.4", urlEncoded, 1_281)).toBe(429);
  expect(await withoutItsBody("203.0.113.4", `${urlEncoded}-too`, 45)).toBe(429);
});

test("past the rate of the address nothing else is verified: wrong, chosen and invalidated secrets, long forms", async () => {
  expect(await post("203.0.113.3", formOf(CHOSEN))).toBe(200);
  expect(await post("203.0.113.3", formOf(ROTATED))).toBe(200);
  await exhaust("203.0.113.3");
  valid.delete(ROTATED);
  // Verified once more, and forgotten.
  expect(await post("203.0.113.3", formOf(ROTATED))).toBe(401);
  verified = 0;
  const wrong = new URLSearchParams({ grant_type: "client_credentials", client_id: "other", client_secret: GENERATED });
  expect([
    await post("203.0.113.3", formOf("x".repeat(43))),
    await post("203.0.113.3", formOf(CHOSEN)),
    await post("203.0.113.3", formOf(ROTATED)),
    await post("203.0.113.3", formOf(GENERATED, { scope: "s".repeat(2_000) })),
    await post("203.0.113.3", wrong),
    verified,
  ]).toEqual([429, 429, 429, 429, 429, 0]);
});

test("a secret stays known that is shown from where its client may not call: a thief takes no rate from its owner", async () => {
  let why: AuthenticationRejection | undefined;
  const own = new ToyClients();
  const proven = new ProvenSecrets();
  const clients = proven.observing({
    authenticate: (clientId, secret) =>
      why === undefined ? own.authenticate(clientId, secret) : Promise.resolve(reject(why)),
  });
  const known = async (outcome?: AuthenticationRejection): Promise<boolean> => {
    why = outcome;
    await clients.authenticate("acme", GENERATED, "203.0.113.7");
    return proven.has("acme", GENERATED);
  };
  expect([await known(), await known("address_not_allowed"), await known("too_many_authentications")]).toEqual([
    ...[true, true, true],
  ]);
  expect(await known("client_authentication_failed")).toBe(false);
});
