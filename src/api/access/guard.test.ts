import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { arrive } from "../../../test/support/http/bounded-server.ts";
import { ask, GRANT, problem, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import type { AccessDenial } from "../../oauth/access-denials/access-denial.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { boundConnections } from "../../web/connections/connections.ts";

let toy: ToyApi;
const verified: string[] = [];
const rejected: AccessDenial[] = [];
beforeAll(async () => {
  const verify = async (token: string) => {
    verified.push(token);
    if (token === "restricted") return { restricted: GRANT };
    return token === "good" ? GRANT : undefined;
  };
  toy = await startToyApi(
    (api) => {
      api.get("/asks-who-calls", { config: { scope: "public" }, schema: { hide: true } }, async (request) => ({
        clientId: request.grant.clientId,
      }));
    },
    { verify, onDenied: (rejection) => rejected.push(rejection) },
  );
});
afterAll(() => toy.close());

test("without a token the challenge names no error (RFC 6750, section 3.1)", async () => {
  const expected = problem(401, "Unauthorized", "the access token is missing: send Authorization: Bearer <token>", {
    headers: { "www-authenticate": 'Bearer realm="parbook"' },
  });
  expect(await ask(toy, "/v2/toys", { token: null })).toEqual(expected);
  expect(await ask(toy, "/v2/toys", { token: null, headers: { authorization: "Basic YTpi" } })).toEqual(expected);
  expect(await ask(toy, "/v2/toys", { token: null, headers: { authorization: "Bearer" } })).toEqual(expected);
});

test("a token that is not valid is an invalid_token", async () => {
  const detail = "the access token is malformed, expired, revoked or not valid from this address";
  const expected = problem(401, "Unauthorized", detail, {
    headers: { "www-authenticate": `Bearer realm="parbook", error="invalid_token", error_description="${detail}"` },
  });
  expect(await ask(toy, "/v2/toys", { token: "bad" })).toEqual(expected);
  expect(await ask(toy, "/v2/toys", { token: "x".repeat(8_193) })).toEqual(expected);
});

test("a valid token from a forbidden address is rejected as an invalid one, and named in the access denials and the log", async () => {
  const bad = await ask(toy, "/v2/toys", { token: "bad" });
  rejected.length = 0;
  expect(await ask(toy, "/v2/toys", { token: "restricted" })).toEqual(bad);
  const { clientId, tokenId } = GRANT;
  const address = "127.0.0.1";
  expect(rejected).toEqual([{ kind: "invalid_token", operation: "GET /v2/toys", address, clientId, tokenId }]);
  expect(toy.logged.at(-1)).toMatchObject({
    level: 30,
    client_id: clientId,
    token_id: tokenId,
    address,
    msg: "token rejected: its client is disabled, or may not call from this address",
    request_id: "r-1",
  });
});

test("behind a trusted proxy the caller's address is the one that it forwards, wherever it is checked or recorded", async () => {
  const address = "203.0.113.9";
  const [asked, denials]: [string[], AccessDenial[]] = [[], []];
  const proxied = await startToyApi(
    (api) =>
      api.post(
        "/who",
        { config: { scope: "transfer:read_transfer" }, schema: { hide: true } },
        async ({ caller }) => caller,
      ),
    {
      trustedProxies: [parseNetwork("127.0.0.0/8") as Network],
      onDenied: (denial) => denials.push(denial),
      verify: async (token, from) => {
        asked.push(from);
        return token === "good" ? GRANT : undefined;
      },
    },
  );
  onTestFinished(() => proxied.close());
  const sent = { method: "POST", headers: { "x-forwarded-for": address } };
  const { clientId: client, tokenId: token } = GRANT;
  expect((await ask(proxied, "/who", sent)).body).toEqual({ client, token, address, operation: "POST /who" });
  expect((await ask(proxied, "/who", { ...sent, token: "bad" })).status).toBe(401);
  expect(asked).toEqual([address, address]);
  expect(denials).toEqual([{ kind: "invalid_token", address, operation: "POST /who" }]);
});

test("the name of the scheme may be written in any case", async () => {
  expect((await ask(toy, "/v2/toys", { token: null, headers: { authorization: "bEARER good" } })).status).toBe(200);
});

test("a token without the scope is rejected with the scopes it has and the one it needs", async () => {
  const granted = ["transfer:read_transfer", "transfer:write_internal_transfer"];
  const detail = `insufficient scopes: found '${granted.join(" ")}', required one of '[funding:write_profile]'`;
  expect(await ask(toy, "/v2/toys", { method: "PUT" })).toEqual(
    problem(403, "Forbidden", detail, {
      meta: { required: ["funding:write_profile"], granted },
      headers: {
        "www-authenticate":
          'Bearer realm="parbook", error="insufficient_scope", error_description="the access token does not grant the scope", scope="funding:write_profile"',
      },
    }),
  );
});

test("one of several scopes is enough", async () => {
  expect((await ask(toy, "/v2/toys")).status).toBe(200);
});

test("the token is checked once, for GET and for HEAD, before body and shape", async () => {
  verified.length = 0;
  await ask(toy, "/v2/toys");
  await ask(toy, "/v2/toys", { method: "HEAD" });
  expect(verified).toEqual(["good", "good"]);
  const rejected = { method: "POST", token: "bad", headers: { "content-type": "text/plain" } };
  expect((await ask(toy, "/v2/toys/not-a-uuid", rejected)).status).toBe(401);
  expect((await ask(toy, "/v2/toys", { method: "PUT", json: "{" })).status).toBe(403);
});

test("reading the caller on a public route is a bug", async () => {
  expect((await ask(toy, "/asks-who-calls")).status).toBe(500);
});

test("the query of a request without a token is not parsed", async () => {
  const queries: unknown[] = [];
  const strict = await startToyApi(() => {}, {
    observe: (api) =>
      api.addHook("onResponse", (request, _reply, done) => {
        queries.push(request.query);
        done();
      }),
  });
  onTestFinished(() => strict.close());
  expect((await ask(strict, "/v2/toys?nickname=a&nickname=b", { token: null })).status).toBe(401);
  expect((await ask(strict, "/v2/toys?nickname=a%20b")).status).toBe(200);
  expect(queries).toEqual([{ text: "nickname=a&nickname=b" }, { limit: 100, nickname: "a b", order: "DESC" }]);
});

test("without room for connections one on which a valid token was used stays, and one with an invalid token does not", async () => {
  const bounds = { most: 40, isShared: () => false, onDropped: () => undefined };
  const bounded = await startToyApi((api) => boundConnections(api.server, bounds));
  onTestFinished(() => bounded.close());
  const { hostname, port } = new URL(bounded.url);
  const used = async (token: string): Promise<Socket> => {
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write(`GET /v2/toys HTTP/1.1\r\nHost: toy\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await once(socket, "data");
    return socket;
  };
  const [valid, invalid] = [await used("good"), await used("bad")];
  for (let at = 0; at < 60; at += 1) arrive(bounded.api.server, `203.0.113.${at}`);
  await until("a connection has ended", () => valid.closed || invalid.closed);
  expect([valid.closed, invalid.closed]).toEqual([false, true]);
});
