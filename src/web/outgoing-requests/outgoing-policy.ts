/**
 * Where the service may send requests that others ask for: a URL of a customer's must not reach inside the operator's network,
 * nor this machine. Names are judged by the addresses that they have when a connection is made (connect.ts).
 */
import { isIP } from "node:net";
import { isWithin, type Network, parseNetwork } from "../../std/network.ts";

export interface OutgoingPolicy {
  /** This machine: loopback and its own addresses. */
  readonly allowLoopback: boolean;
  /** `http:` beside `https:`. */
  readonly allowCleartext: boolean;
  readonly allowedPorts: "any" | readonly number[];
  /** Beside public addresses. */
  readonly allowedNetworks: readonly Network[];
  /** Whatever else is allowed. */
  readonly refusedNetworks: readonly Network[];
}

const networks = (texts: string): Network[] => texts.split(" ").flatMap((text) => parseNetwork(text) ?? []);

const LOOPBACK = networks("127.0.0.0/8 ::1/128");

/**
 * What is not public, by the IANA's registries of special addresses for IPv4 and IPv6 (RFC 6890 and what followed), with
 * multicast and what is reserved.
 */
const NOT_PUBLIC = networks(
  // This network, private ones, shared by carriers, link-local (which has clouds' metadata).
  "0.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 169.254.0.0/16 " +
    // Protocols', relays of 6to4, documentation, benchmarks, multicast, reserved and broadcast.
    "192.0.0.0/24 192.88.99.0/24 192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4 " +
    // Protocols' (Teredo, benchmarks, ORCHID), documentation, 6to4.
    "2001::/23 2001:db8::/32 3fff::/20 2002::/16 " +
    // Azure's own services, as its machines reach them. Those of other clouds are not public anyway.
    "168.63.129.16",
);

/**
 * Of IPv6 only what is given out for use: translated (NAT64), private, link-local and multicast addresses are outside. Mapped
 * ones are read as IPv4.
 */
const OF_THE_INTERNET = networks("0.0.0.0/0 2000::/3");

/**
 * ISATAP (RFC 5214): an interface id that stands for an IPv4 address, to which this machine would send the packet itself if
 * it took part.
 */
const ISATAP = /:(?:200|0)?:5efe:[0-9a-f]+:[0-9a-f]+$/;

/** @param ownAddresses of this machine, which are loopback in all but name */
export function isAllowedAddress(address: string, policy: OutgoingPolicy, ownAddresses: readonly string[]): boolean {
  if (isIP(address) === 0 || isWithin(policy.refusedNetworks, address)) return false;
  if (isWithin(policy.allowedNetworks, address)) return true;
  const own = ownAddresses.flatMap((each) => parseNetwork(each.split("%", 1)[0] ?? "") ?? []);
  if (isWithin(LOOPBACK, address) || isWithin(own, address)) return policy.allowLoopback;
  return isPublic(address);
}

function isPublic(address: string): boolean {
  if (isWithin(NOT_PUBLIC, address) || ISATAP.test(address.toLowerCase())) return false;
  return isWithin(OF_THE_INTERNET, address);
}

const MAX_URL_LENGTH = 2_048;

/**
 * Whether a request may be sent to a URL, as far as it says by itself. The URL is read as Node reads it (WHATWG), which takes
 * `0x7f.1` and `127.1` for an address; what it would repair or drop silently is not allowed.
 * @returns why not, as a sentence; undefined if it may
 */
export function judgeUrl(text: string, policy: OutgoingPolicy): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `the URL has more than ${MAX_URL_LENGTH} characters`;
  if (!/^[\x21-\x7e]*$/.test(text)) return "the URL has characters other than printable ASCII";
  const scheme = policy.allowCleartext ? "https:// or http://" : "https://";
  const [, protocol = "", authority = "", rest = ""] = /^(https?:)\/\/([^/?#\\]+)(.*)$/i.exec(text) ?? [];
  if (protocol === "") return `the URL does not begin with ${scheme} and a host`;
  if (protocol.toLowerCase() === "http:" && !policy.allowCleartext) return `the URL does not begin with ${scheme}`;
  if (authority.includes("@")) return "the URL has a user or password";
  if (rest.includes("#")) return "the URL has a fragment";
  if (!URL.canParse(text) || `${authority}${rest}`.includes("\\")) return "the URL is not valid";
  return judgeHost(new URL(text), policy);
}

function judgeHost(url: URL, policy: OutgoingPolicy): string | undefined {
  const port = portOf(url);
  if (port === 0) return "the URL has the port 0";
  if (policy.allowedPorts !== "any" && !policy.allowedPorts.includes(port)) {
    return `the port of the URL is not ${policy.allowedPorts.join(" or ")}`;
  }
  const host = hostOf(url);
  // Names are judged when they are resolved. This machine's own addresses are, too.
  if (isIP(host) !== 0 && !isAllowedAddress(host, policy, [])) return NOT_ALLOWED;
  return undefined;
}

/** It names no address: which one a name has inside the operator's network is not for customers. */
export const NOT_ALLOWED = "the address of the URL is not allowed";

/** Without the brackets of an IPv6 address. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1");

export const portOf = (url: URL): number => Number(url.port || (url.protocol === "https:" ? 443 : 80));
