/** The last words on a connection from which no request could be read: Node itself has refused what came. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { isNextAnswerOurs } from "./last-response.ts";

export interface LastAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Unreadable {
  readonly status: 400 | 408 | 431;
  readonly reason: string;
}

/** For so long a caller who was refused may read why. Then it is over, also for one who goes on sending. */
const PARTING_MS = 1_000;

/** Says why the bytes were refused, in the words of `tell`, unless that would be read as another answer; and ends the connection. */
export function rejectConnection(
  error: Error & { readonly code?: string },
  socket: Socket,
  tell: (unreadable: Unreadable) => LastAnswer,
): void {
  if (error.code === "ECONNRESET" || !socket.writable || !isNextAnswerOurs(socket)) {
    socket.destroy();
    return;
  }
  setTimeout(() => socket.destroy(), PARTING_MS).unref();
  const { status, headers, body } = tell(unreadable(error.code));
  const all = { ...headers, "Content-Length": Buffer.byteLength(body), Connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", body].join("\r\n"));
}

function unreadable(code: string | undefined): Unreadable {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, reason: "the request did not arrive in time" };
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, reason: "the headers are too many, or too long together with the request line" };
    default:
      return { status: 400, reason: "the request is not HTTP" };
  }
}
