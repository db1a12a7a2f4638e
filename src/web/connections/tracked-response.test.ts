import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Duplex } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { countUnanswered, isIdle, isPipelined, TrackedResponse } from "./tracked-response.ts";

const responses: ServerResponse[] = [];
const server = createServer({ ServerResponse: TrackedResponse }, (_request, response) => {
  responses.push(response);
});
afterEach(() => {
  responses.length = 0;
  server.close();
});

test("a connection is idle when all its requests are answered, and when it ends every response is closed", async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(4));
  await until("all requests have come", () => responses.length === 4);
  const [first, second, third] = responses as [ServerResponse, ServerResponse, ServerResponse];
  const arrived = first.req.socket;
  const closed: number[] = [];
  for (const [index, response] of responses.entries()) response.once("close", () => closed.push(index));

  third.end("third");
  first.end("first");
  await until("the first is answered", () => closed.length === 1);
  expect(isIdle(arrived)).toBe(false);
  second.end("second");
  await until("the third is answered", () => closed.length === 3);
  expect(isIdle(arrived)).toBe(false);
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3));
  await until("more requests have come", () => responses.length === 7);
  for (const [index, response] of responses.entries()) if (index > 3) response.once("close", () => closed.push(index));
  // The last one has been answered already, as far as it can be.
  responses[6]?.end("last");
  socket.destroy();
  await until("all are closed", () => closed.length === 7);
  expect(closed.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(responses.map(({ destroyed }) => destroyed)).toEqual(new Array(7).fill(true));
});

test("a response behind one that ends the connection is closed with it, once", async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3));
  await until("all requests have come", () => responses.length === 3);
  const [first, second, third] = responses as [ServerResponse, ServerResponse, ServerResponse];
  const closed: number[] = [];
  for (const [index, response] of responses.entries()) response.on("close", () => closed.push(index));
  expect(countUnanswered(third)).toBe(3);
  second.end("answered, and never sent");
  first.setHeader("connection", "close");
  first.end("first");
  socket.resume();
  await until("all are closed", () => closed.length === 3);
  expect([closed.toSorted(), countUnanswered(third)]).toEqual([[0, 1, 2], 0]);
});

test("a request is pipelined behind one that waits for its response, not behind one whose response is about to leave", async () => {
  // Writes to it are never confirmed, as in a turn of the event loop that is not over.
  const socket = new Duplex({ read: () => {}, write: () => {} });
  server.emit("connection", socket);
  const ask = async (): Promise<ServerResponse> => {
    const made = responses.length;
    socket.push("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await until("it has come", () => responses.length === made + 1);
    return responses.at(-1) as ServerResponse;
  };
  const first = await ask();
  expect(isPipelined(first)).toBe(false);
  first.end();
  const second = await ask();
  expect(isPipelined(second)).toBe(false);
  // Complete, but it waits for the first one to leave.
  second.end();
  expect(isPipelined(await ask())).toBe(true);
});
