import dns from "node:dns";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { fastify } from "fastify";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../test/support/free-port.ts";
import { readCertificate } from "../../test/support/http/certificate.ts";
import { until } from "../../test/support/until.ts";
import { TrackedResponse } from "../web/connections/tracked-response.ts";
import { readConfig } from "./config/config.ts";
import { writeReadyFile } from "./data-directory.ts";
import { checkPorts, close, gate, listen, listenAddressOf, ownAddress } from "./listening.ts";
import { StartupError } from "./startup-error.ts";

afterEach(() => vi.restoreAllMocks());

const PLACE = { host: "localhost", port: 0, settings: { host: "PARBOOK_HOST", port: "PARBOOK_PORT" } };
const OF_NODE = { ...PLACE, host: "127.0.0.1" };
const ADDRESSES = [
  { address: "127.0.0.1", family: 4 },
  { address: "127.0.0.2", family: 4 },
];

const addressOf = (server: Server): string => (server.address() as AddressInfo).address;

/** As on most machines. */
function giveLocalhostTwoAddresses(): void {
  const lookup = (name: string, ...rest: unknown[]): void => {
    const done = rest.pop() as (...answer: unknown[]) => void;
    const [options = {}] = rest as { all?: boolean }[];
    if (options.all === true) done(null, ADDRESSES);
    else done(null, name === "localhost" ? "127.0.0.1" : name, 4);
  };
  vi.spyOn(dns, "lookup").mockImplementation(lookup as unknown as typeof dns.lookup);
}

test("a server listens on one address of a name with several, so that its limits always apply", async () => {
  giveLocalhostTwoAddresses();
  const server = fastify();
  const port = await listen(server, PLACE);
  // Fastify would create a second server, without the limits.
  expect(server.addresses()).toEqual([{ address: expect.any(String), family: expect.any(String), port }]);
  await server.close();
});

test("all servers choose the same address for a name", async () => {
  giveLocalhostTwoAddresses();
  const [framework, plain] = [fastify(), createServer()];
  await listen(framework, PLACE);
  await listen(plain, PLACE);
  expect(framework.server.address()).toMatchObject({ address: addressOf(plain) });
  await framework.close();
  plain.close();
});

test("a host name that is not local is reported with its setting", async () => {
  const place = { ...PLACE, host: "nowhere.invalid" };
  for (const server of [fastify(), createServer()]) {
    await expect(listen(server, place)).rejects.toThrow(
      "PARBOOK_HOST nowhere.invalid is not an address of this machine",
    );
  }
});

