import { expect, test } from "vitest";
import { isLoopback, networksOf, queueKey, rateLimitKey } from "./address.ts";

test("an IPv4 address stands for itself, also in IPv6 clothes", () => {
  expect(rateLimitKey("203.0.113.9")).toBe("203.0.113.9");
  expect(rateLimitKey("::ffff:203.0.113.9")).toBe("203.0.113.9");
});

test("all IPv6 addresses of one network of 64 bits are one", () => {
  const network = "2001:db8:0:12::/64";
  for (const address of [
    "2001:db8:0:12::1",
    "2001:0DB8:0000:0012:ffff::",
    "2001:db8:0:12:1:2:3:4",
    "2001:db8:0:12::192.0.2.1",
  ]) {
    expect(rateLimitKey(address)).toBe(network);
  }
  expect(rateLimitKey("2001:db8:0:13::1")).toBe("2001:db8:0:13::/64");
  expect(rateLimitKey("::1")).toBe("0:0:0:0::/64");
  expect(rateLimitKey("fe80::1%eth0")).toBe("fe80:0:0:0::/64");
  expect(rateLimitKey("64:ff9b::192.0.2.33")).toBe("64:ff9b:0:0::/64");
  expect(rateLimitKey("::1:2:3:4:5:6:7")).toBe("0:1:2:3::/64");
  expect(rateLimitKey("1::3:4:5:6:7:8")).toBe("1:0:3:4::/64");
  expect(rateLimitKey("1::2:3:4:5:192.0.2.33")).toBe("1:0:2:3::/64");
});

test("only an IPv4-mapped address stands for the IPv4 address at its end", () => {
  expect(rateLimitKey("2001:db8::ffff:192.0.2.33")).toBe("2001:db8:0:0::/64");
  expect(rateLimitKey("::ffff:1234:5678")).toBe("0:0:0:0::/64");
});

test("everything that is no address has one key", () => {
  expect([rateLimitKey("unix:"), rateLimitKey(""), rateLimitKey("10.0.0.256")]).toEqual([
    "unknown",
    "unknown",
    "unknown",
  ]);
});

test("an IPv6 address is in a network of 48 bits and in one of 64, any other is by itself", () => {
  expect(networksOf("2001:db8:0:12::1")).toEqual(["2001:db8:0::/48", "2001:db8:0:12::/64"]);
  expect(networksOf("::ffff:203.0.113.9")).toEqual(["203.0.113.9"]);
  expect(networksOf("203.0.113.9")).toEqual(["203.0.113.9"]);
  expect(networksOf("unix:")).toEqual(["unknown"]);
});

test("fair queues count an address by its widest network", () => {
  expect(["2001:db8:0:12::1", "2001:db8:0:13::1", "::ffff:203.0.113.9", "unix:"].map(queueKey)).toEqual([
    "2001:db8:0::/48",
    "2001:db8:0::/48",
    "203.0.113.9",
    "unknown",
  ]);
});

test("loopback is the machine itself", () => {
  expect(["127.0.0.1", "::1", "::ffff:127.0.0.1"].map(isLoopback)).toEqual([true, true, true]);
  const others = ["10.0.0.1", "128.0.0.1", "10.127.0.1", "::ffff:10.127.0.1", "2001:db8::127.0.0.1"];
  expect(others.filter(isLoopback)).toEqual([]);
});
