/**
 * The token endpoint on the API's port, beside its own (docs/decisions/0034-tokens-on-both-ports.md). A request for it goes
 * to the auth server itself, with the same rates, queue, delays and errors: the second door opens nothing that the first
 * one keeps shut.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { must } from "../std/assert.ts";

/** As on the auth port: how long the body of a token request may take to arrive. The API allows 30 s. */
const ARRIVAL_MS = 10_000;

/** @param isShared whether requests for a path, without its query, go to the auth server */
export function shareTokenEndpoint(
  api: Pick<Server, "listeners" | "removeListener" | "on">,
  auth: Pick<FastifyInstance, "routing">,
  isShared: (path: string) => boolean,
): void {
  const [handle] = api.listeners("request") as RequestListener[];
  const ofApi = must(handle, "a server has its framework's listener");
  api.removeListener("request", ofApi);
  api.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const [path = ""] = (request.url ?? "").split("?", 1);
    if (!isShared(path)) return ofApi(request, response);
    endIfSlow(request, response);
    auth.routing(request, response);
  });
}

function endIfSlow(request: IncomingMessage, response: ServerResponse): void {
  const timer = setTimeout(() => request.destroy(), ARRIVAL_MS).unref();
  const arrived = () => clearTimeout(timer);
  request.once("end", arrived);
  response.once("close", arrived);
}
