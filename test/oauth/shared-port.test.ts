/** The token endpoint on the API's port: the same endpoint, with the same bounds, behind a second door. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Api } from "../../src/api/server.ts";
import { must } from "../../src/std/assert.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
/** How long a token request is let wait for its body. It is sent first, and waits while the other tests run. */
let waited: Promise<number>;
beforeAll(async () => {
  service = await startTestService();
  waited = untilEnded(service);
});
afterAll(() => service.close());

async function untilEnded({ baseUrl }: TestService): Promise<number> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const head = "POST /oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n";
  socket.write(`${head}Content-Length: 100\r\n\r\ngrant_type=`);
  socket.resume();
  const began = performance.now();
  await once(socket, "close");
  return performance.now() - began;
}

const form = (fields: Readonly<Record<string, string>>) => ({
  method: "POST",
  body: new URLSearchParams({ grant_type: "client_credentials", ...fields }),
});

const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());

test("both ports issue the same tokens, with the issuer and audience of the settings", async () => {
  const { baseUrl, authUrl, customer } = service;
  const { clientId, secret } = await customer();
  const credentials = form({ client_id: clientId, client_secret: secret, scope: "funding:read_profile" });
  for (const url of [baseUrl, authUrl]) {
    const answer = await fetch(`${url}/oauth2/token`, credentials);
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const body = (await answer.json()) as { access_token: string };
    expect(body).toMatchObject({ expires_in: 3599, scope: "funding:read_profile", token_type: "bearer" });
    expect(claimsOf(body.access_token)).toMatchObject({ iss: authUrl, aud: baseUrl, client_id: clientId });
    expect((await service.call("GET", "/v2/profiles", { as: body.access_token })).status).toBe(200);
  }
});

test("errors are those of the auth port, in the form of RFC 6749, and rejections leave the same trace", async () => {
  const { baseUrl, authUrl, customer } = service;
  const { clientId } = await customer();
  const wrong = form({ client_id: clientId, client_secret: "wrong" });
  const requests: [string, RequestInit][] = [
    ["/oauth2/token", wrong],
    ["/oauth2/token?client_secret=x", wrong],
    ["/oauth2/token", { method: "POST", body: "x".repeat(20_000) }],
    ["/oauth2/token", { method: "GET" }],
    ["/oauth2/token", form({ client_id: "nobody", client_secret: "x", scope: "*" })],
  ];
  const statuses: number[] = [];
  for (const [path, request] of requests) {
    const answerOf = async (url: string) => {
      const answer = await fetch(url + path, request);
      const { "x-request-id": _, date: __, ...headers } = Object.fromEntries(answer.headers);
      return { status: answer.status, headers, body: await answer.json() };
    };
    const expected = await answerOf(authUrl);
    expect(await answerOf(baseUrl)).toEqual(expected);
    statuses.push(expected.status);
  }
  expect(statuses).toEqual([401, 400, 400, 405, 401]);
});

test("both ports share the rate of an address, so the second one allows no more guesses", async () => {
  const rateLimits = { token: 0.01, order_book: 10, recent_executions: 10, rest: 50 };
  const limited = await startTestService({ rateLimits });
  onTestFinished(() => limited.close());
  const { baseUrl, authUrl } = limited;
  const guess = form({ client_id: "nobody", client_secret: "x" });
  const received: number[] = [];
  for (const url of [baseUrl, authUrl, baseUrl, authUrl, baseUrl])
    received.push((await fetch(`${url}/oauth2/token`, guess)).status);
  expect(received).toEqual([401, 401, 401, 429, 429]);
});

test("only the token route is there twice, unless both addresses are one", async () => {
  const documents = ["/.well-known/jwks.json", "/.well-known/oauth-authorization-server"];
  for (const path of [...documents, "/oauth2/token/", "//oauth2/token", "/oauth2"]) {
    expect([path, (await fetch(service.baseUrl + path)).status]).toEqual([path, 404]);
  }
  const one = "https://one.example.com";
  let api: Api | undefined;
  const behindOne = await startTestService({ baseUrl: one, authUrl: one }, undefined, (made) => {
    api = made;
  });
  onTestFinished(() => behindOne.close());
  const { port } = must(api, "routes are added").server.address() as { port: number };
  for (const path of [...documents, "/.well-known/openid-configuration"]) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    expect([path, answer.status]).toEqual([path, 200]);
  }
});

test("a node without the role auth does not issue tokens on the API's port", async () => {
  const node = await service.another({ roles: new Set(["api"]) });
  expect((await fetch(`${node.baseUrl}/oauth2/token`, form({}))).status).toBe(404);
  const document = (await (await fetch(`${node.baseUrl}/openapi.json`)).json()) as Document;
  expect(tokenUrlOf(document)).toBe(`${service.authUrl}/oauth2/token`);
});

test("the document names the token endpoint on the API's address, where one origin is enough", async () => {
  const document = (await service.call("GET", "/openapi.json")).body as Document;
  expect(tokenUrlOf(document)).toBe(`${service.baseUrl}/oauth2/token`);
  expect(document.paths["/oauth2/token"]?.post).not.toHaveProperty("servers");
});

interface Document {
  readonly paths: Readonly<Record<string, { readonly post: object }>>;
  readonly components: {
    readonly securitySchemes: { readonly oauth2: { readonly flows: { clientCredentials: { tokenUrl: string } } } };
  };
}

const tokenUrlOf = ({ components }: Document): string =>
  components.securitySchemes.oauth2.flows.clientCredentials.tokenUrl;

test("a token request whose body does not arrive is ended after 10 s, as on the auth port", async () => {
  expect(await waited).toBeGreaterThan(9_000);
  expect(await waited).toBeLessThan(15_000);
});
