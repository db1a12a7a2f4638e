/** Rejections that are sent later, because their connection is a proxy's, and what happens to their requests meanwhile. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { sendRaw, statusesIn } from "../../../test/support/http/raw-connection.ts";
import { toyAuthServer } from "../../../test/support/http/toy-auth-server.ts";
import { until } from "../../../test/support/until.ts";
import type { Clients } from "../../customers/clients/clients.ts";
import { pause } from "../../std/pause.ts";
import { reject } from "../../std/result.ts";
import { RateLimiter } from "../../web/limits/rate-limiter.ts";
import { DEFAULT_RATES } from "../../web/limits/rates.ts";
import type { AuthServerOptions } from "./auth-server.ts";

const CALLERS = 200;
const FORM = "grant_type=client_credentials&client_id=acme&client_secret=wrong";
const REQUEST = [
  "POST /oauth2/token HTTP/1.1",
  "Host: auth.example",
  "Content-Type: application/x-www-form-urlencoded",
  `Content-Length: ${FORM.length}`,
  "",
  FORM,
].join("\r\n");

function rejectingServer(options: Partial<AuthServerOptions> = {}) {
  const authenticate = vi.fn<Clients["authenticate"]>(async () => reject("client_authentication_failed"));
  const server = toyAuthServer({ clients: { authenticate }, ...options });
  return { server, authenticate };
}

test("a wrong secret and an unknown path are rejections, of which a thousand a second are sent", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { server } = rejectingServer();
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  const ask = (request: string) => sendRaw(url, request.replace("Host: ", "Connection: close\r\nHost: "));
  const unknown = "GET /nothing HTTP/1.1\r\nHost: auth.example\r\n\r\n";
  expect(statusesIn(await ask(unknown))).toEqual([404]);
  let sent = 0;
  const later = [REQUEST, unknown].map((request) => ask(request).finally(() => (sent += 1)));
  let come = 0;
  server.server.on("request", () => (come += 1));
  while (come < 2) await new Promise(setImmediate);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(sent).toBe(0);
  while (sent < 2) {
    vi.advanceTimersByTime(1);
    await new Promise(setImmediate);
  }
  expect((await Promise.all(later)).flatMap(statusesIn)).toEqual([401, 404]);
});

test("a request past the rate is not carried out when its caller leaves before the delayed rejection", async () => {
  const limiter = new RateLimiter({ ...DEFAULT_RATES, token: 0.01 }, { now: () => 0 });
  const { server, authenticate } = rejectingServer({ limiter });
  const { port } = new URL(await server.listen({ host: "127.0.0.1", port: 0 }));
  let open = 0;
  server.server.on("connection", (socket) => {
    open += 1;
    socket.once("close", () => (open -= 1));
  });
  let answered = 0;
  const sockets = Array.from({ length: CALLERS }, () => connect(Number(port), "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  for (const socket of sockets) socket.once("data", () => (answered += 1)).write(REQUEST);
  // One rejection is due in a millisecond, so most are delayed now.
  await until("the first have been answered", () => answered >= 20);
  for (const socket of sockets) socket.destroy();
  await until("all callers have left", () => open === 0);
  // A thousand are sent a second, so by then the last one is due. Sent twice, one of them ends the process.
  await pause(2 * CALLERS);
  expect(authenticate).toHaveBeenCalledTimes(3);
});
