import type { ServerOptions } from "node:http";
import type { SecureContextOptions } from "node:tls";
import { isWithin, type Network } from "../../std/network.ts";
import { isLoopback } from "../limits/address.ts";

/** The same as for the headers of a request. */
const HANDSHAKE_MS = 20_000;

/**
 * Node's part of a server's options, with TLS or without. Fastify has two server types for these; our code does not depend
 * on which it is, so the type is always that of plain HTTP.
 */
export function transport(
  bounds: ServerOptions,
  tls: SecureContextOptions | undefined,
): { readonly http: ServerOptions } {
  return tls === undefined
    ? { http: bounds }
    : ({ https: { ...bounds, ...tls, handshakeTimeout: HANDSHAKE_MS } } as unknown as { http: ServerOptions });
}

/**
 * Whose `X-Forwarded-For` is believed, as the framework asks for it. A connection that has ended has no address any more.
 */
export function trustOf(proxies: readonly Network[]): false | ((address: string | undefined) => boolean) {
  return proxies.length > 0 && ((address) => isWithin(proxies, address ?? ""));
}

/** Whether many callers may share an address: trusted proxies, and loopback, where a proxy may run. */
export function sharedBy(proxies: readonly Network[]): (address: string) => boolean {
  return (address) => isLoopback(address) || isWithin(proxies, address);
}
