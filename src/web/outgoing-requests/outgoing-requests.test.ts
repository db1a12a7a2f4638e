import { once } from "node:events";
import { createServer as createHttpsServer } from "node:https";
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  certificate,
  ends,
  listening,
  NO_LOOPBACK,
  NOT_ALLOWED_ADDRESS,
  OK,
  outgoing,
  rawReceiver,
  receiver,
  SANDBOX,
  useReceivers,
} from "../../../test/support/http/outgoing.ts";
import { type Instant, steadyClock } from "../../std/clock.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { NOT_ALLOWED } from "./outgoing-policy.ts";
import { OutgoingRequests } from "./outgoing-requests.ts";

useReceivers();

describe("a request", () => {
  test("arrives as it was given, and its answer comes back", async () => {
    const { port, received } = await receiver();
    const { post } = outgoing();
    const headers = { "webhook-id": "1", "content-type": "application/json" };
    expect(await post(`http://receiver.example:${port}/a%20b?c=d`, { headers, body: '{"ä":1}' })).toEqual(OK);
    const [{ head, body } = { head: undefined, body: undefined }] = received;
    expect(body).toBe('{"ä":1}');
    expect({ method: head?.method, url: head?.url, headers: head?.headers }).toEqual({
      method: "POST",
      url: "/a%20b?c=d",
      headers: { ...headers, host: `receiver.example:${port}`, "content-length": "8", connection: "keep-alive" },
    });
  });

  test("goes over the connection of the request before it", async () => {
    const { port, received } = await receiver();
    const { post } = outgoing();
    for (const _ of [1, 2, 3]) expect(await post(`http://receiver.example:${port}/`)).toEqual(OK);
    expect(new Set(received.map(({ socket }) => socket)).size).toBe(1);
  });

  test("goes over a connection that is at most a minute old, so that the name is resolved again", async () => {
    const { port, received } = await receiver();
    const { post } = outgoing();
    const url = `http://receiver.example:${port}/`;
    const now = steadyClock.now;
    const clock = vi.spyOn(steadyClock, "now");
    onTestFinished(() => clock.mockRestore());
    // However often it is used: the third request finds that it is too old, and the fourth has another.
    for (const sinceMs of [0, 40_000, 60_001, 60_001]) {
      clock.mockImplementation(() => (now() + sinceMs) as Instant);
      expect(await post(url)).toEqual(OK);
    }
    const [first, ...others] = received.map(({ socket }) => socket);
    expect(others.map((socket) => socket === first)).toEqual([true, true, false]);
  });

  test("is sent again at once if the receiver has closed the idle connection meanwhile", async () => {
    const { port, received, server } = await receiver();
    const { post } = outgoing();
    expect(await post(`http://receiver.example:${port}/`)).toEqual(OK);
    server.closeIdleConnections();
    expect(await post(`http://receiver.example:${port}/`)).toEqual(OK);
    expect(received).toHaveLength(2);
  });

  test("is sent again on a new connection, however many idle ones the receiver would end", async () => {
    let [made, ended] = [0, 0];
    const server = createServer(async (socket) => {
      made += 1;
      await once(socket, "data");
      // Until the second one has come, too: so each has a connection.
      while (made < 2) await new Promise(setImmediate);
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      await once(socket, "data");
      ended += 1;
      socket.destroy();
    });
    const url = `http://receiver.example:${await listening(server)}/`;
    const { post } = outgoing();
    expect(await Promise.all([post(url), post(url)])).toEqual([OK, OK]);
    expect(await post(url)).toEqual(OK);
    expect([made, ended]).toEqual([3, 1]);
  });

  test("over TLS arrives if certificate and name are right", async () => {
    const server = createHttpsServer(certificate, (request, response) => void response.end(request.headers.host));
    const port = await listening(server);
    const { post } = outgoing();
    const answered = (host: string) => ({ ...OK, answer: `${host}:${port}` });
    expect(await post(`https://receiver.example:${port}/`)).toEqual(answered("receiver.example"));
    expect(await post(`https://receiver.example:${port}/`)).toEqual(answered("receiver.example"));
    expect(await post(`https://127.0.0.1:${port}/`)).toEqual(answered("127.0.0.1"));
  });

  test("that is cancelled ends at once", async () => {
    const { url } = await rawReceiver(() => undefined);
    const stop = new AbortController();
    const pending = outgoing().post(url, { signal: stop.signal });
    stop.abort();
    const cancelled = { kind: "unanswered", reason: "cancelled", detail: "the service stops" };
    expect(await pending).toEqual(cancelled);
    expect(await outgoing().post(url, { signal: stop.signal })).toEqual(cancelled);
  });
});

