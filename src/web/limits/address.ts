import { isIPv4, isIPv6 } from "node:net";

/**
 * The key by which limits count an address. An IPv6 host has a whole /64 network and may use any address in it, so the
 * network counts. An IPv4-mapped IPv6 address counts as the IPv4 address.
 */
export function rateLimitKey(address: string): string {
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return "unknown";
  return embeddedIn(address) ?? `${groupsOf(address).slice(0, 4).join(":")}::/64`;
}

/**
 * The networks of an address, the widest first. The holder of one IPv6 /64 may have many: a home is given up to 256 of
 * them, a company 65,536, out of one /48.
 */
export function networksOf(address: string): readonly [string, ...string[]] {
  const key = rateLimitKey(address);
  if (!isIPv6(address) || embeddedIn(address) !== undefined) return [key];
  return [`${groupsOf(address).slice(0, 3).join(":")}::/48`, key];
}

/**
 * A /48 may do as much as so many addresses: its holder has 65,536 networks of 64 bits, and strangers may share it. Of new
 * connections it has fewer (`ConnectionPace`).
 */
export const ADDRESSES_OF_WIDE = 4;

/** The bound of one of the networks of an address (`networksOf`). @param most of an address */
export const mostOf = (networks: readonly string[], at: number, most: number): number =>
  at < networks.length - 1 ? ADDRESSES_OF_WIDE * most : most;

/**
 * The key by which fair queues count an address: its widest network. With a queue for each of a /48's 65,536 networks of 64
 * bits, one holder would take the turns, and the room, of all others.
 */
export const queueKey = (address: string): string => networksOf(address)[0];

/** The IPv4 address that an IPv6 address is. */
const embeddedIn = (address: string): string | undefined => /^::ffff:([0-9.]+)$/i.exec(address)?.[1];

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = "", tail] = withoutZone(address).toLowerCase().split("::");
  const before = split(head);
  const after = split(tail ?? "");
  const gap = tail === undefined ? [] : new Array<string>(8 - before.length - after.length).fill("0");
  return [...before, ...gap, ...after].map((group) => group.replace(/^0+(?=.)/, ""));
}

/** An IPv4 address at the end stands for two groups, which are behind the network and never looked at. */
const split = (text: string): string[] => (text === "" ? [] : text.replace(/[0-9.]+\.[0-9]+$/, "0:0").split(":"));

const withoutZone = (address: string): string => address.split("%", 1)[0] ?? "";

/** The machine itself: a local proxy, or its operator. */
export function isLoopback(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\./i.test(address);
}
