/**
 * `Expect: 100-continue`: the caller sends the head of a request and waits for permission to send the body. It gets it when
 * the body begins to be read, which is after everything that a head alone can be rejected for.
 */
import type { IncomingMessage, Server } from "node:http";
import { hasBody } from "./fragmented-requests.ts";

const waiting = new WeakSet<IncomingMessage>();

export function answerExpectations(server: Pick<Server, "on" | "emit">): void {
  // RFC 9110, section 10.1.1: an unknown expectation may be ignored. Node would answer it without our headers.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("checkContinue", (request, response) => {
    const goOn = () => {
      // While earlier responses are due, Node would write this between the head and the body of one of them.
      if (waiting.delete(request) && response.socket !== null && !response.headersSent) response.writeContinue();
    };
    waiting.add(request);
    // Node would close the connection if permission is not given, though there is nothing to send.
    if (hasBody(request)) request.once("resume", goOn);
    else goOn();
    server.emit("request", request, response);
  });
}

/** Whether the caller still waits for permission to send the body. It may send it after another response, or not. */
export const isWaiting = (request: IncomingMessage): boolean => waiting.has(request);

/** From here on the body is only discarded, and its caller gets no permission to send it. */
export function neverContinue(request: IncomingMessage): void {
  waiting.delete(request);
}