describe("an address that is not allowed is not connected to", () => {
  const PRIVATE = "10.0.0.1";
  test.each<[string, readonly string[]]>([
    ["a private address", [PRIVATE]],
    ["loopback", ["127.0.0.1"]],
    ["mapped loopback", ["::ffff:127.0.0.1"]],
    ["loopback of IPv6", ["::1"]],
    ["metadata", ["169.254.169.254"]],
    ["NAT64 of loopback", ["64:ff9b::7f00:1"]],
    ["a public address and a private one", ["93.184.215.14", PRIVATE]],
    ["a private address and a public one", [PRIVATE, "93.184.215.14"]],
    ["what is no address", ["localhost"]],
  ])("when a name has %s", async (_what, addresses) => {
    const { post } = outgoing(NO_LOOPBACK, { "evil.example": addresses });
    expect(await post("http://evil.example/")).toEqual(NOT_ALLOWED_ADDRESS);
  });

  test("when it is in the URL", async () => {
    const { port, received } = await receiver();
    const expected = { kind: "unanswered", reason: "url_not_allowed", detail: NOT_ALLOWED };
    for (const host of ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"]) {
      expect(await outgoing(NO_LOOPBACK).post(`http://${host}:${port}/`)).toEqual(expected);
    }
    expect(received).toEqual([]);
  });

  test("when the name's address changes with each question", async () => {
    const { port, received } = await receiver();
    let asked = 0;
    const requests = new OutgoingRequests(
      { ...NO_LOOPBACK, allowedNetworks: [] },
      {
        resolve: async () => [asked++ % 2 === 0 ? "192.0.2.1" : "127.0.0.1"],
        ownAddresses: () => [],
      },
    );
    ends.push(() => requests.close());
    for (const _ of [1, 2, 3, 4]) {
      const { ms: _ms, ...outcome } = await requests.post({
        url: `http://evil.example:${port}/`,
        headers: {},
        body: "",
      });
      expect(outcome).toEqual(NOT_ALLOWED_ADDRESS);
    }
    expect([asked, received]).toEqual([4, []]);
  });

  test("when it is this machine's, even if it is public", async () => {
    const { port, received } = await receiver();
    const requests = new OutgoingRequests(NO_LOOPBACK, {
      resolve: async () => ["93.184.215.14"],
      ownAddresses: () => ["93.184.215.14"],
    });
    ends.push(() => requests.close());
    const { ms: _ms, ...outcome } = await requests.post({ url: `http://evil.example:${port}/`, headers: {}, body: "" });
    expect([outcome, received]).toEqual([NOT_ALLOWED_ADDRESS, []]);
  });

  test("for longer than it takes to see where the connection has arrived", async () => {
    const { port, received } = await receiver();
    let judged = 0;
    const policy = {
      ...SANDBOX,
      get refusedNetworks() {
        judged += 1;
        return judged === 1 ? [] : [parseNetwork("127.0.0.1") as Network];
      },
    };
    expect(await outgoing(policy).post(`http://receiver.example:${port}/`)).toEqual(NOT_ALLOWED_ADDRESS);
    expect([judged, received]).toEqual([2, []]);
  });

  test("when a redirect leads there", async () => {
    const inside = await receiver();
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `http://127.0.0.1:${inside.port}/`;
      const { port } = await receiver((_request, response) => void response.writeHead(status, { location }).end("no"));
      expect(await outgoing().post(`http://receiver.example:${port}/`)).toEqual({ ...OK, status, answer: "no" });
    }
    expect(inside.received).toEqual([]);
  });

  test("when the environment names a proxy", async () => {
    const [proxy, { port, received }] = [await receiver(), await receiver()];
    const address = `http://127.0.0.1:${proxy.port}`;
    const names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"];
    const before = { ...process.env };
    for (const name of names) process.env[name] = address;
    process.env.NODE_USE_ENV_PROXY = "1";
    try {
      expect(await outgoing().post(`http://receiver.example:${port}/`)).toEqual(OK);
    } finally {
      process.env = before;
    }
    expect([received.length, proxy.received.length]).toEqual([1, 0]);
  });
});

describe("DNS", () => {
  test("that knows no address", async () => {
    const { post } = outgoing(SANDBOX, { "empty.example": [] });
    const expected = { kind: "unanswered", reason: "dns", detail: "the host of the URL has no address" };
    expect(await post("http://unknown.example/")).toEqual(expected);
    expect(await post("http://empty.example/")).toEqual(expected);
  });

  test.each(["ESERVFAIL", "ETIMEOUT", "EBADRESP"])("that fails with %s", async (code) => {
    const resolve = async () => Promise.reject(Object.assign(new Error("10.0.0.1"), { code }));
    const requests = new OutgoingRequests(SANDBOX, { resolve });
    const { ms: _ms, ...outcome } = await requests.post({ url: "http://receiver.example/", headers: {}, body: "" });
    const detail = "DNS did not say which address the host of the URL has";
    expect(outcome).toEqual({ kind: "unanswered", reason: "dns", detail });
  });

  test("that never answers costs what the request may take", async () => {
    const requests = new OutgoingRequests(SANDBOX, { resolve: () => new Promise(() => undefined) });
    const request = { url: "http://receiver.example/", headers: {}, body: "", timeoutMs: 50 };
    const { ms: _ms, ...outcome } = await requests.post(request);
    expect(outcome).toEqual({ kind: "unanswered", reason: "timeout", detail: "no answer in time" });
  });

  test("whose first address does not answer leads to the next one", async () => {
    const { port } = await receiver();
    const { post } = outgoing(SANDBOX, { "two.example": ["127.0.0.2", "127.0.0.1"] });
    expect(await post(`http://two.example:${port}/`)).toEqual(OK);
  });

  test("is asked by a name alone: localhost is this machine", async () => {
    const { port } = await receiver();
    const requests = new OutgoingRequests(SANDBOX);
    ends.push(() => requests.close());
    const { kind } = await requests.post({ url: `http://localhost:${port}/`, headers: {}, body: "" });
    expect(kind).toBe("answered");
  });
});
