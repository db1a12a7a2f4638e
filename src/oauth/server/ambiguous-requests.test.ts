/** Requests on auth_url that cannot be read, as bytes: none of them hides a request for a token. */

import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { sendRaw, statusesIn } from "../../../test/support/http/raw-connection.ts";
import type { Clients } from "../../customers/clients/clients.ts";
import { IdSource } from "../../std/id.ts";
import { reject } from "../../std/result.ts";
import { createAuthServer } from "./auth-server.ts";

const authenticate = vi.fn<Clients["authenticate"]>(async () => reject("client_authentication_failed"));
let authUrl = "";
const server = createAuthServer({
  authUrl: () => authUrl,
  keys: { published: () => [] },
  clients: { authenticate },
  tokens: { issue: () => Promise.reject(new Error("nobody is issued a token here")) },
  ids: new IdSource(),
  log: pino({ level: "silent" }),
});
beforeAll(async () => {
  authUrl = await server.listen({ host: "127.0.0.1", port: 0 });
});
beforeEach(() => authenticate.mockClear());
afterAll(() => server.close());

const FORM = "grant_type=client_credentials&client_id=acme&client_secret=something";
const SOUND = ["Host: auth.example", "X-Request-Id: r-1", "Content-Type: application/x-www-form-urlencoded"];
const bytes = (...lines: string[]): string => [...lines, "", ""].join("\r\n");
const token = (...headers: string[]): string => bytes("POST /oauth2/token HTTP/1.1", ...headers);
const many = (count: number): string[] => new Array<string>(count).fill("M: b");
const SOUND_REQUEST = token(...SOUND, `Content-Length: ${FORM.length}`, "Connection: close") + FORM;

test("a request that can be read asks for a token", async () => {
  expect(statusesIn(await sendRaw(authUrl, SOUND_REQUEST))).toEqual([401]);
  expect(authenticate).toHaveBeenCalledOnce();
});

test.each([
  [431, "there are more than 100 headers", token(...SOUND, ...many(98))],
  [
    501,
    "the only transfer coding that is known here is chunked",
    `${token(...SOUND, "Transfer-Encoding: gzip, chunked")}2\r\n{}\r\n0\r\n\r\n`,
  ],
  [400, "the header host is missing", token(...SOUND.slice(1))],
  [400, "the header host is empty", token("Host:", ...SOUND.slice(1))],
  [400, "the header host is not a host name or address with an optional port", token("Host: a b", ...SOUND.slice(1))],
  [400, "the header host occurs more than once", token("Host: auth.example", ...SOUND)],
  [
    400,
    "the header content-type has more than 256 characters",
    token(...SOUND.slice(0, 2), `Content-Type: multipart/form-data; boundary=x${";a*=utf-8''%ff".repeat(20)}`),
  ],
  [
    400,
    "a request of HTTP/1.0 has no transfer coding",
    `${token(...SOUND, "Connection: keep-alive", "Transfer-Encoding: chunked").replace("1.1", "1.0")}0\r\n\r\n`,
  ],
  [
    400,
    "the versions of HTTP that are known here are 1.0 and 1.1",
    token(...SOUND, "Connection: keep-alive").replace("HTTP/1.1", "HTTP/2.0"),
  ],
])("an unreadable request is %i, and nothing behind it is processed", async (status, description, unreadable) => {
  const received = await sendRaw(authUrl, unreadable + SOUND_REQUEST, SOUND_REQUEST);
  expect(statusesIn(received)).toEqual([status]);
  const [head = "", body = ""] = received.split("\r\n\r\n");
  expect(head).toContain("\r\nx-request-id: r-1\r\n");
  expect(head).toContain("\r\nconnection: close\r\n");
  expect(JSON.parse(body)).toEqual({ error: "invalid_request", error_description: description });
  expect(authenticate).not.toHaveBeenCalled();
});