test("every port that is in use is named at once, and a free one is free afterwards", async () => {
  const [first, second, free] = [createServer(), createServer(), createServer()];
  // Of those that the system gives out another program could have been given one meanwhile.
  const [api, auth, metrics] = await Promise.all([freePort(), freePort(), freePort()]);
  await listen(first, { ...OF_NODE, port: api });
  await listen(second, { ...OF_NODE, port: auth });
  const settings = {
    PARBOOK_DATA_DIR: "/nowhere",
    PARBOOK_PORT: String(api),
    PARBOOK_AUTH_PORT: String(auth),
    PARBOOK_METRICS_PORT: String(metrics),
  };
  const inUse = (port: number, name: string) =>
    `port ${port} on 127.0.0.1 is in use: stop what uses it, or set ${name} to another one`;
  const linesOf = (more: Record<string, string> = {}) =>
    checkPorts(readConfig({ ...settings, ...more })).then(
      () => [],
      ({ lines }) => lines,
    );
  expect(await linesOf()).toEqual([inUse(api, "PARBOOK_PORT"), inUse(auth, "PARBOOK_AUTH_PORT")]);
  expect(await linesOf({ PARBOOK_ROLES: "api" })).toEqual([inUse(api, "PARBOOK_PORT")]);
  expect(await linesOf({ PARBOOK_HOST: "nowhere.invalid" })).toEqual([
    "PARBOOK_HOST nowhere.invalid is not an address of this machine",
  ]);
  // Of a service that runs on this data directory something else says more.
  const dataDir = await mkdtemp(join(tmpdir(), "parbook-ports-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const remove = await writeReadyFile(dataDir, { baseUrl: "http://127.0.0.1:1", authUrl: "http://127.0.0.1:2" });
  expect(await linesOf({ PARBOOK_DATA_DIR: dataDir })).toEqual([]);
  await remove();
  expect(await linesOf({ PARBOOK_DATA_DIR: dataDir, PARBOOK_ROLES: "api" })).toEqual([inUse(api, "PARBOOK_PORT")]);
  first.close();
  second.close();
  await Promise.all([once(first, "close"), once(second, "close")]);
  expect(await linesOf()).toEqual([]);
  expect(await listen(free, { ...OF_NODE, port: metrics })).toBe(metrics);
  free.close();
});

test.each([
  ["EADDRINUSE", "port 80 on 127.0.0.1 is in use: stop what uses it, or set PARBOOK_PORT to another one"],
  ["EACCES", "port 80 on 127.0.0.1 may not be used: set PARBOOK_PORT to another one"],
  ["EADDRNOTAVAIL", "PARBOOK_HOST 127.0.0.1 is not an address of this machine"],
  // Of a name, while no name server answers.
  ["EAI_AGAIN", "PARBOOK_HOST 127.0.0.1 is not an address of this machine"],
])("an address that cannot be used because of %s is reported with its setting", async (code, line) => {
  const server = { listen: async () => Promise.reject(Object.assign(new Error(code), { code })) };
  await expect(listen(server as never, { ...OF_NODE, port: 80 })).rejects.toThrow(new StartupError(line));
});

test("each server listens where its own settings say", () => {
  const settings = { PARBOOK_HOST: "127.0.0.2", PARBOOK_PORT: "1", PARBOOK_AUTH_PORT: "2" };
  const metrics = { PARBOOK_METRICS_HOST: "127.0.0.3", PARBOOK_METRICS_PORT: "3" };
  const config = readConfig({ ...settings, ...metrics });
  const [host, metricsHost] = ["PARBOOK_HOST", "PARBOOK_METRICS_HOST"];
  expect((["api", "auth", "metrics"] as const).map((server) => listenAddressOf(config, server))).toEqual([
    { host: "127.0.0.2", port: 1, settings: { host, port: "PARBOOK_PORT" } },
    { host: "127.0.0.2", port: 2, settings: { host, port: "PARBOOK_AUTH_PORT" } },
    { host: "127.0.0.3", port: 3, settings: { host: metricsHost, port: "PARBOOK_METRICS_PORT" } },
  ]);
});

test("requests are held until both servers listen, and then go on in their order", () => {
  const { hook, open } = gate();
  const gone: number[] = [];
  const ask = (number: number): unknown => hook.call({} as never, {} as never, {} as never, () => gone.push(number));
  ask(1);
  ask(2);
  expect(gone).toEqual([]);
  open();
  expect(gone).toEqual([1, 2]);
  ask(3);
  expect(gone).toEqual([1, 2, 3]);
});

test("closing finishes requests in flight, but does not wait for stalled clients", async () => {
  const server = fastify();
  server.get("/page", async () => "x".repeat(8 * 1024 * 1024));
  server.post("/", async () => "");
  let finish = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    server.get("/slow", () => {
      resolve();
      return new Promise((answer) => {
        finish = () => answer("finished");
      });
    });
  });
  const port = await listen(server, { ...PLACE, host: "127.0.0.1" });
  const sent = [
    "GET /page HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /page HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n1",
    "GET / HT",
  ];
  const sockets = sent.map((bytes) => {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    socket.write(bytes);
    return socket;
  });
  const slow = fetch(`http://127.0.0.1:${port}/slow`);
  await begun;
  const closed = close(server, 500);
  finish();
  expect(await (await slow).text()).toBe("finished");
  await closed;
  for (const socket of sockets) socket.destroy();
});

