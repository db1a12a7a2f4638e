/** One request on one connection, and its answer. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { steadyClock } from "../../std/clock.ts";
import { boundBytes, NotConnected, type NotConnectedReason, TooManyBytes } from "./connect.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { hostOf, portOf } from "./outgoing-policy.ts";

export type UnansweredReason = NotConnectedReason | "url_not_allowed" | "protocol" | "cancelled";

export type Outcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly answer: Buffer;
    }
  | {
      readonly kind: "unanswered";
      readonly reason: UnansweredReason;
      readonly detail: string;
      /** The connection had been used before, and ended before it brought anything. */
      readonly wasIdle?: boolean;
    };

export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly answerBytes: number;
  readonly payer?: string | undefined;
  readonly signal?: AbortSignal;
}

const MAX_HEADER_BYTES = 16_384;
const MAX_HEADERS = 100;
/** After the head of an answer, for its body, on which nothing depends. */
const BODY_MS = 1_000;
/** A longer body is not read to its end; the connection ends. */
const MAX_BODY_BYTES = 16_384;
/** Of one answer: interim answers and pieces of its body, each of which costs microseconds however small it is. */
const MOST_PIECES = 256;
/** Of one answer, beside its body: its head, interim answers before it, lengths of chunks, what TLS adds, half a record of it. */
const MAX_OTHER_BYTES = MAX_HEADER_BYTES + 24_576;

/** @param until by the steady clock */
export function exchange(message: Message, pool: ConnectionPool, until: number): Promise<Outcome> {
  return new Promise((resolve) => {
    const request = begin(message, pool);
    let endWatch: (() => boolean) | undefined;
    let bodyBytes = 0;
    let pieces = 0;
    const settle = (outcome: Outcome): void => {
      clearTimeout(timer);
      message.signal?.removeEventListener("abort", cancel);
      const isTooMuch = endWatch?.() === true && outcome.kind === "answered";
      resolve(isTooMuch ? TOO_MUCH : outcome);
      // Of an answer that came before all was sent, Node would send the rest first, for as long as the receiver does not read.
      if (outcome.kind === "unanswered" || !request.writableFinished) request.destroy();
    };
    const fail = (reason: UnansweredReason, detail: string): void => settle({ kind: "unanswered", reason, detail });
    const countPiece = (): void => {
      pieces += 1;
      if (pieces > MOST_PIECES) settle(TOO_MUCH);
    };
    const cancel = (): void => fail("cancelled", "the service stops");
    const timer = setTimeout(() => fail("timeout", "no answer in time"), Math.max(0, until - steadyClock.now()));
    message.signal?.addEventListener("abort", cancel);
    request
      .on("socket", (socket: Socket) => {
        endWatch = boundBytes(socket, MAX_OTHER_BYTES, () => bodyBytes);
      })
      .on("information", countPiece)
      .on("upgrade", (_response, socket) => {
        socket.destroy();
        fail("protocol", "the answer changes the protocol, which was not asked for");
      })
      .on("error", (error) => settle(failureOf(error, request.reusedSocket)))
      .on("response", (response) => {
        response.on("data", (chunk: Buffer) => {
          bodyBytes += chunk.length;
          countPiece();
        });
        readAnswer(request, response, message.answerBytes, settle);
      });
    if (message.signal?.aborted) return cancel();
    request.end(message.body);
  });
}

/** For `http:` in either case: the pool makes the connection, with TLS if it is to have it. */
function begin({ url: text, headers, body, payer }: Message, pool: ConnectionPool): ClientRequest {
  const url = new URL(text);
  // Node passes it on to the pool.
  const forPool = { payer };
  const request = httpRequest({
    ...forPool,
    agent: pool,
    method: "POST",
    host: hostOf(url),
    port: portOf(url),
    // In the header Host a port is left out only if it is this one.
    defaultPort: url.protocol === "https:" ? 443 : 80,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
    maxHeaderSize: MAX_HEADER_BYTES,
    // Node's default depends on an option of its command line.
    insecureHTTPParser: false,
  });
  request.maxHeadersCount = MAX_HEADERS;
  return request;
}

/** The status has decided: what the body does, and how it ends, changes nothing. */
function readAnswer(
  request: ClientRequest,
  response: IncomingMessage,
  most: number,
  settle: (outcome: Outcome) => void,
): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const answered = (): void => {
    clearTimeout(timer);
    const answer = Buffer.concat(chunks).subarray(0, most);
    settle({
      kind: "answered",
      status: response.statusCode ?? 0,
      retryAfter: response.headers["retry-after"],
      answer,
    });
  };
  const cutOff = (): void => {
    answered();
    request.destroy();
  };
  const timer = setTimeout(cutOff, BODY_MS);
  response
    .on("data", (chunk: Buffer) => {
      if (length < most) chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_BODY_BYTES) cutOff();
    })
    .on("error", answered)
    .once("end", answered)
    .once("close", answered);
}

const TOO_MUCH: Outcome = { kind: "unanswered", reason: "protocol", detail: "the answer has too many bytes" };

function failureOf(error: NodeJS.ErrnoException, wasIdle: boolean): Outcome {
  if (error instanceof NotConnected) return { kind: "unanswered", reason: error.reason, detail: error.message };
  if (error instanceof TooManyBytes) return TOO_MUCH;
  const { code = "" } = error;
  if (code.startsWith("HPE_"))
    return { kind: "unanswered", reason: "protocol", detail: `the answer is not valid HTTP: ${code}` };
  const detail = `the connection ended without an answer${code === "" ? "" : `: ${code}`}`;
  return { kind: "unanswered", reason: "connection", detail, wasIdle };
}
