/**
 * Serves the metrics on a separate address, because they reveal business volume and topology. There is no authentication:
 * restrict access to the address.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { boundConnections } from "../../web/connections/connections.ts";
import { answerExpectations } from "../../web/connections/expectations.ts";
import { goesOn, stopBehind } from "../../web/connections/last-request.ts";
import { rejectConnection } from "../../web/connections/reject-connection.ts";
import { TrackedResponse } from "../../web/connections/tracked-response.ts";
import { unreadable } from "../../web/header-checks.ts";

const PATH = "/metrics";
/** The text format of Prometheus, version 0.0.4. */
const TEXT = "text/plain; version=0.0.4; charset=utf-8";
const HEADERS = {
  "content-type": "text/plain; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};
const MOST_CONNECTIONS = 16;

/** @param onFailure Called when collecting the metrics fails. @returns A server that does not listen yet. */
export function createMetricsServer(text: () => Promise<string>, onFailure: (error: unknown) => void): Server {
  const server = createServer(
    {
      ServerResponse: TrackedResponse,
      headersTimeout: 5_000,
      requestTimeout: 5_000,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 8_192,
      requireHostHeader: false,
    },
    (request, response) => {
      const { method, url, headers } = request;
      const why = unreadable(request);
      // After an ignored protocol upgrade, Node would parse the rest of the connection from the wrong position.
      response.shouldKeepAlive &&= why === undefined && headers.upgrade === undefined;
      if (why !== undefined) return answer(response, why.status, `${why.reason}\n`);
      if (url !== PATH) return answer(response, 404, "no such path: the metrics are at /metrics\n");
      if (method !== "GET" && method !== "HEAD") return answer(response, 405, "this path allows GET, HEAD\n");
      text()
        .then(
          (body) => answer(response, 200, body, TEXT),
          (error: unknown) => {
            onFailure(error);
            answer(response, 500, "the log has what went wrong\n");
          },
        )
        .catch((error: unknown) => {
          onFailure(error);
          response.destroy();
        });
    },
  );
  answerExpectations(server);
  server.on("clientError", (error, socket: Socket) =>
    rejectConnection(error, socket, ({ status, reason }) => ({ status, headers: HEADERS, body: `${reason}\n` })),
  );
  boundConnections(server, { most: MOST_CONNECTIONS, isShared: () => true, onDropped: () => undefined });
  return server;
}

function answer(response: ServerResponse, status: number, body: string, type?: string): void {
  if (goesOn(response.req)) {
    response.shouldKeepAlive = false;
    stopBehind(response.req);
  }
  response.writeHead(status, type === undefined ? HEADERS : { ...HEADERS, "content-type": type });
  response.end(body);
}
