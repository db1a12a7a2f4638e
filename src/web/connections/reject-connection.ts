/** The final response on a connection on which parsing has failed. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { RequestTurns } from "../limits/request-turns.ts";
import type { Excess } from "./fragmented-requests.ts";
import { isEnding, linger, lingerAfterAnswer, stopReadingAtOnce } from "./lingering-close.ts";
import { isIdle, isNextAnswerOurs } from "./tracked-response.ts";

export interface LastAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const EXCESSES: Readonly<Record<string, string>> = {
  TOO_MANY_PIECES: "the request comes in too many small pieces",
  TOO_MANY_SKIPPED: "the request has too many bytes beside its head and its content",
};

/** The error for a request with too much of something, in the form of Node's own parse errors. */
export function excessive(excess: Excess): Error {
  const code = excess === "small pieces" ? "TOO_MANY_PIECES" : "TOO_MANY_SKIPPED";
  return Object.assign(new Error(`too many ${excess}`), { code });
}

interface Unreadable {
  readonly status: 400 | 408 | 431;
  readonly reason: string;
}

/** Of all servers: others wait for thousands that are rejected together. */
const turns = new RequestTurns();
/** Connections whose response waits for its turn, or was sent. */
const rejected = new WeakSet<Socket>();

/** Sends the response made by `respond` in its turn, unless it could be read as that of another request, and closes the connection. */
export function rejectConnection(
  error: Error & { readonly code?: string },
  socket: Socket,
  respond: (unreadable: Unreadable) => LastAnswer,
): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  // The end of a body that is no longer read is an error to Node, and its response may still be on its way.
  if (error.code === "HPE_CLOSED_CONNECTION" || isEnding(socket)) return void ignoreBehindLast(socket);
  if (!isNextAnswerOurs(socket)) return void socket.destroy();
  if (rejected.has(socket)) return;
  rejected.add(socket);
  // Node would report the next bytes as another parse error.
  stopReadingAtOnce(socket);
  turns.runRead(socket.remoteAddress ?? "", () => {
    if (socket.writable) sendLast(error, socket, respond);
  });
}

function sendLast(
  error: Error & { readonly code?: string },
  socket: Socket,
  respond: (unreadable: Unreadable) => LastAnswer,
): void {
  const { status, headers, body } = respond(unreadable(error.code));
  const all = { ...headers, "Content-Length": Buffer.byteLength(body), Connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  linger(socket, [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", body].join("\r\n"));
}

/** RFC 9112, section 9.6: what comes behind a request with `Connection: close` is not read. That request is answered. */
function ignoreBehindLast(socket: Socket): void {
  stopReadingAtOnce(socket);
  if (isIdle(socket)) linger(socket);
  else lingerAfterAnswer(socket);
}

function unreadable(code = ""): Unreadable {
  const reason = EXCESSES[code];
  if (reason !== undefined) return { status: 400, reason };
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, reason: "the request did not arrive in time" };
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, reason: "the headers are too many, or too long together with the request line" };
    default:
      return { status: 400, reason: "the request is not HTTP" };
  }
}
