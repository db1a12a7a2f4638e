import { request } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sendRaw, statusesIn } from "../../../test/support/http/raw-connection.ts";
import { ask, problem, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";

let toy: ToyApi;
beforeAll(async () => {
  toy = await startToyApi();
});
afterAll(() => toy.close());

const TOY = { to_profile_id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00", amount: "1", asset: "USD" };

/** Sends headers in pairs, so that one can be there twice, and answers status and body. */
function send(headers: readonly string[]): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const asking = request(`${toy.url}/v2/toys`, { headers: headers as string[] }, (answer) => {
      let body = "";
      answer.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      answer.on("end", () => resolve({ status: answer.statusCode, body }));
    });
    asking.on("error", reject);
    asking.end();
  });
}

test("a header that could mean two things when it occurs twice is 400", async () => {
  const sound = ["Host", "a", "Authorization", "Bearer good", "X-Request-Id", "r-1"];
  expect((await send(sound)).status).toBe(200);
  for (const [name, value] of [
    ["host", "b"],
    ["authorization", "Bearer other"],
    ["content-type", "application/json"],
  ] as const) {
    const more = name === "content-type" ? [name, value, name, value] : [name, value];
    const { status, body } = await send([...sound, ...more]);
    expect([status, JSON.parse(body)]).toEqual([
      400,
      problem(400, "Bad Request", `the header ${name} occurs more than once`).body,
    ]);
  }
});

const GET = "GET /v2/toys HTTP/1.1";
const POST = "POST /v2/toys/default HTTP/1.1";
const SOUND = ["Host: toy", "Authorization: Bearer good", "X-Request-Id: r-1"];
const bytes = (...lines: string[]): string => [...lines, "", ""].join("\r\n");
const many = (count: number): string[] => new Array<string>(count).fill("M: b");

/** The one answer to what is sent, after which the connection is closed. */
async function rejection(...parts: string[]) {
  const received = await sendRaw(toy.url, ...parts);
  expect(statusesIn(received)).toHaveLength(1);
  const [head = "", body = ""] = received.split("\r\n\r\n");
  expect(head.toLowerCase()).toContain("\r\nconnection: close");
  return { head, body: JSON.parse(body) };
}

test("more than a hundred headers are 431, and nothing behind them is read, whatever they are", async () => {
  const hundred = [...SOUND, ...many(96), "Connection: close"];
  expect(statusesIn(await sendRaw(toy.url, bytes(GET, ...hundred)))).toEqual([200]);
  const expected = problem(431, "Request Header Fields Too Large", "there are more than 100 headers").body;
  const hidden = bytes(GET, ...SOUND);
  // From Node 22 on it counts for itself, and rejects past a thousand before there is a request that could have an id.
  const byNode = {
    ...(expected as object),
    detail: "the headers are too many, or too long together with the request line",
    request_id: expect.any(String),
  };
  for (const more of [
    [...many(1_000), "Authorization: Bearer other"],
    [...many(1_000), "X-Forwarded-For: 203.0.113.9"],
    ["Connection: Upgrade", "Upgrade: h2c", ...many(1_100), `Content-Length: ${hidden.length}`],
    ["Connection: Upgrade", "Upgrade: websocket", ...many(1_100), "Transfer-Encoding: chunked"],
    [...many(1_100), "Connection: Upgrade", "Upgrade: h2c"],
  ]) {
    expect((await rejection(bytes(GET, ...hundred, ...more) + hidden, hidden)).body).toBeOneOf([expected, byNode]);
  }
  expect((await rejection(bytes(GET, ...hundred, "M: b") + hidden, hidden)).body).toEqual(expected);
  const feed = "GET /marketdata/BTCUSD HTTP/1.1";
  expect((await rejection(bytes(feed, ...hundred, "M: b"))).body).toEqual(expected);
  expect((await rejection(bytes("GET /nowhere HTTP/1.1", ...hundred, "M: b"))).body).toEqual(expected);
});

test("more than a hundred trailers are 431", async () => {
  const body = JSON.stringify(TOY);
  const head = bytes(POST, ...SOUND, "Content-Type: application/json", "Transfer-Encoding: chunked");
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
  const received = await Promise.all(
    [100, 101, 1_100].map((count) => sendRaw(toy.url, head + chunk + bytes("0", ...many(count)), 1, "bytes\r\n\r\n")),
  );
  expect(received.map((each) => statusesIn(each)[0])).toEqual([200, 431, 431]);
});

