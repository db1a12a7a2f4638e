import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { problem, startToyApi, type ToyApi } from "../../test/support/http/toy-api.ts";
import { until } from "../../test/support/until.ts";

let toy: ToyApi;
afterEach(() => toy.close());

/** Something that one part of a test waits for and another gives. */
class Signal {
  give = (): void => {};
  readonly given = new Promise<void>((resolve) => {
    this.give = resolve;
  });
}

/** Sends bytes on a connection of their own; answers what came back until the server ended it. */
function sendRaw(bytes: string): Promise<string> {
  const { hostname, port } = new URL(toy.url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  return textOf(socket);
}

async function textOf(socket: Socket): Promise<string> {
  let text = "";
  for await (const part of socket.setEncoding("utf8")) text += part;
  return text;
}

/** The status line, the headers but the id, and the body of a raw answer. */
function parsed(raw: string): { line: string; headers: string[]; body: Record<string, unknown> } {
  const [head = "", body = ""] = raw.split("\r\n\r\n");
  const [line = "", ...headers] = head.split("\r\n");
  return { line, headers: headers.filter((header) => !/^x-request-id: /i.test(header)), body: JSON.parse(body) };
}

test("on closing, requests under way are finished, and those that still arrive are sent elsewhere", async () => {
  const started = new Signal();
  const finish = new Signal();
  toy = await startToyApi((api) => {
    api.get("/slow", { config: { scope: "public" }, schema: { hide: true } }, async () => {
      started.give();
      await finish.given;
      return { finished: true };
    });
  });
  const { hostname, port } = new URL(toy.url);
  const late = connect(Number(port), hostname);
  await once(toy.api.server, "connection");
  const underWay = sendRaw("GET /slow HTTP/1.1\r\nHost: toy\r\n\r\n");
  await started.given;
  const closed = toy.api.close();
  await until("the server no longer listens", () => !toy.api.server.listening);

  late.write("GET /v2/toys HTTP/1.1\r\nHost: toy\r\nX-Request-Id: r-1\r\n\r\n");
  const rejected = parsed(await textOf(late));
  expect(rejected.line).toBe("HTTP/1.1 503 Service Unavailable");
  expect(rejected.headers).toContain("connection: close");
  expect(rejected.headers).toContain("retry-after: 1");
  expect(rejected.body).toEqual(
    problem(503, "Service Unavailable", "the service is shutting down", { headers: { "retry-after": "1" } }).body,
  );
  await expect(fetch(`${toy.url}/v2/toys`)).rejects.toThrow("fetch failed");

  finish.give();
  const answer = parsed(await underWay);
  expect(answer.line).toBe("HTTP/1.1 200 OK");
  expect(answer.headers).toContain("connection: close");
  expect(answer.body).toEqual({ finished: true });
  await closed;
});

test("on closing, an idle connection that is kept alive does not hold it up", async () => {
  toy = await startToyApi();
  const agent = new Agent({ keepAlive: true });
  await new Promise<void>((resolve, reject) => {
    httpRequest(`${toy.url}/v2/toys`, { agent }, (response) => response.resume().on("end", resolve))
      .on("error", reject)
      .end();
  });
  const started = performance.now();
  await toy.api.close();
  expect(performance.now() - started).toBeLessThan(5_000);
  agent.destroy();
});

test("bytes that are not HTTP are answered with a problem", async () => {
  toy = await startToyApi();
  const { line, headers, body } = parsed(await sendRaw("hello\r\n\r\n"));
  expect(line).toBe("HTTP/1.1 400 Bad Request");
  expect(headers).toEqual([
    "Content-Type: application/problem+json",
    "X-Content-Type-Options: nosniff",
    "Cache-Control: no-store",
    expect.stringMatching(/^Content-Length: \d+$/),
    "Connection: close",
  ]);
  expect(body).toEqual({
    type: "about:blank",
    title: "Bad Request",
    status: 400,
    detail: "the request is not HTTP",
    meta: {},
    request_id: expect.any(String),
  });
});

test("more than 64 KiB of request line and headers is 431", async () => {
  toy = await startToyApi();
  const { line, body } = parsed(await sendRaw(`GET /v2/toys?x=${"a".repeat(66_000)} HTTP/1.1\r\nHost: toy\r\n\r\n`));
  expect(line).toBe("HTTP/1.1 431 Request Header Fields Too Large");
  expect(body).toMatchObject({
    status: 431,
    detail: "the headers are too many, or too long together with the request line",
  });
});

test("a caller that disconnects while sending a body is no bug", async () => {
  toy = await startToyApi();
  const { hostname, port } = new URL(toy.url);
  const answered = new Promise<void>((resolve) =>
    toy.api.server.once("request", (request) => request.once("close", resolve)),
  );
  const socket = connect(Number(port), hostname);
  socket.write(
    "POST /v2/toys/default HTTP/1.1\r\nHost: toy\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    () => socket.destroy(),
  );
  await answered;
  await toy.close();
  expect(toy.logged.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});
