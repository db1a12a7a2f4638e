import { EventEmitter } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { shareTokenEndpoint } from "./share-token-endpoint.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A request as the API's server gets it, and which of the two servers it went to. */
function ask(url: string | undefined) {
  const gone: string[] = [];
  const api = new EventEmitter() as unknown as Server;
  api.on("request", () => gone.push("api"));
  const routing = () => void gone.push("auth");
  shareTokenEndpoint(api, { routing } as never, (path) => path === "/oauth2/token");
  const request = Object.assign(new EventEmitter(), { url, destroy: vi.fn() });
  const response = new EventEmitter();
  api.emit("request", request as unknown as IncomingMessage, response as unknown as ServerResponse);
  return { gone, request, response };
}

test("requests for what is shared go to the auth server, whatever their query is, and all others to the API alone", () => {
  for (const url of ["/oauth2/token", "/oauth2/token?", "/oauth2/token?a=/v2/orders"])
    expect([url, ask(url).gone]).toEqual([url, ["auth"]]);
  for (const url of ["/v2/orders", "/oauth2/token/", "/v2/orders?/oauth2/token", "", undefined])
    expect([url, ask(url).gone]).toEqual([url, ["api"]]);
});

test("a token request has ten seconds to arrive, as on the port of the auth server, and others as long as the API gives", () => {
  const { request: slow } = ask("/oauth2/token");
  const { request: arrived } = ask("/oauth2/token");
  const { request: answered, response } = ask("/oauth2/token");
  const { request: other } = ask("/v2/orders");
  arrived.emit("end");
  response.emit("close");
  vi.advanceTimersByTime(9_999);
  expect(slow.destroy).toHaveBeenCalledTimes(0);
  vi.advanceTimersByTime(60_000);
  expect([slow, arrived, answered, other].map(({ destroy }) => destroy.mock.calls.length)).toEqual([1, 0, 0, 0]);
});
