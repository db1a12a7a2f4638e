import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { Socket } from "node:net";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../../test/support/free-port.ts";
import {
  certFile,
  certificate,
  dns,
  ends,
  flood,
  keyFile,
  listening,
  OK,
  outgoing,
  rawReceiver,
  receiver,
  SANDBOX,
  TOO_MUCH,
  useReceivers,
} from "../../../test/support/http/outgoing.ts";
import { until } from "../../../test/support/until.ts";
import { OutgoingRequests } from "./outgoing-requests.ts";

useReceivers();

const directory = dirname(certFile);
const ANSWER = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

describe("TLS", () => {
  const refused = (detail: string) => ({ kind: "unanswered", reason: "tls", detail: `no TLS connection: ${detail}` });
  const serving = (options: object) =>
    createHttpsServer({ ...certificate, ...options }, (_request, response) => void response.end("ok"));

  /** Of a key of this kind, signed by itself. */
  function ownCertificate(...kind: readonly string[]): { cert: Buffer; key: Buffer } {
    const [cert, key] = [join(directory, "own.crt"), join(directory, "own.key")];
    const options = ["-nodes", "-days", "2", "-subj", "/CN=receiver", "-keyout", key, "-out", cert];
    execFileSync("openssl", ["req", "-x509", "-newkey", ...kind, ...options], { stdio: "ignore" });
    return { cert: readFileSync(cert), key: readFileSync(key) };
  }

  test("with a certificate for another name is refused", async () => {
    const port = await listening(serving({}));
    expect(await outgoing().post(`https://other.example:${port}/`)).toEqual(refused("ERR_TLS_CERT_ALTNAME_INVALID"));
  });

  test("with a certificate of nobody known is refused, whatever the environment says", async () => {
    const port = await listening(serving({}));
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      const requests = new OutgoingRequests(SANDBOX, { resolve: dns({ "receiver.example": ["127.0.0.1"] }) });
      const { ms: _ms, ...outcome } = await requests.post({
        url: `https://receiver.example:${port}/`,
        headers: {},
        body: "",
      });
      expect(outcome).toEqual(refused("DEPTH_ZERO_SELF_SIGNED_CERT"));
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  test("in which the receiver chooses how much is computed is refused: keys in a finite field", async () => {
    const dhe = { dhparam: "auto", ciphers: "DHE-RSA-AES128-GCM-SHA256" };
    for (const options of [
      { ...ownCertificate("rsa:2048"), ...dhe, maxVersion: "TLSv1.2" },
      { ecdhCurve: "ffdhe2048", minVersion: "TLSv1.3" },
    ]) {
      const port = await listening(serving(options));
      expect(await outgoing().post(`https://receiver.example:${port}/`)).toMatchObject({
        detail: expect.stringMatching(/^no TLS connection: ERR_SSL_.*HANDSHAKE_FAILURE$/),
      });
    }
  });

  test("with certificates of more than 16 KiB is refused before they are read", async () => {
    const names = Array.from({ length: 1_000 }, (_, i) => `DNS:receiver-${i}.example`).join();
    const own = ownCertificate("ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-addext", `subjectAltName=${names}`);
    const port = await listening(serving(own));
    expect(await outgoing().post(`https://receiver.example:${port}/`)).toEqual(refused("it was closed"));
  });

  test("of version 1.1 is refused", async () => {
    const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
    const port = await listening(serving(old));
    expect(await outgoing().post(`https://receiver.example:${port}/`)).toEqual(
      refused("ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION"),
    );
  });

  test("that is not spoken is refused", async () => {
    const { url } = await rawReceiver((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n"));
    expect(await outgoing().post(url.replace("http:", "https:"))).toEqual(refused("ERR_SSL_WRONG_VERSION_NUMBER"));
  });

  test("whose handshake ends early is refused", async () => {
    const { url } = await rawReceiver((socket) => socket.destroy());
    expect(await outgoing().post(url.replace("http:", "https:"))).toEqual(refused("ECONNRESET"));
  });

  test("whose handshake never ends is given up after five seconds", async () => {
    const { url, connections } = await rawReceiver(() => undefined);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let outcome: object | undefined;
    const noted = (answer: object): void => {
      outcome = answer;
    };
    void outgoing().post(url.replace("http:", "https:")).then(noted);
    const turns = async (count: number): Promise<void> => {
      for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
    };
    while (connections.length === 0) await turns(1);
    vi.advanceTimersByTime(4_999);
    await turns(20);
    expect(outcome).toBe(undefined);
    vi.advanceTimersByTime(1);
    await turns(20);
    expect(outcome).toEqual({ kind: "unanswered", reason: "timeout", detail: "no connection within 5 s" });
  });

  test("key updates without end end the request", async () => {
    const port = await freePort();
    const options = ["-accept", String(port), "-cert", certFile, "-key", keyFile, "-tls1_3"];
    const server = spawn("openssl", ["s_server", ...options], { stdio: ["pipe", "pipe", "ignore"] });
    ends.push(() => server.kill("SIGKILL"));
    let printed = "";
    server.stdout.on("data", (chunk) => {
      printed += chunk;
    });
    await until("openssl listens", () => printed.includes("ACCEPT"));
    const pending = outgoing().post(`https://receiver.example:${port}/`, { timeoutMs: 25_000 });
    await until("the request has arrived", () => printed.includes("webhook-id"));
    // openssl reads one command of each chunk that it gets.
    const updates = setInterval(() => server.stdin.write("k\n"), 1);
    ends.push(() => clearInterval(updates));
    expect(await pending).toEqual(TOO_MUCH);
  }, 30_000);
});

describe("a receiver", () => {
  test("that never answers ends with the time of the request", async () => {
    const { url, connections } = await rawReceiver(() => undefined);
    expect(await outgoing().post(url, { timeoutMs: 100 })).toEqual({
      kind: "unanswered",
      reason: "timeout",
      detail: "no answer in time",
    });
    await until("the connection has ended", () =>
      connections.every(({ readableEnded, destroyed }) => readableEnded || destroyed),
    );
  });

  test("that sends a byte of its head now and then gains no time", async () => {
    const { url } = await rawReceiver((socket) => {
      const dribble = setInterval(() => socket.write("x"), 10);
      socket.write("HTTP/1.1 200 OK\r\nx: ");
      ends.push(() => clearInterval(dribble));
    });
    expect(await outgoing().post(url, { timeoutMs: 200 })).toMatchObject({ reason: "timeout" });
  });

  test("that sends a byte of its body now and then has answered after a second", async () => {
    const { url, connections } = await rawReceiver((socket) => {
      const dribble = setInterval(() => socket.write("x"), 100);
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
      ends.push(() => clearInterval(dribble));
    });
    expect(await outgoing().post(url)).toMatchObject({ kind: "answered", answer: expect.stringMatching(/^x{1,12}$/) });
    await until("the connection has ended", () => connections.every(({ destroyed }) => destroyed));
  });

  test("whose answer breaks off has answered", async () => {
    const { url } = await rawReceiver((socket) => socket.end("HTTP/1.1 202 OK\r\ncontent-length: 9\r\n\r\nabc"));
    expect(await outgoing().post(url)).toEqual({ ...OK, status: 202, answer: "abc" });
  });

  test("with an endless body has answered, and only the first KiB is kept", async () => {
    const { url, connections } = await rawReceiver((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      flood(socket, "x".repeat(65_536));
    });
    expect(await outgoing().post(url)).toEqual({ ...OK, answer: "x".repeat(1_024) });
    await until("the connection has ended", () => connections.every(({ destroyed }) => destroyed));
    // It was in the kernel's buffers.
    expect(connections[0]?.bytesWritten).toBeLessThan(20_000_000);
  });

  test("with an endless body in tiny chunks has not answered", async () => {
    const { url, connections } = await rawReceiver((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      flood(socket, "1\r\nx\r\n".repeat(10_000));
    });
    expect(await outgoing().post(url)).toEqual(TOO_MUCH);
    await until("the connection has ended", () => connections.every(({ destroyed }) => destroyed));
  });

  test.each(["keep-alive", "close"])("that answers before it has read everything gets no more (%s)", async (how) => {
    const { url, connections } = await rawReceiver((socket) => {
      socket.pause();
      socket.write(`HTTP/1.1 200 OK\r\nconnection: ${how}\r\ncontent-length: 2\r\n\r\nok`);
    });
    expect(await outgoing().post(url, { body: "x".repeat(20_000_000) })).toEqual(OK);
    for (const socket of connections) socket.resume();
    await until("the connection has ended", () => connections.every(({ destroyed }) => destroyed), 10);
    expect(connections[0]?.bytesRead).toBeLessThan(20_000_000);
  });

  test("that sends megabytes of interim answers at once is cut off after the first read", async () => {
    const read: number[] = [];
    const destroy = Socket.prototype.destroy;
    onTestFinished(() => void vi.restoreAllMocks());
    const { url, connections } = await rawReceiver((socket) =>
      socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(150_000)),
    );
    vi.spyOn(Socket.prototype, "destroy").mockImplementation(function (this: Socket, ...why) {
      if (`http://127.0.0.1:${this.remotePort}/` === url) read.push(this.bytesRead);
      return destroy.apply(this, why);
    });
    expect(await outgoing().post(url)).toEqual(TOO_MUCH);
    await until("the connection has ended", () => connections.every(({ destroyed }) => destroyed));
    expect(Math.max(...read)).toBeLessThan(150_000);
  });

  test("with an answer in too many pieces has not answered", async () => {
    const chunks = (count: number) =>
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(count)}0\r\n\r\n`;
    for (const [count, expected] of [
      [256, { ...OK, answer: "x".repeat(256) }],
      [257, TOO_MUCH],
    ] as const) {
      const { url } = await rawReceiver((socket) => socket.end(chunks(count)));
      expect(await outgoing().post(url)).toEqual(expected);
    }
  });

  test("with a long answer has answered, and only the first KiB is kept", async () => {
    const { port } = await receiver((_request, response) => void response.end("x".repeat(10_000)));
    const { post } = outgoing();
    expect(await post(`http://receiver.example:${port}/`)).toEqual({ ...OK, answer: "x".repeat(1_024) });
    const more = { answerBytes: 4_096 };
    expect(await post(`http://receiver.example:${port}/`, more)).toEqual({ ...OK, answer: "x".repeat(4_096) });
  });

  test("that compresses is not unpacked", async () => {
    const bomb = gzipSync("x".repeat(10_000_000));
    const { port } = await receiver(
      (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(bomb),
    );
    const answer = bomb.subarray(0, 1_024).toString("latin1");
    expect(await outgoing().post(`http://receiver.example:${port}/`)).toEqual({ ...OK, answer });
  });

  test("with an endless head has not answered", async () => {
    const { url } = await rawReceiver((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      flood(socket, `x: ${"x".repeat(1_000)}\r\n`);
    });
    const detail = "the answer is not valid HTTP: HPE_HEADER_OVERFLOW";
    expect(await outgoing().post(url)).toEqual({ kind: "unanswered", reason: "protocol", detail });
  });

  test("with many headers has answered, but only the first 100 are read", async () => {
    const retryAfterBehind = async (others: number): Promise<unknown> => {
      const head = `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(others)}retry-after: 60\r\ncontent-length: 2\r\n\r\n`;
      const { url } = await rawReceiver((socket) => socket.end(`${head}ok`));
      return outgoing().post(url);
    };
    expect(await retryAfterBehind(99)).toEqual({ ...OK, retryAfter: "60" });
    expect(await retryAfterBehind(100)).toEqual(OK);
  });

  test("with interim answers without end has not answered", async () => {
    for (const status of ["100 Continue", "102 Processing", "103 Early Hints"]) {
      const { url } = await rawReceiver((socket) => flood(socket, `HTTP/1.1 ${status}\r\n\r\n`));
      expect(await outgoing().post(url)).toEqual(TOO_MUCH);
    }
  });

  test("with a few interim answers has answered", async () => {
    const answer = `${"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(3)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`;
    const { url } = await rawReceiver((socket) => socket.end(answer));
    expect(await outgoing().post(url)).toEqual(OK);
  });

  test("that changes the protocol has not answered", async () => {
    const head = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    const { url } = await rawReceiver((socket) => socket.write(head));
    expect(await outgoing().post(url)).toMatchObject({ kind: "unanswered", reason: "protocol" });
  });

  test.each([
    ["no HTTP", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
    ["a length and chunks", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a line break in a header", "HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n"],
  ])("that answers with %s has not answered", async (_what, answer) => {
    const { url } = await rawReceiver((socket) => socket.end(answer));
    expect(await outgoing().post(url)).toMatchObject({ kind: "unanswered", reason: "protocol" });
  });

  test("that hangs up has not answered, and is not asked twice", async () => {
    const { url, connections } = await rawReceiver((socket) => socket.destroy());
    expect(await outgoing().post(url)).toMatchObject({
      kind: "unanswered",
      reason: "connection",
      detail: "the connection ended without an answer: ECONNRESET",
    });
    expect(connections).toHaveLength(1);
  });

  test("that is not there has not answered, and its address stays unsaid", async () => {
    expect(await outgoing().post(`http://receiver.example:${await freePort()}/`)).toEqual({
      kind: "unanswered",
      reason: "connection",
      detail: "no connection: ECONNREFUSED",
    });
  });

  test("that sends answers nobody asked for has no effect on the next request", async () => {
    const { url, connections } = await rawReceiver((socket) => socket.write(ANSWER));
    const { post } = outgoing();
    expect(await post(url)).toEqual(OK);
    const [first] = connections as [Socket];
    first.write("HTTP/1.1 299 Planted\r\ncontent-length: 0\r\n\r\n");
    await until("the idle connection was ended", () => first.destroyed, 2);
    expect(await post(url)).toEqual(OK);
    expect(connections).toHaveLength(2);
    // From now on it gets a connection for each request.
    await until("the second connection was ended", () => connections.every(({ destroyed }) => destroyed), 2);
  });

  test("gets no header that would end the head early", async () => {
    const { port, received } = await receiver();
    const expected = { kind: "unanswered", reason: "protocol", detail: "a header of the request is not valid" };
    for (const headers of [{ "x-key": "a\r\nX-Admin: 1" }, { "x\r\ny": "1" }, { "x-key": "嗊嘍" }]) {
      expect(await outgoing().post(`http://receiver.example:${port}/`, { headers })).toEqual(expected);
    }
    expect(received).toEqual([]);
  });
});
