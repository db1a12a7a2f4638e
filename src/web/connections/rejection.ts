/** The last answer on a connection from which no request can be read any more. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { linger, lingerAfterAnswer, stopReadingAtOnce } from "./lingering-close.ts";
import { isIdle, isNextAnswerOurs } from "./tracked-response.ts";

export interface LastAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const TOO_MANY_PIECES = "TOO_MANY_PIECES";

/** Why a request is read no further when its body comes in too many pieces: told as what Node itself refuses. */
export const tooManyPieces = (): Error => Object.assign(new Error("too many pieces"), { code: TOO_MANY_PIECES });

interface Unreadable {
  readonly status: 400 | 408 | 431;
  readonly reason: string;
}

/** Says why the bytes were refused, in the words of `tell`, unless that would be read as another answer; and ends the connection. */
export function rejectConnection(
  error: Error & { readonly code?: string },
  socket: Socket,
  tell: (unreadable: Unreadable) => LastAnswer,
): void {
  if (error.code === "HPE_CLOSED_CONNECTION") return void ignoreBehindLast(socket);
  if (error.code === "ECONNRESET" || !socket.writable || !isNextAnswerOurs(socket)) {
    socket.destroy();
    return;
  }
  // Node would refuse again what it reads next.
  stopReadingAtOnce(socket);
  const { status, headers, body } = tell(unreadable(error.code));
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

function unreadable(code: string | undefined): Unreadable {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, reason: "the request did not arrive in time" };
    case TOO_MANY_PIECES:
      return { status: 400, reason: "the request comes in too many small pieces" };
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, reason: "the headers are too many, or too long together with the request line" };
    default:
      return { status: 400, reason: "the request is not HTTP" };
  }
}
