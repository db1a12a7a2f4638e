import { expect, test } from "vitest";
import { type Network, parseNetwork } from "../../std/network.ts";
import { sharedBy, transport, trustOf } from "./server-options.ts";

const PROXIES = ["10.0.0.0/8", "fd00::/8"].map((text) => parseNetwork(text) as Network);

test("with TLS the bounds of a server are the same, and a handshake has 20 s (SECURITY.md)", () => {
  const bounds = { headersTimeout: 1_000 };
  expect(transport(bounds, undefined)).toEqual({ http: bounds });
  expect(transport(bounds, { cert: "a", key: "b" })).toEqual({
    https: { ...bounds, cert: "a", key: "b", handshakeTimeout: 20_000 },
  });
});

test("without proxies nobody's X-Forwarded-For is believed, with some only theirs", () => {
  expect(trustOf([])).toBe(false);
  const trust = trustOf(PROXIES) || expect.fail("there are proxies");
  const believed = ["10.0.0.7", "fd00::1", "203.0.113.9", "127.0.0.1", undefined].map((from) => trust(from));
  expect(believed).toEqual([true, true, false, false, false]);
});

test("many share the address of a trusted proxy, and loopback", () => {
  const addresses = ["10.0.0.7", "127.0.0.1", "::1", "203.0.113.9", ""];
  expect(addresses.map(sharedBy(PROXIES))).toEqual([true, true, true, false, false]);
  expect(addresses.map(sharedBy([]))).toEqual([false, true, true, false, false]);
});
