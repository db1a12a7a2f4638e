/**
 * How a connection becomes a WebSocket. Node hands a connection over in the middle of its own work on it, so only valid
 * handshakes of feeds are taken, on connections with no other request in flight. Any other request to upgrade stays with
 * Node, is answered as if it had not asked (RFC 9110, section 7.8), and is the last one on its connection
 * (`web/connections/last-request.ts`).
 */
import { IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { noteHandedOver } from "../../web/connections/fragmented-requests.ts";
import { isIdle, TrackedResponse } from "../../web/connections/tracked-response.ts";
import { doubledHeader, unreadable } from "../../web/header-checks.ts";
import type { Api } from "../api.ts";
import { badRequest, Problem } from "../problems/problems.ts";

const MAX_FRAME_BYTES = 1_024;

/** How long a client may take to read the response to a rejected handshake. */
const RESPONSE_TIMEOUT_MS = 5_000;

/**
 * Node sets `upgrade` on a parsed request that asks for another protocol. If it then reads true, Node sets it again, to
 * whether there is a listener, and hands the connection over if it still reads true. From Node 24.9 on the server option
 * `shouldUpgradeCallback` does the same.
 */
export class UpgradeRequest extends IncomingMessage {
  get upgrade(): boolean {
    return upgrading.has(this);
  }

  set upgrade(isUpgrade: boolean | null) {
    // On the first assignment the method and the headers are not known yet.
    const isTaken = this.method === null || this.method === "CONNECT" || isHandshake(this);
    if (isUpgrade === true && isTaken) upgrading.add(this);
    else upgrading.delete(this);
  }
}

const upgrading = new WeakSet<IncomingMessage>();

const FEED = /^\/(?:marketdata|executiondata)(?:[/?]|$)/;
const VERSION = "13";
const KEY = /^[+/0-9A-Za-z]{22}==$/;

/** RFC 6455, section 4.2.1, and stricter where it leaves a choice. */
function isHandshake(request: IncomingMessage): boolean {
  const { headers, method, url = "", httpVersion, socket } = request;
  return (
    method === "GET" &&
    httpVersion === "1.1" &&
    FEED.test(url) &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    headers["sec-websocket-version"] === VERSION &&
    KEY.test(headers["sec-websocket-key"] ?? "") &&
    headers["content-length"] === undefined &&
    headers["transfer-encoding"] === undefined &&
    unreadable(request) === undefined &&
    doubledHeader(request) === undefined &&
    isIdle(socket)
  );
}

/** A connection that Node has handed over. */
interface HandedOver {
  readonly socket: Socket;
  readonly response: ServerResponse;
  /** Bytes received after the request. */
  readonly head: Buffer;
}

export class Upgrades {
  readonly #handedOver = new WeakMap<IncomingMessage, HandedOver>();
  /** No compression: it costs memory for each reader. */
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
  });

  /** Routes handshakes like other requests. */
  constructor(api: Api) {
    api.server.on("upgrade", (request, _stream, head) => {
      const { socket } = request;
      noteHandedOver(socket);
      // Node has removed its listeners: an error would end the process, and nothing would bound the response.
      socket.on("error", () => undefined);
      socket.setTimeout(RESPONSE_TIMEOUT_MS, () => socket.destroy());
      // Tracked, so that the connection is not taken for an idle one.
      const response = new TrackedResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      response.once("finish", () => socket.destroySoon());
      this.#handedOver.set(request, { socket, response, head });
      api.routing(request, response);
    });
  }

  /** @throws Problem when the request is not a handshake */
  check({ raw }: FastifyRequest): void {
    if (this.#handedOver.has(raw)) return;
    const { upgrade, "sec-websocket-version": version, "sec-websocket-key": key = "" } = raw.headers;
    if (upgrade?.toLowerCase() !== "websocket") throw upgradeRequired("this is a feed: connect to it over WebSocket");
    if (version !== VERSION) throw upgradeRequired(`Sec-WebSocket-Version has to be ${VERSION}`);
    if (!KEY.test(key)) throw badRequest("Sec-WebSocket-Key has to be 16 bytes in base64");
    throw badRequest("send the handshake without a body, after all earlier requests on the connection are answered");
  }

  /** Completes the handshake of a request that has passed `check`. */
  accept({ raw }: FastifyRequest, reply: FastifyReply, opened: (webSocket: WebSocket, socket: Socket) => void): void {
    const offer = this.#handedOver.get(raw);
    if (offer === undefined) return;
    const { socket, response, head } = offer;
    reply.hijack();
    response.detachSocket(socket);
    // We have no subprotocols, so offers of them are ignored.
    delete raw.headers["sec-websocket-protocol"];
    this.#server.handleUpgrade(raw, socket, head, (webSocket) => opened(webSocket, socket));
  }
}

const upgradeRequired = (detail: string): Problem =>
  new Problem(426, detail, { headers: { upgrade: "websocket", "sec-websocket-version": VERSION } });
