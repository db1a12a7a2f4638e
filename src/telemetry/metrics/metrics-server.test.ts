import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sendRaw, statusesIn } from "../../../test/support/http/raw-connection.ts";
import { createMetricsServer } from "./metrics-server.ts";

/** While set, the metrics cannot be collected. */
let failure: Error | undefined;
const reported: unknown[] = [];
const server = createMetricsServer(
  async () => {
    if (failure !== undefined) throw failure;
    return "parbook_up 1\n";
  },
  (error) => reported.push(error),
);
let url = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const get = (...headers: string[]): string => ["GET /metrics HTTP/1.1", "Host: a", ...headers, "", ""].join("\r\n");

test("unreadable headers are rejected, protocol upgrades ignored, and the connection closed", async () => {
  const responses = await Promise.all([
    sendRaw(url, get("Connection: close")),
    sendRaw(url, get(...new Array<string>(101).fill("M: b"))),
    sendRaw(url, `${get("Transfer-Encoding: gzip, chunked")}0\r\n\r\n`),
    sendRaw(url, get("Connection: Upgrade", "Upgrade: websocket")),
    sendRaw(url, get().replace("Host: a\r\n", "")),
    sendRaw(url, get().replace("Host: a", "Host: a b")),
    sendRaw(url, get("Expect: 100-continue", "Content-Length: 2")),
    sendRaw(url, get("Connection: close") + get()),
    sendRaw(url, get("A: a".repeat(3_000))),
    // From Node 22 on, Node itself rejects this one.
    sendRaw(url, get(...new Array<string>(1_100).fill("M: b")) + get()),
  ]);
  expect(responses.map(statusesIn)).toEqual([[200], [431], [501], [200], [400], [400], [200], [200], [431], [431]]);
  expect(responses[1]).toContain("there are more than 100 headers\n");
});

test("a body is not read, and one that comes in too many small pieces ends its connection", async () => {
  const chunked = get("Transfer-Encoding: chunked");
  expect(statusesIn(await sendRaw(url, `${chunked}5\r\n12345\r\n`, 1, "5\r\n12345\r\n"))).toEqual([200]);
  const started = performance.now();
  expect(statusesIn(await sendRaw(url, chunked + "1\r\n7\r\n".repeat(20_000)))).toBeOneOf([[], [200]]);
  expect(performance.now() - started).toBeLessThan(4_000);
});

test("metrics are served in the format of Prometheus and kept by nobody, and a failure to collect them is reported", async () => {
  const ask = async (path = "/metrics", method = "GET") => {
    const answer = await fetch(url + path, { method });
    const { date: _, connection: __, "keep-alive": ___, ...headers } = Object.fromEntries(answer.headers);
    return [answer.status, headers, await answer.text()];
  };
  const safe = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
  const format = { ...safe, "content-type": "text/plain; version=0.0.4; charset=utf-8" };
  const text = { ...safe, "content-type": "text/plain; charset=utf-8", "transfer-encoding": "chunked" };
  expect(await ask()).toEqual([200, { ...format, "transfer-encoding": "chunked" }, "parbook_up 1\n"]);
  expect(await ask("/other")).toEqual([404, text, "no such path: the metrics are at /metrics\n"]);
  expect(await ask("/metrics", "DELETE")).toEqual([405, text, "this path allows GET, HEAD\n"]);
  failure = new Error("the registry is broken");
  expect(await ask()).toEqual([500, text, "the log has what went wrong\n"]);
  expect(reported).toEqual([failure]);
  failure = undefined;
});