test("closing cuts off no response that is on its way, and ends each connection with its last one", async () => {
  const server = fastify({ http: { ServerResponse: TrackedResponse } });
  const page = "x".repeat(8 * 1024 * 1024);
  const responses: ServerResponse[] = [];
  server.server.on("request", (_, response) => void responses.push(response));
  server.get("/page", async () => page);
  server.get("/stream", (_, reply) => {
    reply.hijack();
    reply.raw.write("begun");
  });
  const port = await listen(server, OF_NODE);
  const [unread, streamed] = ["/page", "/stream"].map((path) => {
    const socket = connect(port, "127.0.0.1").pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    onTestFinished(() => void socket.destroy());
    return socket;
  }) as [Socket, Socket];
  const responseTo = (path: string) => responses.find(({ req }) => req.url === path);
  await until("one is complete, and one has begun", () => {
    return responseTo("/page")?.writableEnded === true && responseTo("/stream")?.headersSent === true;
  });
  const closed = close(server, 60_000);
  await until("the server no longer listens", () => !server.server.listening);
  responseTo("/stream")?.end("ended");
  await once(streamed.resume(), "close");
  await once(unread.resume(), "close");
  expect(unread.bytesRead).toBeGreaterThan(page.length);
  await closed;
});

test("closing cuts off no response that its caller still reads while it sends the next request", async () => {
  const server = fastify({ http: { ServerResponse: TrackedResponse } });
  // The system takes all of it at once, and sends it as it is read.
  const page = "x".repeat(1024 * 1024);
  let response: ServerResponse | undefined;
  server.server.on("request", (_, made) => {
    response ??= made;
  });
  server.get("/page", async () => page);
  const port = await listen(server, OF_NODE);
  const socket = connect(port, "127.0.0.1").pause();
  onTestFinished(() => void socket.destroy());
  const request = "GET /page HTTP/1.1\r\nHost: a\r\n\r\n";
  socket.write(request);
  await until("it has been sent", () => response?.closed === true);
  const closed = close(server, 60_000);
  await until("the server no longer listens", () => !server.server.listening);
  socket.write(request);
  let text = "";
  for await (const piece of socket) text += piece;
  expect(text).toMatch(new RegExp(`^HTTP/1.1 200 OK\r\n[^]*\r\n\r\nx{${page.length}}$`));
  await closed;
});

test("closing waits neither for a caller that has sent no request, nor for the rest of one that is answered", async () => {
  const server = fastify({ http: { ServerResponse: TrackedResponse } });
  server.post("/", { onRequest: (_, reply) => void reply.code(401).send("") }, async () => "");
  const port = await listen(server, OF_NODE);
  const sockets = ["", "GET / HT", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n1"].map((bytes) => {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    if (bytes !== "") socket.write(bytes);
    onTestFinished(() => void socket.destroy());
    return socket;
  }) as [Socket, Socket, Socket];
  const [answered] = (await once(sockets[2], "data")) as [Buffer];
  expect(String(answered)).toMatch(/^HTTP\/1.1 401 Unauthorized\r\n/);
  await until(
    "all are accepted",
    async () => (await promisify(server.server.getConnections).call(server.server)) === 3,
  );
  const begun = performance.now();
  await close(server, 60_000);
  expect(performance.now() - begun).toBeLessThan(30_000);
});

test("closing does not wait for connections whose TLS handshake does not end", async () => {
  const server = fastify({ https: readCertificate() });
  const port = await listen(server as never, OF_NODE);
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  await once(server.server, "connection");
  const ended = once(socket.resume(), "close");
  await close(server as never, 100);
  await ended;
});

test("of a connection with TLS the upper one is destroyed first", async () => {
  const server = fastify({ https: readCertificate() });
  const port = await listen(server as never, OF_NODE);
  const destroyed: string[] = [];
  const note = (name: string) => (socket: Socket) => {
    const destroy = socket.destroy.bind(socket);
    socket.destroy = (error) => {
      if (!socket.destroyed) destroyed.push(name);
      return destroy(error);
    };
  };
  server.server.on("connection", note("lower")).on("secureConnection", note("upper"));
  const caller = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false }).on("error", () => undefined);
  caller.write("GET / HT");
  const [socket] = (await once(server.server, "secureConnection")) as [Socket];
  await until("the request has begun", () => socket.bytesRead > 0);
  await close(server as never, 100);
  expect(destroyed).toEqual(["upper", "lower"]);
  caller.destroy();
});

test("an address is formatted as a URL", () => {
  expect(ownAddress({ host: "::1", tlsCert: undefined }, 80)).toBe("http://[::1]:80");
  expect(ownAddress({ host: "localhost", tlsCert: "a.pem" }, 443)).toBe("https://localhost:443");
});
