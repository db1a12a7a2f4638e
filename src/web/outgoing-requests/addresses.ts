/** The addresses of a host name, by DNS alone: no hosts file, no search domains. */
import { Resolver } from "node:dns/promises";

/** Resolves a name. Rejects with an error of Node's `dns`. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/** A name may have thousands, and each is judged. */
const MOST_ADDRESSES = 16;

/**
 * Not `dns.lookup`, which would hold one of the process's few threads for as long as a customer's DNS server takes. A new
 * resolver each time, since it reads the machine's DNS servers when it is made, and can be cancelled.
 */
export const resolveByDns: Resolve = (name, signal) => resolveWith(new Resolver(OPTIONS), name, signal);

const OPTIONS = { timeout: 1_500, tries: 2 };

export async function resolveWith(resolver: Resolver, name: string, signal: AbortSignal): Promise<readonly string[]> {
  if (/(?:^|\.)localhost\.?$/i.test(name)) return ["127.0.0.1", "::1"]; // RFC 6761, section 6.3
  const cancel = (): void => resolver.cancel();
  signal.addEventListener("abort", cancel);
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = [v4, v6].flatMap((each) => (each.status === "fulfilled" ? each.value : []));
    if (found.length === 0 && v4.status === "rejected") throw v4.reason;
    return found.slice(0, MOST_ADDRESSES);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
