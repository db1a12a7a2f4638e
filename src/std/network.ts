/**
 * IP networks in CIDR notation. IPv4-mapped IPv6 addresses and networks (`::ffff:192.0.2.1`, as dual-stack sockets report
 * them) are read as IPv4.
 */
import { isIPv4, isIPv6 } from "node:net";

export interface Network {
  /** In CIDR notation: `192.0.2.0/24`. */
  readonly text: string;
  readonly family: 4 | 6;
  /** The prefix length in bits. */
  readonly prefix: number;
  readonly bits: bigint;
}

type Address = Omit<Network, "text" | "prefix">;

const WIDTH = { 4: 32, 6: 128 } as const;
/** RFC 4291, section 2.5.5.2: IPv4-mapped addresses. */
const MAPPED = 0xffffn;

/** Reads a network, or an address as a network of one. @returns undefined if invalid, or with bits set beyond the prefix */
export function parseNetwork(text: string): Network | undefined {
  const [, host = "", length] = /^([^/]+)(?:\/(0|[1-9][0-9]{0,2}))?$/.exec(text) ?? [];
  const address = readAddress(host);
  if (address === undefined) return undefined;
  const written = isIPv4(host) ? 4 : 6;
  const prefix = Number(length ?? WIDTH[written]) - (WIDTH[written] - WIDTH[address.family]);
  if (prefix < 0 || prefix > WIDTH[address.family]) return undefined;
  if (address.bits !== leading(address.bits, address.family, prefix) << BigInt(WIDTH[address.family] - prefix)) {
    return undefined;
  }
  const name = written === address.family ? host.split("%", 1)[0] : dotted(address.bits);
  return { text: `${name}/${prefix}`, prefix, ...address };
}

/** @returns false for what is no IP address, such as the peer of a Unix socket */
export function isWithin(networks: readonly Network[], address: string): boolean {
  const { family, bits } = readAddress(address) ?? {};
  if (family === undefined || bits === undefined) return false;
  return networks.some(
    (network) =>
      network.family === family &&
      leading(network.bits, family, network.prefix) === leading(bits, family, network.prefix),
  );
}

function leading(bits: bigint, family: 4 | 6, prefix: number): bigint {
  return bits >> BigInt(WIDTH[family] - prefix);
}

function readAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 4, bits: joined(text.split(".").map(Number), 8n) };
  // A zone (`fe80::1%eth0`) names the link and is not part of the address.
  const [address = "", ...zone] = text.split("%");
  if (!isIPv6(address) || zone.length > 1) return undefined;
  const bits = readIPv6(address);
  return bits >> 32n === MAPPED ? { family: 4, bits: bits & 0xffff_ffffn } : { family: 6, bits };
}

/** `URL` normalises an address to hexadecimal groups with at most one `::`. */
function readIPv6(text: string): bigint {
  const [before = "", after] = new URL(`http://[${text}]`).hostname.slice(1, -1).split("::");
  const groups = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((each) => Number.parseInt(each, 16));
  const [first, last] = [groups(before), groups(after ?? "")];
  return joined([...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last], 16n);
}

function joined(groups: readonly number[], width: bigint): bigint {
  return groups.reduce((bits, group) => (bits << width) | BigInt(group), 0n);
}

function dotted(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join(".");
}
