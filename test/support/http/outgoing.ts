/** Receivers of outgoing requests, and requests to them, whose DNS and certificates are the test's own. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, expect } from "vitest";
import type { Resolve } from "../../../src/web/outgoing-requests/addresses.ts";
import { NOT_ALLOWED, type OutgoingPolicy } from "../../../src/web/outgoing-requests/outgoing-policy.ts";
import { type OutgoingRequest, OutgoingRequests } from "../../../src/web/outgoing-requests/outgoing-requests.ts";

export const SANDBOX: OutgoingPolicy = {
  allowLoopback: true,
  allowCleartext: true,
  allowedPorts: "any",
  allowedNetworks: [],
  refusedNetworks: [],
};
export const NO_LOOPBACK: OutgoingPolicy = { ...SANDBOX, allowLoopback: false };

const directory = mkdtempSync(join(tmpdir(), "outgoing-"));
process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
export const [certFile, keyFile] = [join(directory, "crt"), join(directory, "key")];
/** Of receiver.example and 127.0.0.1, in PEM. */
export const certificate = { cert: "", key: "" };

/** What is ended after each test. */
export const ends: (() => void)[] = [];
/**
 * To be called by each file that uses these. Hooks of this module would run for the first file of a process alone: it is
 * loaded once for all of them.
 */
export function useReceivers(): void {
  beforeAll(() => {
    if (certificate.cert === "") makeCertificate();
  });
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });
}

function makeCertificate(): void {
  const names = "subjectAltName=DNS:receiver.example,IP:127.0.0.1";
  const options = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const files = ["-subj", "/CN=receiver", "-addext", names, "-keyout", keyFile, "-out", certFile];
  execFileSync("openssl", ["req", ...options, ...files], { stdio: "ignore" });
  certificate.cert = readFileSync(certFile, "utf8");
  certificate.key = readFileSync(keyFile, "utf8");
}

/** As customers' names resolve; real DNS is never asked. */
export const dns =
  (names: Readonly<Record<string, readonly string[]>>): Resolve =>
  async (name) => {
    const addresses = names[name];
    if (addresses === undefined) throw Object.assign(new Error("not found"), { code: "ENOTFOUND" });
    return addresses;
  };

export function outgoing(policy: OutgoingPolicy = SANDBOX, names: Readonly<Record<string, readonly string[]>> = {}) {
  const requests = new OutgoingRequests(policy, {
    resolve: dns({ "receiver.example": ["127.0.0.1"], "other.example": ["127.0.0.1"], ...names }),
    ownAddresses: () => ["127.0.0.1"],
    trustedCertificates: certificate.cert,
  });
  ends.push(() => requests.close());
  return {
    post: async (url: string, more: Partial<OutgoingRequest> = {}) => {
      const { ms, ...outcome } = await requests.post({ url, headers: { "webhook-id": "1" }, body: "{}", ...more });
      expect(ms).toBeGreaterThanOrEqual(0);
      return outcome.kind === "answered" ? { ...outcome, answer: outcome.answer.toString("latin1") } : outcome;
    },
  };
}

export async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket.on("error", () => undefined));
  });
  ends.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** A receiver that keeps what it is sent. */
export async function receiver(answer: RequestListener = (_request, response) => void response.end("ok")) {
  const received: { head: IncomingMessage; body: string; socket: Socket }[] = [];
  const server = createHttpServer(async (request, response) => {
    const { socket } = request;
    let body = "";
    for await (const chunk of request) body += chunk;
    received.push({ head: request, body, socket });
    answer(request, response);
  });
  return { port: await listening(server), received, server };
}

/** One that answers each connection, once something has arrived on it, with bytes of its own making. */
export async function rawReceiver(answer: (socket: Socket) => void) {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.once("data", () => answer(socket));
  });
  return { url: `http://127.0.0.1:${await listening(server)}/`, connections };
}

/** Writes as long as the other side takes it. */
export function flood(socket: Socket, chunk: string): void {
  const write = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on("drain", write);
  write();
}

export const OK = { kind: "answered", status: 200, retryAfter: undefined, answer: "ok" };
export const NOT_ALLOWED_ADDRESS = { kind: "unanswered", reason: "address_not_allowed", detail: NOT_ALLOWED };
export const TOO_MUCH = { kind: "unanswered", reason: "protocol", detail: "the answer has too many bytes" };