test.each(["latin1", "utf-16le", "utf-8; charset=latin1", '"iso-8859-1"'])(
  "a form that is said to be in the charset %s is not read",
  async (charset) => {
    const headers = [...SOUND.slice(0, 2), `Content-Type: application/x-www-form-urlencoded; charset=${charset}`];
    const received = await sendRaw(
      authUrl,
      token(...headers, `Content-Length: ${FORM.length}`, "Connection: close") + FORM,
    );
    expect(statusesIn(received)).toEqual([400]);
    expect(JSON.parse(received.split("\r\n\r\n")[1] ?? "")).toEqual({
      error: "invalid_request",
      error_description: "the content type names a charset other than UTF-8",
    });
    expect(authenticate).not.toHaveBeenCalled();
  },
);

test("a form is asked for only where it will be read", async () => {
  const expecting = (path: string, length: number) =>
    bytes(`POST ${path} HTTP/1.1`, ...SOUND, `Content-Length: ${length}`, "Expect: 100-continue");
  const received = await Promise.all([
    sendRaw(authUrl, expecting("/oauth2/token", 16_385), 1, SOUND_REQUEST),
    sendRaw(authUrl, expecting("/nowhere", FORM.length), 1, SOUND_REQUEST),
  ]);
  expect(received.map(statusesIn)).toEqual([[400], [404]]);
  expect(authenticate).not.toHaveBeenCalled();
  const read = await sendRaw(authUrl, expecting("/oauth2/token", FORM.length), 1, FORM + SOUND_REQUEST);
  expect(statusesIn(read)).toEqual([100, 401, 401]);
  expect(statusesIn(await sendRaw(authUrl, expecting("/oauth2/token", 0), 1, SOUND_REQUEST))).toEqual([100, 400, 401]);
});

test("1,100 headers are 431 in our words or in Node's, and nothing behind them is carried out", async () => {
  const received = await sendRaw(authUrl, token(...SOUND, ...many(1_100)) + SOUND_REQUEST, SOUND_REQUEST);
  expect(statusesIn(received)).toEqual([431]);
  const [head = "", body = ""] = received.split("\r\n\r\n");
  expect(head.toLowerCase()).toContain("\r\nconnection: close");
  // From Node 22 on it counts for itself, and rejects past a thousand before there is a request.
  const byNode = "the headers are too many, or too long together with the request line";
  expect(JSON.parse(body)).toEqual({
    error: "invalid_request",
    error_description: expect.toBeOneOf(["there are more than 100 headers", byNode]),
  });
  expect(authenticate).not.toHaveBeenCalled();
});

test("bytes behind an upgrade offer are not processed, however they are cut into packets", async () => {
  const health = ["GET /healthz HTTP/1.1", "Host: a"];
  const offer = bytes(...health, "Connection: Upgrade", "Upgrade: h2c");
  const carrier = bytes(...health, `Content-Length: ${SOUND_REQUEST.length}`);
  const received = await Promise.all([
    sendRaw(authUrl, offer + SOUND_REQUEST),
    sendRaw(authUrl, offer + carrier, SOUND_REQUEST),
  ]);
  expect(received.map(statusesIn)).toEqual([[200], [200]]);
  expect(authenticate).not.toHaveBeenCalled();
});

test("bytes behind a request that closes its connection are not read, and the request is answered once", async () => {
  expect(statusesIn(await sendRaw(authUrl, SOUND_REQUEST + SOUND_REQUEST, SOUND_REQUEST))).toEqual([401]);
  expect(authenticate).toHaveBeenCalledOnce();
});

test("more than 100 trailers are rejected, and no secret behind them is verified", async () => {
  const chunked = token(...SOUND, "Transfer-Encoding: chunked", "Connection: close");
  const ask = (count: number) =>
    sendRaw(authUrl, `${chunked}${FORM.length.toString(16)}\r\n${FORM}\r\n0\r\n${bytes(...many(count))}`);
  const received = await ask(101);
  expect(statusesIn(received)).toEqual([400]);
  expect(received).toContain("there are more than 100 headers");
  expect(authenticate).not.toHaveBeenCalled();
  expect(statusesIn(await ask(100))).toEqual([401]);
});
