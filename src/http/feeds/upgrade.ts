/**
 * How a request that asks for another protocol comes to its route, where that takes it over or it is answered like any
 * other: with its id, its limits and its problems.
 */
import { type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import type { Api } from "../api.ts";
import { badRequest, Problem } from "../problems.ts";

/** Of what a reader sends. It has nothing to say. */
const LONGEST_HEARD_BYTES = 1_024;

/** A connection that has asked for WebSocket. */
interface Offer {
  readonly socket: Socket;
  readonly response: ServerResponse;
  /** What has come behind the request. */
  readonly head: Buffer;
}

export class Upgrades {
  readonly #offers = new WeakMap<IncomingMessage, Offer>();
  /** Nothing is compressed: that would cost memory for each reader. */
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: LONGEST_HEARD_BYTES,
  });

  /** From here on the API's routes see all requests, whatever these ask for. */
  constructor(api: Api) {
    api.server.on("upgrade", (request, duplex, head) => {
      const socket = request.socket;
      if (request.headers.upgrade?.toLowerCase() !== "websocket") {
        readWithoutUpgrade(api.server, request, duplex, head);
        return;
      }
      // Nobody else listens, and it would end the process.
      socket.on("error", () => undefined);
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      response.once("finish", () => socket.destroySoon());
      this.#offers.set(request, { socket, response, head });
      api.routing(request, response);
    });
  }

  /** Throws a problem when the request cannot become a WebSocket (RFC 6455, section 4.2.1). */
  check({ raw }: FastifyRequest): void {
    if (!this.#offers.has(raw)) throw upgradeRequired("this is a feed: it is read over WebSocket");
    const { "sec-websocket-version": version, "sec-websocket-key": key = "" } = raw.headers;
    if (version !== VERSION) throw upgradeRequired(`Sec-WebSocket-Version has to be ${VERSION}`);
    if (!KEY.test(key)) throw badRequest("Sec-WebSocket-Key has to be 16 bytes in base64");
  }

  /** Takes over a connection that was checked. */
  accept({ raw }: FastifyRequest, reply: FastifyReply, opened: (webSocket: WebSocket, socket: Socket) => void): void {
    const offer = this.#offers.get(raw);
    if (offer === undefined) return;
    const { socket, response, head } = offer;
    reply.hijack();
    response.detachSocket(socket);
    // There are no subprotocols to choose from, so whatever is offered is passed over.
    delete raw.headers["sec-websocket-protocol"];
    this.#server.handleUpgrade(raw, socket, head, (webSocket) => opened(webSocket, socket));
  }
}

const VERSION = "13";
const KEY = /^[+/0-9A-Za-z]{22}==$/;

const upgradeRequired = (detail: string): Problem =>
  new Problem(426, detail, { headers: { upgrade: "websocket", "sec-websocket-version": VERSION } });

/**
 * A server may ignore an upgrade that it does not know (RFC 9110, section 7.8), and many a client offers `h2c` with
 * every request. Once there are WebSockets, Node hands all of them over half read. So the request is put back on the
 * connection without the offer, to be read as the ordinary one that it is.
 */
function readWithoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex, rest: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (!/^(?:upgrade|http2-settings)$/i.test(name)) lines.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  // Node reads headers as Latin-1.
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  socket.unshift(Buffer.concat([head, rest]));
  server.emit(socket instanceof TLSSocket ? "secureConnection" : "connection", socket);
}