test("a transfer coding that is not chunked alone is 501, and nothing behind it is read", async () => {
  const expected = problem(501, "Not Implemented", "the only transfer coding that is known here is chunked").body;
  const hidden = bytes(GET, ...SOUND);
  for (const coding of ["gzip, chunked", "identity, chunked", "x, chunked", ",chunked"]) {
    const request = bytes(POST, ...SOUND, "Content-Type: application/json", `Transfer-Encoding: ${coding}`);
    const received = await rejection(`${request}2\r\n{}\r\n0\r\n\r\n${hidden}`, hidden);
    expect(received.body, coding).toEqual(expected);
  }
  // RFC 9112, section 6.3: where the end of the body is in doubt 400 will do as well, and Node says it for some.
  const doubtful = ["gzip", "chunked, gzip", "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked"];
  for (const coding of doubtful) {
    const received = await rejection(`${bytes(POST, ...SOUND, `Transfer-Encoding: ${coding}`)}0\r\n\r\n`);
    expect([400, 501], coding).toContain(received.body.status);
  }
  const upper = bytes(
    POST,
    ...SOUND,
    "Content-Type: application/json",
    "Transfer-Encoding: CHUNKED",
    "Connection: close",
  );
  const body = JSON.stringify(TOY);
  const whole = `${upper}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  expect(statusesIn(await sendRaw(toy.url, whole))).toEqual([200]);
});

test("a transfer coding in HTTP/1.0 is 400, and so is another version than 1.0 and 1.1; nothing behind them is read", async () => {
  const hidden = bytes(GET, ...SOUND);
  const headers = [...SOUND, "Connection: keep-alive", "Content-Type: application/json"];
  const old = bytes("POST /v2/toys/default HTTP/1.0", ...headers, "Transfer-Encoding: chunked");
  expect((await rejection(`${old}2\r\n{}\r\n0\r\n\r\n${hidden}`, hidden)).body).toEqual(
    problem(400, "Bad Request", "a request of HTTP/1.0 has no transfer coding").body,
  );
  for (const version of ["0.9", "2.0"]) {
    expect((await rejection(bytes(`GET /v2/toys HTTP/${version}`, ...headers) + hidden, hidden)).body, version).toEqual(
      problem(400, "Bad Request", "the versions of HTTP that are known here are 1.0 and 1.1").body,
    );
  }
});

test("a request of HTTP/1.1 without a host is 400, and one of HTTP/1.0 needs none", async () => {
  const expected = problem(400, "Bad Request", "the header host is missing").body;
  expect((await rejection(bytes(GET, ...SOUND.slice(1)))).body).toEqual(expected);
  const old = bytes("GET /v2/toys HTTP/1.0", ...SOUND.slice(1));
  expect(statusesIn(await sendRaw(toy.url, old))).toEqual([200]);
});

test("a content type of more than 256 characters is 400, with a token and without, and never parsed", async () => {
  const expected = problem(400, "Bad Request", "the header content-type has more than 256 characters").body;
  const long = `Content-Type: application/json${";a=b".repeat(61)}`;
  for (const headers of [SOUND, [SOUND[0] as string, SOUND[2] as string]]) {
    const request = bytes(POST, ...headers, long, "Content-Length: 2");
    expect((await rejection(`${request}{}${bytes(GET, ...SOUND)}`)).body).toEqual(expected);
  }
});

test("an empty host is 400, and so is a second one, wherever it is asked for", async () => {
  const empty = problem(400, "Bad Request", "the header host is empty").body;
  for (const path of ["/v2/toys", "/nowhere", "/marketdata/BTCUSD"]) {
    const asked = (host: string) => bytes(`GET ${path} HTTP/1.1`, host, ...SOUND.slice(1));
    expect((await rejection(asked("Host:"))).body, path).toEqual(empty);
    expect((await rejection(asked("Host: toy\r\nHost: toy"))).body, path).toEqual(
      problem(400, "Bad Request", "the header host occurs more than once").body,
    );
  }
  const old = bytes("GET /v2/toys HTTP/1.0", "Host: ", ...SOUND.slice(1));
  expect((await rejection(old)).body).toEqual(empty);
});

test("a host that is not a host and a port is 400, and nothing behind it is read", async () => {
  const invalid = problem(
    400,
    "Bad Request",
    "the header host is not a host name or address with an optional port",
  ).body;
  const hidden = bytes(GET, ...SOUND);
  const values =
    'a b|a, b|a,b|a/b|a?b|a#b|user@a|user:pw@a|http://a|a:b|a:1:2|:80|a:123456|[::1|::1|[::1]x|[a]|a%2|"a"|ä';
  for (const host of values.split("|")) {
    const asked = bytes(GET, `Host: ${host}`, ...SOUND.slice(1));
    expect((await rejection(asked + hidden)).body, host).toEqual(invalid);
  }
  const old = bytes("GET /v2/toys HTTP/1.0", "Host: a b", ...SOUND.slice(1));
  expect((await rejection(old + hidden)).body).toEqual(invalid);
  for (const host of "a|a.b-c_d:8080|a:|127.0.0.1:1|[::1]:80|[fe80::1]|xn--bcher-kva.example.|a%2Db".split("|")) {
    const asked = bytes(GET, `Host: ${host}`, ...SOUND.slice(1), "Connection: close");
    expect(statusesIn(await sendRaw(toy.url, asked)), host).toEqual([200]);
  }
});

test("bytes that are not HTTP are not answered while an answer is due, nor behind the answer of the request that they are in", async () => {
  const garbage = "\0\0\r\n\r\n";
  const post = bytes(POST, ...SOUND, "Content-Type: application/json", "Transfer-Encoding: chunked");
  // Answered without its body, which then goes wrong.
  const early = bytes("POST /nowhere HTTP/1.1", ...SOUND, "Transfer-Encoding: chunked");
  const received = await Promise.all([
    sendRaw(toy.url, bytes(GET, ...SOUND) + garbage),
    sendRaw(toy.url, bytes(GET, ...SOUND), 1, garbage),
    sendRaw(toy.url, `${post}zz`),
    sendRaw(toy.url, early, 1, "zz"),
  ]);
  expect(received.map(statusesIn)).toEqual([[], [200, 400], [400], [404]]);
});

test("bytes behind a request that closes its connection are not read, and the request is answered once", async () => {
  const hidden = bytes(GET, ...SOUND);
  const json = JSON.stringify(TOY);
  const typed = ["Content-Type: application/json", `Content-Length: ${json.length}`];
  const closing = [...SOUND, "Connection: close"];
  for (const behind of [hidden, "\0\0\r\n\r\n", "\r\n\r\nx", hidden.repeat(100)]) {
    const received = await Promise.all([
      sendRaw(toy.url, bytes(GET, ...closing) + behind),
      sendRaw(toy.url, bytes(GET, ...closing), behind, behind),
      sendRaw(toy.url, bytes(POST, ...closing, ...typed) + json + behind),
      sendRaw(toy.url, bytes("GET /v2/toys HTTP/1.0", ...SOUND) + behind),
      sendRaw(toy.url, bytes(GET, ...SOUND) + bytes(GET, ...closing) + behind),
    ]);
    expect(received.map(statusesIn), JSON.stringify(behind)).toEqual([[200], [200], [200], [200], [200, 200]]);
  }
});

test("an unknown expectation is ignored, and the request is answered", async () => {
  const received = await new Promise<string>((resolve) => {
    const socket = connect(Number(new URL(toy.url).port), "127.0.0.1", () =>
      socket.end("GET /v2/toys HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nX-Request-Id: r-1\r\n\r\n"),
    );
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString();
    });
    socket.on("close", () => resolve(text));
  });
  expect(received).toMatch(/^HTTP\/1\.1 401 /);
  expect(received).toContain("x-request-id: r-1");
});

test("a request that expects 100-continue gets it, unless earlier ones are still being answered", async () => {
  const json = JSON.stringify(TOY);
  const expecting = ["Expect: 100-continue", "Content-Type: application/json", `Content-Length: ${json.length}`];
  const head = bytes(POST, ...SOUND, ...expecting);
  const last = bytes(GET, ...SOUND, "Connection: close");
  expect(statusesIn(await sendRaw(toy.url, head, 1, json + last))).toEqual([100, 200, 200]);
  // A body without content is none: its connection stays as well.
  for (const empty of [[], ["Content-Length: 0"], ["Content-Length: 00"]]) {
    const nothing = bytes(GET, ...SOUND, "Expect: 100-continue", ...empty);
    expect(statusesIn(await sendRaw(toy.url, nothing, 1, last)), empty.join()).toEqual([100, 200, 200]);
  }
  const waiting = bytes(GET, ...SOUND) + bytes(GET, ...SOUND, "Expect: 100-continue");
  // Node closes the connection behind the answer to one without a 100 response.
  const received = await sendRaw(toy.url, waiting);
  expect(received.match(/HTTP\/1\.1 \d+|\{"query"/g)).toEqual(new Array(2).fill(["HTTP/1.1 200", '{"query"']).flat());
});

test("a request whose head is rejected gets no 100, and its connection is closed", async () => {
  const json = JSON.stringify(TOY);
  const asking = (path: string, ...headers: string[]) =>
    bytes(`POST ${path} HTTP/1.1`, "Host: toy", "X-Request-Id: r-1", "Expect: 100-continue", ...headers);
  const typed = ["Content-Type: application/json", `Content-Length: ${json.length}`];
  const allowed = "Authorization: Bearer good";
  const hidden = bytes(GET, ...SOUND);
  const rejected = [
    [401, asking("/v2/toys/default", ...typed)],
    [401, asking("/v2/toys/default", typed[0] as string, "Transfer-Encoding: chunked")],
    [404, asking("/nowhere", allowed, ...typed)],
    [413, asking("/v2/toys/default", allowed, typed[0] as string, "Content-Length: 65537")],
    [415, asking("/v2/toys/default", allowed, "Content-Type: text/plain", "Content-Length: 2")],
    [400, asking("/v2/toys/default", allowed, allowed, ...typed)],
  ] as const;
  for (const [status, head] of rejected) {
    // A caller may send its body all the same: it is not read as a request.
    const received = await sendRaw(toy.url, head, 1, hidden);
    expect(statusesIn(received), head).toEqual([status]);
  }
});

test("a body that is said to be in another charset than UTF-8 is 415, but after its token", async () => {
  const detail = "the content type names a charset other than UTF-8: send JSON in UTF-8";
  const typed = (rest: string) => ({
    ...{ method: "POST", json: TOY },
    headers: { "content-type": `application/json${rest}` },
  });
  for (const rest of [
    ...["; charset=latin1", ";charset=utf-16", '; charset="iso-8859-1"', "; Charset=UTF-16LE", "; charset='utf-8'"],
    ...["; charset=utf-8; charset=latin1", "; charset=latin1; charset=utf-8", "; charset*=utf-16''x", "; charset="],
  ]) {
    expect(await ask(toy, "/v2/toys/default", typed(rest)), rest).toEqual(
      problem(415, "Unsupported Media Type", detail),
    );
  }
  for (const rest of ["; charset=utf-8", ";charset=UTF8", '; charset="UTF-8"; x=y', "; charset=us-ascii", "; x=y"]) {
    expect((await ask(toy, "/v2/toys/default", typed(rest))).status, rest).toBe(200);
  }
  expect((await ask(toy, "/v2/toys/default", { ...typed("; charset=latin1"), token: null })).status).toBe(401);
});

test("a body that is said to be coded is 415, whether it is or not, but after its token", async () => {
  const detail = "the body has a Content-Encoding: send application/json without one";
  const coded = { method: "POST", headers: { "content-encoding": "gzip" }, json: TOY };
  expect(await ask(toy, "/v2/toys/default", coded)).toEqual(problem(415, "Unsupported Media Type", detail));
  expect((await ask(toy, "/v2/toys/default", { ...coded, token: null })).status).toBe(401);
  const zipped = { ...coded, json: gzipSync(JSON.stringify(TOY)).toString("latin1") };
  expect((await ask(toy, "/v2/toys/default", zipped)).status).toBe(415);
  const plain = { ...coded, headers: { "content-encoding": "identity" } };
  expect((await ask(toy, "/v2/toys/default", plain)).status).toBe(200);
});
