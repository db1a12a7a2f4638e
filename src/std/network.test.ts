import { BlockList, isIPv4 } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isWithin, type Network, parseNetwork } from "./network.ts";

const networks = (...texts: string[]): Network[] => texts.map((text) => parseNetwork(text) as Network);

test.each([
  ["192.0.2.7", "192.0.2.7/32"],
  ["192.0.2.0/24", "192.0.2.0/24"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["2001:db8::/32", "2001:db8::/32"],
  ["2001:DB8::7", "2001:DB8::7/128"],
  ["::/0", "::/0"],
  ["fe80::1%eth0", "fe80::1/128"],
  ["::ffff:192.0.2.7", "192.0.2.7/32"],
  ["::ffff:c000:200/120", "192.0.2.0/24"],
])("%s is a network", (text, written) => {
  expect(parseNetwork(text)?.text).toBe(written);
});

test.each([
  ["", "nothing"],
  ["acme.example", "a name"],
  ["192.0.2.0/33", "a prefix that is too long"],
  ["192.0.2.0/-1", "a prefix below zero"],
  ["192.0.2.0/024", "a prefix with a leading zero"],
  ["192.0.2.0/", "no prefix after the slash"],
  ["192.0.2.7/24", "bits beyond the prefix"],
  ["2001:db8::1/64", "bits beyond the prefix in IPv6"],
  ["192.0.2/24", "three bytes"],
  ["192.0.2.256", "a byte that is none"],
  ["0300.0.2.1", "octal digits"],
  ["2001:db8:::/32", "two gaps"],
  ["::/129", "a prefix that is too long in IPv6"],
  ["::ffff:0.0.0.0/95", "more than all of IPv4 in IPv6"],
  [" 192.0.2.0/24", "a blank"],
  ["192.0.2.0/24/24", "two prefixes"],
])("%j is no network: %s", (text) => {
  expect(parseNetwork(text)).toBeUndefined();
});

test.each([
  [["192.0.2.0/24"], "192.0.2.255", true],
  [["192.0.2.0/24"], "192.0.3.0", false],
  [["192.0.2.0/24"], "::ffff:192.0.2.1", true],
  [["192.0.2.0/24"], "::FFFF:C000:0201", true],
  [["192.0.2.0/24"], "::192.0.2.1", false],
  [["::ffff:192.0.2.0/120"], "192.0.2.1", true],
  [["2001:db8::/32"], "2001:db8:ffff::1", true],
  [["2001:db8::/32"], "2001:db9::", false],
  [["fe80::/10"], "fe80::1%eth0", true],
  [["::/0"], "2001:db8::1", true],
  [["::/0"], "192.0.2.1", false],
  [["::/0"], "::ffff:192.0.2.1", false],
  [["0.0.0.0/0"], "255.255.255.255", true],
  [["0.0.0.0/0"], "::1", false],
  [["192.0.2.0/24", "::1"], "::1", true],
  [[], "192.0.2.1", false],
  [["0.0.0.0/0", "::/0"], "", false],
  [["0.0.0.0/0", "::/0"], "localhost", false],
])("within %j, %s: %s", (texts, address, expected) => {
  expect(isWithin(networks(...texts), address)).toBe(expected);
});

test("Node judges the same", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.ipV4(), fc.ipV6()),
      fc.nat(128),
      fc.oneof(fc.ipV4(), fc.ipV6()),
      (host, length, address) => {
        const family = isIPv4(host) ? "ipv4" : "ipv6";
        const prefix = family === "ipv4" ? length % 33 : length;
        const network = firstOf(host, prefix);
        const list = new BlockList();
        list.addSubnet(host, prefix, family);
        for (const each of [address, host]) {
          // Node takes every IPv4 address for an IPv6 one as well; to us ::/0 is IPv6 only.
          const theirs = isIPv4(each) === isIPv4(host) && list.check(each, isIPv4(each) ? "ipv4" : "ipv6");
          expect(isWithin([network], each)).toBe(theirs);
        }
      },
    ),
  );
});

/** The network of this length that a host is in. */
function firstOf(host: string, prefix: number): Network {
  const whole = parseNetwork(host) as Network;
  const beyond = BigInt((whole.family === 4 ? 32 : 128) - prefix);
  return { ...whole, prefix, bits: (whole.bits >> beyond) << beyond };
}
