import type { ServerOptions } from "node:http";
import type { SecureContextOptions } from "node:tls";
import { isWithin, type Network } from "../../std/network.ts";
import { isLoopback } from "../limits/address.ts";

/** As long as a request has for its headers. */
const HANDSHAKE_MS = 20_000;

/**
 * The part of a server's options that is Node's: bounds on what arrives, with TLS or without. The framework knows two
 * types of servers for the two; nothing of ours depends on which it is, so only one is told.
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

/** Whose connections carry the requests of many: trusted proxies, and the machine itself, on which one may run. */
export function sharedBy(proxies: readonly Network[]): (address: string) => boolean {
  return (address) => isLoopback(address) || isWithin(proxies, address);
}
