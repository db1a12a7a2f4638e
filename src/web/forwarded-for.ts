/**
 * Reduces `X-Forwarded-For` to the caller's address, before it is used. Each hop appends to the header, so the caller is the
 * last address that is not a trusted proxy's. Anything that is not an address ends the search at the proxy that sent it, so
 * only addresses reach limits, logs and the audit trail.
 */
import type { IncomingMessage } from "node:http";
import { isIPv4, isIPv6 } from "node:net";
import type { FastifyInstance } from "fastify";
import { isWithin, type Network } from "../std/network.ts";

const HEADER = "x-forwarded-for";
/** More proxies than there are in a row. Bounds the cost of a header of 62 KiB of commas. */
const MOST_PARTS = 20;

/** Must be the first hook: the framework reads the header each time its `ip` is used. */
export function reduceForwardedFor(server: Pick<FastifyInstance, "addHook">, proxies: readonly Network[]): void {
  if (proxies.length === 0) return;
  server.addHook("onRequest", (request, _reply, done) => {
    reduce(request.raw, proxies);
    done();
  });
}

function reduce({ headers, socket }: IncomingMessage, proxies: readonly Network[]): void {
  const header = headers[HEADER];
  if (header === undefined) return;
  const peer = socket.remoteAddress ?? "";
  const caller = isWithin(proxies, peer) ? callerBehind(String(header), peer, proxies) : peer;
  if (caller === peer) delete headers[HEADER];
  else headers[HEADER] = caller;
}

/** The address of the caller on whose behalf a trusted proxy calls from `peer`. */
export function callerBehind(header: string, peer: string, proxies: readonly Network[]): string {
  let hop = peer;
  let end = header.length;
  for (let parts = 0; parts < MOST_PARTS && end >= 0; parts += 1) {
    const start = end === 0 ? 0 : header.lastIndexOf(",", end - 1) + 1;
    const address = addressIn(header.slice(start, end).trim());
    if (address === undefined) return hop;
    if (!isWithin(proxies, address)) return address;
    hop = address;
    end = start - 1;
  }
  return hop;
}

/** `192.0.2.1`, `2001:db8::1`, and both with a port, as some proxies write them: `192.0.2.1:443`, `[2001:db8::1]:443`. */
function addressIn(part: string): string | undefined {
  const [, bracketed, dotted] = /^(?:\[([0-9a-f.:]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/i.exec(part) ?? [];
  const address = bracketed ?? dotted ?? part;
  if (isIPv4(address)) return bracketed === undefined ? address : undefined;
  // A zone is chosen by the sender and has no meaning on another machine.
  return isIPv6(address) && !address.includes("%") ? address : undefined;
}
